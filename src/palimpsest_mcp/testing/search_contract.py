"""What every search must do, as tests."""

from __future__ import annotations

import pytest

from ..ports.store import Store
from .contract_values import HARD_IDS, S1, OneStore, entry, record

HOSTILE_QUERIES = (
    *(
        "",
        " ",
        '"',
        '""',
        '"""',
        "'",
        "*",
        "NEAR(",
        "NEAR(a b, 2)",
        "words:",
        "cjk : x",
        "-",
        "^x",
        "a AND",
        "OR",
        "NOT",
    ),
    *(
        "(",
        ")",
        "a)",
        "{a b}:c",
        "+",
        "\0",
        "a\0b",
        "\ud800",
        "; DROP TABLE entries",
        "%",
        "_",
        "\\",
        "\u202e",
        "x" * 9000,
    ),
    *(
        "a " * 5000,
        "rowid",
        "found",
        '"a" "b',
        "col:*",
        "数",
        "数 AND",
        "，。",
        "🔥",
        "\u0301",
        "e\u0301",
        "ﬁ",
        "(" * 2000,
    ),
)
"""Queries that are syntax to somebody."""


async def found_by(store: Store, query: str) -> list[str]:
    """Ids of the items that a query finds, sorted."""
    return sorted(match.item_id for match in await store.search.find(query, limit=100))


@pytest.mark.anyio
class SearchContract(OneStore):
    """Keyword search in any script, over any query."""

    async def test_words_are_found_whatever_their_case(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("Connection REFUSED by host", "a"), entry("all is well", "b")])
            assert await found_by(store, "refused") == ["a"]
            assert await found_by(store, "WELL all") == ["b"]
            assert await found_by(store, "refuse") == await found_by(store, "refusing") == ["a"]
            assert await found_by(store, "connec") == ["a"], "what nothing has whole stands for what it begins"
            assert await found_by(store, "co") == []

    async def test_entries_with_all_words_hide_those_with_some(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("red apple", "a"), entry("red car", "b"), entry("green apple", "c")])
            assert await found_by(store, "red apple") == ["a"]
            assert await found_by(store, "green car") == ["b", "c"]

    async def test_a_sentence_goes_on_to_entries_with_some_of_its_words(self) -> None:
        async with self.fresh() as store:
            texts = {"a": "the red apple fell off a tree", "b": "a tall tree", "c": "page count 7", "d": "nothing"}
            await store.search.add([entry(text, name) for name, text in texts.items()])
            assert await found_by(store, "why the apple fell off") == ["a"]
            found = await store.search.find("the red apple tree", limit=100)
            assert [match.item_id for match in found] == ["a", "b"]
            assert await found_by(store, "what is there about the page-count") == ["c"]
            assert await found_by(store, "unknown words about page-count") == ["c"]
            assert len(await store.search.find("the red apple tree", limit=1)) == 1

    async def test_quotes_make_a_phrase(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("exit status 137 from make", "a"), entry("status of the exit: 137", "b")])
            assert await found_by(store, '"exit status 137"') == ["a"]
            assert await found_by(store, "exit status 137") == ["a", "b"]

    async def test_a_sentence_finds_irregular_forms_and_whom_it_names_by_a_possessive(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("Ann: we went by train", "went"), entry("the women of the train", "women")])
            for query in ("where did they go last week", "who has gone last week", "how was Ann's last week"):
                assert await found_by(store, query) == ["went"], query
            assert await found_by(store, "which woman was it") == ["women"]
            assert await found_by(store, "Ann's train") == ["went"], "a few words mean all of them, as they stand"
            assert await found_by(store, "go away") == []

    async def test_paths_and_identifiers_are_found_as_they_are_written(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("edit src/app/main_loop.py:42", "a"), entry("main loop, app, src", "b")])
            assert await found_by(store, "src/app/main_loop.py:42") == ["a"]
            assert await found_by(store, "main_loop") == ["a"]
            assert await found_by(store, "loop") == ["a", "b"], "a joined word is found by its parts too"
            await store.search.add([entry("1,234 calls of getUserName in v2.14.1", "c")])
            for query in ("1234", "1,234", "user name", "getUserName", "v2.14.1"):
                assert await found_by(store, query) == ["c"], query

    async def test_a_hit_says_what_it_is_and_where(self) -> None:
        async with self.fresh() as store:
            about = {
                "tool_name": "Bash",
                "title": "make test",
                "ts": "2026-11-20T10:00:00+00:00",
            }
            await store.search.add([entry("first\nsecond needle\n", "a", named="Bash make test", **about)])
            (match,) = await store.search.find("needle")
            assert (match.tool_name, match.title, match.ts[:10]) == ("Bash", "make test", "2026-11-20")
            assert (match.line, match.offset) == (2, 6)
            assert await found_by(store, "make") == ["a"]
            (named,) = await store.search.find("bash")
            assert (named.line, named.offset) == (1, 0)

    async def test_chinese_japanese_and_korean_text_is_found_inside_its_runs(self) -> None:
        async with self.fresh() as store:
            texts = {
                "a": "错误：数据库连接超时，请重试",
                "b": "テストが失敗しました",
                "c": "데이터베이스가 멈췄다",
                "d": "日本語abc混在",
            }
            await store.search.add([entry(text, name) for name, text in texts.items()])
            assert await found_by(store, "数据库") == ["a"]
            assert await found_by(store, "库") == ["a"]
            assert await found_by(store, "连接超时") == ["a"]
            assert await found_by(store, "库数") == []
            assert await found_by(store, "失敗") == ["b"]
            assert await found_by(store, "베이스") == ["c"]
            assert await found_by(store, "abc") == ["d"]
            assert await found_by(store, "日本 abc") == ["d"]

    async def test_accents_and_compatibility_forms_do_not_matter(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("caf\u00e9 \uff21\uff22\uff23", "a"), entry("cafe\u0301 noir", "b")])
            assert await found_by(store, "cafe") == ["a", "b"]
            assert await found_by(store, "caf\u00e9") == ["a", "b"]
            assert await found_by(store, "abc") == ["a"]

    @pytest.mark.parametrize("query", HOSTILE_QUERIES, ids=range(len(HOSTILE_QUERIES)))
    async def test_any_text_is_a_valid_query(self, query: str) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("some text", "a")])
            await store.search.find(query)
            assert await found_by(store, "text") == ["a"]

    async def test_the_better_match_comes_first(self) -> None:
        async with self.fresh() as store:
            filler = "nothing to see here " * 20
            await store.search.add([entry(f"timeout {filler}", "a"), entry("timeout timeout", "b"), entry(filler, "c")])
            matches = await store.search.find("timeout")
            assert [match.item_id for match in matches] == ["b", "a"]
            assert matches[0].score > matches[1].score

    async def test_an_entry_replaces_an_older_one_of_the_same_item(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("old words 旧", "a")])
            await store.search.add([entry("new words 新", "a")])
            assert await found_by(store, "old") == await found_by(store, "旧") == []
            assert await found_by(store, "new") == await found_by(store, "新") == ["a"]

    async def test_scope_is_principal_then_sessions_then_project(self) -> None:
        async with self.fresh() as store:
            await store.search.add(
                [
                    entry("word", "a", session="s1", project="p"),
                    entry("word", "b", session="s2", project="q"),
                    entry("word", "c", session="s1", principal="ann"),
                ]
            )
            find = store.search.find
            assert {match.item_id for match in await find("word")} == {"a", "b"}
            assert {match.item_id for match in await find("word", session_ids=["s1", "s9"])} == {"a"}
            assert {match.item_id for match in await find("word", session_ids=[])} == set()
            assert {match.item_id for match in await find("word", project="q")} == {"b"}
            assert {match.item_id for match in await find("word", principal="ann")} == {"c"}
            assert {match.item_id for match in await find("word", principal="bob")} == set()

    @pytest.mark.parametrize(("limit", "expected"), [(-1, 0), (0, 0), (2, 2), (10**12, 5)])
    async def test_a_limit_of_any_size_is_kept(self, limit: int, expected: int) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("word", f"i{number}") for number in range(5)])
            assert len(await store.search.find("word", limit=limit)) == expected

    async def test_indexed_names_the_batches_and_forget_drops_them(self) -> None:
        async with self.fresh() as store:
            await store.search.add([entry("word", "a", batch="offload_0001"), entry("word", "b", batch="offload_0002")])
            assert await store.search.indexed("", "s1") == {"offload_0001", "offload_0002"}
            assert await store.search.indexed("ann", "s1") == frozenset()
            await store.search.forget("", "s1", ["offload_0001", "offload_0009"])
            assert await store.search.indexed("", "s1") == {"offload_0002"}
            assert await found_by(store, "word") == ["b"]

    async def test_batches_of_the_archive_that_are_not_indexed_are_lacking(self) -> None:
        names = [f"offload_000{number}" for number in (1, 2, 3)]
        async with self.fresh() as store:
            await store.archive.append(S1, list(map(record, names)))
            assert await store.search.lacking("", "s1", names) == set(names)
            await store.search.add([entry("red fox", batch=names[0])])
            assert await store.search.lacking("", "s1", names[:2]) == {names[1]}
            await store.search.add([entry("red fox", batch=names[1])])
            assert await store.search.lacking("", "s1", names[:2]) == frozenset()
            assert await store.search.lacking("", "s1", names) == {names[2]}
            assert await store.search.lacking("", "s1", []) == frozenset()

    async def test_a_session_with_a_batch_that_is_not_indexed_is_behind_where_the_index_can_say(self) -> None:
        async with self.fresh() as store:
            await store.archive.append(S1, [record("offload_0001", "word"), record("offload_0002", "word")])
            for batch in ("offload_0001", "offload_0002"):
                assert await store.search.behind("") in (None, {"s1"})
                assert await store.search.behind("ann") in (None, frozenset())
                await store.search.add([entry("word", batch=batch)])
            assert await store.search.behind("") in (None, frozenset())

    async def test_a_snippet_is_one_clean_line_around_the_hit(self) -> None:
        text = "before\r\n\x1b[31mred\x1b[0m\u202e \u2028 " + "x " * 500 + "\ttarget\n\0line " + "y " * 500
        async with self.fresh() as store:
            await store.search.add([entry(text, "a")])
            (match,) = await store.search.find("target")
            assert "target line" in match.snippet and len(match.snippet) <= 170
            assert match.snippet.isprintable()

    async def test_any_names_and_texts_can_be_indexed(self) -> None:
        async with self.fresh() as store:
            entries = [entry(f"word half \ud83d {name[:50]}", "i\ud800", session=name) for name in HARD_IDS]
            await store.search.add(entries)
            assert {match.session_id for match in await store.search.find("word", limit=100)} == set(HARD_IDS)
            for name in HARD_IDS:
                assert await store.search.indexed("", name) == {"offload_0001"}
                (match,) = await store.search.find("word", session_ids=[name])
                assert (match.session_id, match.item_id) == (name, "i\ud800")

    async def test_another_process_finds_what_we_added(self) -> None:
        async with self.fresh() as store, self.again() as other:
            await store.search.add([entry("from us", "a")])
            await other.search.add([entry("from them", "b")])
            assert await found_by(store, "from") == await found_by(other, "from") == ["a", "b"]
