"""Source code is read as an outline whose lines say where they are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.digest.readers import code
from palimpsest_mcp.digest.records import Record

from .conftest import Bench

PYTHON = '''import os
from typing import Any

MAX_TRIES = 3


@app.route("/jobs")
def jobs(
    limit: int,
) -> list[Any]:
    """Jobs that wait."""
    # TODO: page them
    if limit > MAX_TRIES:
        raise ValueError("limit is too high")
    return []


class Queue:
    def put(self, job: Any) -> None:
        self.jobs.append(job)
'''

TYPESCRIPT = """import { readFile } from "node:fs";

export interface Job {
\tid: string;
}

export class Queue extends Base {
\tprivate jobs: Job[] = [];

\tasync put(job: Job): Promise<void> {
\t\tif (!job.id) {
\t\t\tthrow new Error("a job needs an id");
\t\t}
\t\tthis.jobs.push(job);
\t}
}

export const isJob = (x: unknown): x is Job => {
\treturn typeof x === "object";
};
"""

ELIXIR = """defmodule Web.SessionLive do
  use Phoenix.LiveView

  @heartbeat_ms 10_000

  @impl true
  def handle_event("save_note", %{"id" => id}, socket) do
    {:noreply, assign(socket, id: id)}
  end

  defp load_notes(nil), do: []
end
"""


def outline(lines: Sequence[str], floor: float) -> list[tuple[str, str]]:
    records = code.read(lines).records
    return [(r.text, records[r.under].text if r.under >= 0 else "") for r in records if r.worth >= floor]


def test_python_gives_definitions_constants_and_errors_under_what_holds_them() -> None:
    assert outline(PYTHON.splitlines(), 0.9) == [
        ("MAX_TRIES = 3", ""),
        ('@app.route("/jobs")', ""),
        ("def jobs(", ""),
        ('"""Jobs that wait."""', "def jobs("),
        ("# TODO: page them", "def jobs("),
        ('raise ValueError("limit is too high")', "if limit > MAX_TRIES:"),
        ("class Queue:", ""),
        ("def put(self, job: Any) -> None:", "class Queue:"),
    ]


def test_typescript_methods_stand_under_their_class() -> None:
    assert outline(TYPESCRIPT.splitlines(), 0.9) == [
        ("export interface Job {", ""),
        ("export class Queue extends Base {", ""),
        ("async put(job: Job): Promise<void> {", "export class Queue extends Base {"),
        ('throw new Error("a job needs an id");', "if (!job.id) {"),
        ("export const isJob = (x: unknown): x is Job => {", ""),
    ]


def test_elixir_events_keep_their_names_and_line_numbers() -> None:
    numbered = [f"{n:6}→{line}" for n, line in enumerate(ELIXIR.splitlines(), 1)]
    assert code.claims(numbered, 0) == len(numbered)
    module = "1→defmodule Web.SessionLive do"
    assert outline(numbered, 0.9) == [
        (module, ""),
        ("4→  @heartbeat_ms 10_000", module),
        ('7→  def handle_event("save_note", %{"id" => id}, socket) do', module),
    ]
    assert "11→  defp load_notes(nil), do: []" in [one.text for one in code.read(numbered).records]


@pytest.mark.parametrize("separator", ["\t", "→", "|", ":", " | "])
@pytest.mark.parametrize("source", [PYTHON, TYPESCRIPT, ELIXIR])
def test_line_numbers_change_nothing_but_the_text(separator: str, source: str) -> None:
    lines = source.splitlines()
    numbered = [f"{n}{separator}{line}" for n, line in enumerate(lines, 1)]
    assert code.claims(numbered, 0) == len(numbered)
    shape = [(r.at, r.kind, r.worth, r.under) for r in code.read(lines).records]
    assert [(r.at, r.kind, r.worth, r.under) for r in code.read(numbered).records] == shape


def test_a_refused_edit_says_so_first_and_names_the_line() -> None:
    verdict = "[Your proposed edit has introduced new syntax error(s). Please retry your edit command.]"
    body = [f'{n}|  <div className="x{n}">' for n in range(1, 40)]
    lines = [verdict, "/workspace/src/App.tsx:12", *body, "DO NOT re-run the same failed edit command."]
    assert code.claims(lines, 0) == len(lines)
    records = code.read(lines).records
    told = [r.text for r in records if r.worth >= 3]
    assert told == [verdict, '12|  <div className="x12">', lines[-1]]
    assert {records[r.under].text for r in records if "div" in r.text} == {"/workspace/src/App.tsx:12"}


def test_code_without_numbers_ends_where_a_log_begins() -> None:
    lines = [*TYPESCRIPT.splitlines(), "", *(f"2024-05-01 10:00:0{i} INFO job {i} done" for i in range(9))]
    assert code.claims(lines, 0) == len(TYPESCRIPT.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "The type of the value is a string.\nUse it for what the class needs, or return it.\nIf in doubt, ask.\nDo.",
        "# Results\n\n* one (1)\n* two (2)\n\nThe function returns nothing.\nImport it first.",
        '{\n  "name": "x",\n  "values": [1, 2],\n  "type": "y",\n  "const": true\n}',
        "12:const a = 1;\n13:const b = 2;\n40:const c = 3;\n77:const d = 4;",
        "1|bolt|10\n2|nut|20\n3|screw|30\n4|washer|40",
        "src/a.ts:12:const a = 1;\nsrc/a.ts:13:const b = 2;\nsrc/b.ts:1:return x;\nsrc/b.ts:9:throw new Error();",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    run()\n  File "b.py", line 9, in run',
        "name: build\non: push\njobs:\n  test:\n    runs-on: ubuntu\n    steps:\n      - run: make",
    ],
)
def test_what_only_speaks_of_code_is_left_to_others(text: str) -> None:
    lines = text.splitlines()
    assert [start for start in range(len(lines)) if code.claims(lines, start) != start] == []


@given(st.lists(st.sampled_from([*PYTHON.splitlines(), "12:", "1\tx", '"""', "/*", "x = `a", ")", "yes no", ""])))
def test_every_record_is_a_whole_line_under_an_earlier_one(lines: list[str]) -> None:
    records: list[Record] = code.read(lines).records
    assert [r.text for r in records] == [lines[r.at].strip() for r in records]
    assert all(r.under < i for i, r in enumerate(records))
    assert all(start <= code.claims(lines, start) <= len(lines) for start in range(len(lines)))


def test_tags_that_stand_alone_are_noise_and_what_they_hold_is_not() -> None:
    page = ["def render(assigns) do", '  ~H"""', "  <td>", "    <.badge kind={@kind} />", "  </td>", '  """', "end"]
    worth = {one.text: one.worth for one in code.read(page).records}
    assert worth["<td>"] == worth["</td>"] == 0 < worth["<.badge kind={@kind} />"]


def test_a_handler_that_is_assigned_is_a_definition_and_names_on_lines_of_their_own_are_noise() -> None:
    text = """import {
  Editor,
  type SessionManager,
} from "./tui.js";

const editor = new Editor({
  theme: dark,
  noMatch
});
tui.addChild(
  editor,
);
// Handle what the user sends
editor.onSubmit = (value: string) => {
  submit(value);
};
"""
    lines = text.splitlines()
    assert code.claims(lines, 0) == len(lines)
    records = {record.text: record for record in code.read(lines).records}
    assert records["editor.onSubmit = (value: string) => {"].kind == "definition"
    assert records["submit(value);"].under >= 0
    for name in ("Editor,", "noMatch", "tui.addChild(", "editor,"):
        assert records[name].kind == "noise"
    assert records["type SessionManager,"].kind == "line"
    assert records["// Handle what the user sends"].worth > records["theme: dark,"].worth


PANES = '''defmodule Panes do
  computer :session_data do
    input :session_ids do
      val([])
    end
  end

  def render(assigns) do
    ~H"""
    <table>
      <%= if @docs == """ do %>
    </table>
    """
  end

  defp pane_table(assigns) do
    assigns
  end
end
'''


def test_a_block_of_a_small_language_holds_what_stands_in_it() -> None:
    lines = PANES.split("\n")
    records = code.read(lines).records
    by_text = {one.text: one for one in records}
    assert by_text["computer :session_data do"].kind == "definition"
    assert records[by_text["input :session_ids do"].under].text == "computer :session_data do"


def test_a_rule_of_a_style_sheet_is_a_definition_and_a_key_of_an_object_is_none() -> None:
    lines = [
        "/* Thread grouping */",
        ".thread .row-text:not(.open) > li {",
        "  margin-bottom: 2px;",
        "}",
        'input[type="text"] {',
        "  color: red;",
        "}",
        "const names = {",
        "  label: {",
        "    text: 'x',",
        "  },",
        "};",
        ".then((rows) => {",
    ]
    records = code.read(lines).records
    assert [one.text for one in records if one.kind == "definition"] == [lines[1], lines[4]]
    assert records[records[2].under].text == lines[1]


def test_a_definition_after_a_text_whose_end_was_missed_is_one() -> None:
    records = code.read(PANES.split("\n")).records
    assert [one.text for one in records if one.kind == "definition"][-1] == "defp pane_table(assigns) do"


def test_a_definition_whose_arguments_go_over_several_lines_is_shown_with_all_of_them(bench: Bench) -> None:
    """`private run( …` says neither what it takes nor what it gives."""
    body = "\n".join(f"\t\tthis.steps.push(step_{n}(request, {n}));" for n in range(60))
    code = (
        "export class Runner {\n\tprivate async execute(\n\t\tcommand: string,\n\t\tonChunk: (chunk: string) => void,\n"
        f"\t): Promise<{{ exitCode: number | null }}> {{\n{body}\n\t}}\n\n\tconstructor(\n{body}\n\t) {{}}\n}}\n"
    )
    lines = [line.split(" [")[0] for line in bench.digest(code, share=0.2).parts[0].text.split("\n")]
    first = next(n for n, line in enumerate(lines) if "execute(" in line)
    assert lines[first : first + 4] == [
        "\tprivate async execute(",
        "\t\tcommand: string,",
        "\t\tonChunk: (chunk: string) => void,",
        "\t): Promise<{ exitCode: number | null }> { …",
    ], lines
    assert sum("step_" in line for line in lines) < 30, "one that goes on for ever is not taken whole"


def test_in_a_part_of_a_file_a_comment_yields_to_the_statement_below_it() -> None:
    lines = [
        "\t\t// RPC mode: it speaks JSON with who started it",
        '\t\tif (mode === "rpc") {',
        "\t\t\tawait runRpcMode(agent, sessionManager);",
        "\t\t} else {",
        "\t\t\tawait runPrintMode(agent, settings);",
        "\t\t}",
    ]
    worth = [one.worth for one in code.read(lines).records]
    assert worth[0] < worth[1] and worth[0] < worth[2]


def test_what_an_interface_offers_is_worth_more_than_a_step_of_a_function() -> None:
    lines = [
        "declare class Session {",
        "  get model(): Model | null;",
        "  setModel(model: Model): Promise<void>;",
        "  subscribe(listener: (event: Event) => void): () => void;",
        "}",
        "function run(session: Session): void {",
        "  session.prepare(now);",
        "}",
    ]
    worth = {one.text: one.worth for one in code.read(lines).records}
    assert min(worth[line.strip()] for line in lines[1:4]) > worth["session.prepare(now);"]


def test_a_step_stands_under_the_condition_right_above_it() -> None:
    """`onCancel` alone says that the dialog always closes itself."""
    lines = [
        "function show(messages: string[]): void {",
        "  list.render();",
        "  if (messages.length <= 1) {",
        "    setTimeout(() => onCancel(), 100);",
        "  }",
        "  list.focus();",
        "}",
    ]
    records = code.read(lines).records
    above = {one.text: records[one.under].text if one.under >= 0 else "" for one in records}
    assert above["setTimeout(() => onCancel(), 100);"] == "if (messages.length <= 1) {"
    assert above["list.focus();"] == above["list.render();"] == lines[0]


def test_a_method_whose_signature_goes_over_several_lines_is_a_definition_and_a_call_like_it_is_none() -> None:
    """`isError: boolean;` of `updateResult` stood under the method before it, and nine of ten were said to be all."""
    lines = [
        "export class Tool extends Container {",
        "\tconstructor(",
        "\t\tprivate name: string,",
        "\t) {",
        "\t\tsuper();",
        "\t}",
        "\tupdateResult(result: {",
        "\t\tcontent: Text[];",
        "\t\tisError: boolean;",
        "\t}): void {",
        "\t\tthis.result = result;",
        "\t\tshow({",
        "\t\t\tcolor: red,",
        "\t\t});",
        "\t}",
        "}",
        "register({",
        "\tname: tool,",
        "});",
    ]
    records = code.read(lines).records
    assert [one.text for one in records if one.kind == "definition"] == [
        lines[0],
        "constructor(",
        "updateResult(result: {",
    ]
    assert records[8].text == "isError: boolean;" and records[records[8].under].text == "updateResult(result: {"


def test_a_clause_that_does_nothing_is_worth_less_than_those_that_do_something() -> None:
    """Eighteen clauses with `do: []` stood for a renderer, which then seemed to give nothing back."""
    lines = [
        "defmodule Spotter.Renderer do",
        "  def render_message(%{type: :user} = message, opts) do",
        "    lines_of(message, opts)",
        "  end",
        "  def render_message(%{content: nil}, _opts), do: []",
        '  defp label(_, _), do: "Selected terminal text"',
        "end",
    ]
    told = {one.text: one for one in code.read(lines).records}
    fallback, real = told[lines[4].strip()], told[lines[1].strip()]
    assert fallback.kind == real.kind == "definition"
    assert fallback.worth < told[lines[5].strip()].worth == real.worth


def test_what_a_case_does_stands_under_it_however_long_the_one_before_is() -> None:
    """The lines of `message_end` stood under `message_start`, whose label alone was shown."""
    case = '\t\t\tcase "{0}": {{\n' + "\t\t\t\tif (event.{0}) {{\n" + "\t\t\t\t\tthis.first({0});\n" * 4
    case += "\t\t\t\t}}\n\t\t\t\tthis.last_of_{0}(event);\n\t\t\t}}\n"
    names = ("message_start", "message_end", "tool_start")
    text = "\tprivate handle(event: Event): void {\n\t\tswitch (event.type) {\n" + "".join(map(case.format, names))
    records = code.read(f"export class Renderer {{\n{text}\t\t}}\n\t}}\n}}\n".split("\n")).records
    for name in names:
        last = next(one for one in records if one.text == f"this.last_of_{name}(event);")
        assert records[last.under].text == f'case "{name}": {{'
        inner = next(one for one in records if one.text == f"this.first({name});")
        assert records[inner.under].text == f"if (event.{name}) {{"


def test_a_function_that_does_much_is_worth_more_than_one_that_sets_a_field() -> None:
    """Of a component two setters were shown, and not how it renders."""
    render = "\n".join(f"        const part{n} = this.at({n}, width);" for n in range(12))
    lines = (
        f"export class Text {{\n    setText(text: string): void {{\n        this.text = text;\n    }}\n\n"
        f"    render(width: number): string[] {{\n{render}\n        return part1;\n    }}\n}}"
    ).split("\n")
    told = {one.text: one.worth for one in code.read(lines).records if one.kind == "definition"}
    assert told["render(width: number): string[] {"] > told["setText(text: string): void {"]
