"""Which files a shell command changes, told from its words alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest_mcp.memory.summary.shell import Effect, Effects, file_effects


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("echo x > a.txt", [("a.txt", "written")]),
        ("echo x >> 'my log.txt' 2>/dev/null", [("my log.txt", "appended")]),
        ("make 2> err.log >out.log", [("err.log", "written"), ("out.log", "written")]),
        ("make &> all.log; make >&2; make 2>&1 | head", [("all.log", "written")]),
        ("ls | tee -a a.log b.log > /dev/null", [("a.log", "appended"), ("b.log", "appended")]),
        ("cat > a.py <<'EOF'\nif a > b:\n    rm -rf c\nEOF\ntouch d", [("a.py", "written"), ("d", "created")]),
        ("sed -i 's/a/b/' x.py y.py", [("x.py", "edited"), ("y.py", "edited")]),
        ("sed -i '' 's/a/b/' x.py", [("x.py", "edited")]),
        ("sed -i.bak -e 's/a/b/' x.py", [("x.py", "edited")]),
        ("sed -n '1,20p' x.py", []),
        ("perl -pi -e 's/a/b/' x.py", [("x.py", "edited")]),
        ("rm -rf build/ -- -odd", [("build/", "deleted"), ("-odd", "deleted")]),
        ("git rm old.py && git rm --cached kept.py", [("old.py", "deleted")]),
        ("git checkout -- a.py && git checkout main", [("a.py", "reverted")]),
        ("git restore a.py; git restore --staged b.py", [("a.py", "reverted")]),
        ("curl -sSL https://x.example/y -o f.tgz", [("f.tgz", "written")]),
        ("sudo env A=1 rm a", [("a", "deleted")]),
        ('grep ">" a.py | sort', []),
        ('echo "a > b; rm c" # rm d', []),
        ("if [ -f a ]; then rm a; else touch a; fi", [("a", "deleted"), ("a", "created")]),
        ("python - <<EOF > out.json\nprint(1 > 2)\nEOF", [("out.json", "written")]),
        ("dd if=a of=b.img", [("b.img", "written")]),
        ("mkdir -p a/b; ls; cat x; git commit -m 'rm a > b'", []),
    ],
)
def test_a_command_changes_these_files(line: str, effects: list[tuple[str, str]]) -> None:
    assert [(one.path, one.verb) for one in file_effects(line).named] == effects


def test_moves_and_copies_say_where_from_and_where_to() -> None:
    named = file_effects("mv a.ts b.ts utils/ && cp x.py y.py && git mv c d").named
    assert [(one.path, one.verb, one.other) for one in named] == [
        ("a.ts", "moved", "utils/"),
        ("b.ts", "moved", "utils/"),
        ("y.py", "copied", "x.py"),
        ("c", "moved", "d"),
    ]


def test_a_folder_is_the_one_that_the_command_itself_went_to() -> None:
    named = file_effects("rm a; cd /srv/app && rm b; (cd src; rm c); rm d /e; cd - && rm f").named
    assert [(one.path, one.folder) for one in named] == [
        ("a", ""),
        ("b", "/srv/app"),
        ("c", "/srv/app/src"),
        ("d", "/srv/app"),
        ("/e", ""),
        ("f", ""),
    ]


def test_a_loop_over_named_files_names_them() -> None:
    line = 'for f in a.ts b.ts; do [ "$f" != x ] && mv "$f" ../c/; done'
    assert [one.path for one in file_effects(line).named] == ["a.ts", "b.ts"]
    assert file_effects(line.replace("a.ts b.ts", "*.ts")) == Effects((), 1), "which of them, only the shell knows"
    assert file_effects("for f in *.ts; do sed -i s/a/b/ $f; done").named[0].path == "*.ts"


def test_what_only_a_variable_names_is_counted_not_listed() -> None:
    found = file_effects('rm "$TMP/x" $(ls) `pwd`; echo > $OUT; rm known')
    assert found.named == (Effect("known", "deleted"),) and found.unnamed == 4


@given(
    st.lists(st.sampled_from(list("ab '\"$(){}<>|&;\n\\`#-/") + ["<<E", "$(", "&&", "rm ", "cd ", "E\n"]), max_size=30)
)
def test_no_command_line_breaks_it(parts: list[str]) -> None:
    for one in file_effects("".join(parts)).named:
        assert one.path and "\n" not in one.path


@pytest.mark.parametrize("piece", ["<<A ", "$(", '"', "(", "rm 'a' ", "a\\\n", "> a ", "`"])
def test_a_long_hostile_line_takes_no_time(piece: str) -> None:
    started = time.perf_counter()
    file_effects(piece * 50_000)
    assert time.perf_counter() - started < 2
