"""Tracebacks, as ten languages print them."""

from __future__ import annotations

import pytest

from palimpsest_mcp.digest.readers import trace

PYTHON = """\
Traceback (most recent call last):
  File "/app/pool.py", line 42, in open
    raise PoolError("no room")
  File "/usr/lib/python3.11/site-packages/x/y.py", line 3, in z
    go()
app.errors.PoolError: no room"""
JAVA = """\
java.lang.IllegalStateException: no room
	at com.example.Pool.open(Pool.java:42)
	at java.base/java.lang.Thread.run(Thread.java:829)
Caused by: java.net.ConnectException: refused
	... 12 more"""
KOTLIN = """\
Exception in thread "main" java.lang.NullPointerException: no room
	at com.example.MainKt.open(Main.kt:7)
	at kotlin.coroutines.Foo.bar(Foo.kt:1)"""
JAVASCRIPT = """\
TypeError: no room
    at open (/app/src/pool.js:12:11)
    at Module._compile (node:internal/modules/cjs/loader:1256:14)"""
GO = """\
panic: no room

goroutine 1 [running]:
main.open(...)
	/app/pool.go:8
runtime.main()
	/usr/local/go/src/runtime/proc.go:250 +0x1d"""
RUST = """\
thread 'main' panicked at src/main.rs:4:5:
no room
stack backtrace:
   0: rust_begin_unwind
             at /rustc/abc/library/std/src/panicking.rs:645:5
   1: app::pool::open
             at ./src/pool.rs:4:5"""
RUBY = """\
pool.rb:3:in `open': no room (PoolError)
	from app.rb:7:in `main'
	from /usr/lib/ruby/gems/3.0/gems/rack/x.rb:9:in `call'"""
PHP = """\
PHP Fatal error:  Uncaught PoolException: no room in /app/src/Pool.php:21
Stack trace:
#0 /app/src/Service.php(40): Pool->open()
#1 /app/vendor/laravel/Router.php(12): call()"""
CSHARP = """\
Unhandled exception. System.InvalidOperationException: no room
   at App.Pool.Open(Int32 id) in /app/Pool.cs:line 12
   at System.Linq.ThrowHelper.ThrowNoElementsException()"""
ELIXIR = """\
** (RuntimeError) no room
    (app 0.1.0) lib/app/pool.ex:12: App.Pool.open/1
    (elixir 1.15.0) lib/enum.ex:1693: Enum.map/2"""
SANITIZER = """\
==4242==ERROR: AddressSanitizer: no room on address 0x602000000010
    #0 0x4f1 in open /app/pool.c:31:9
    #1 0x7f2 in __libc_start_main (/lib/x86_64-linux-gnu/libc.so.6+0x21b96)"""
TRACES = {
    "python": (PYTHON, "/app/pool.py", "site-packages"),
    "java": (JAVA, "com.example.Pool", "java.base/java.lang"),
    "kotlin": (KOTLIN, "com.example.MainKt", "kotlin.coroutines"),
    "javascript": (JAVASCRIPT, "/app/src/pool.js", "node:internal"),
    "go": (GO, "/app/pool.go", "/usr/local/go"),
    "rust": (RUST, "app::pool", "rust_begin_unwind"),
    "ruby": (RUBY, "app.rb:7", "/gems/"),
    "php": (PHP, "/app/src/Service", "/vendor/"),
    "csharp": (CSHARP, "App.Pool.Open", "System.Linq"),
    "elixir": (ELIXIR, "lib/app/pool.ex", "lib/enum.ex"),
    "sanitizer": (SANITIZER, "/app/pool.c", "__libc_start_main"),
}


@pytest.mark.parametrize("language", TRACES)
def test_the_exception_is_told_first_and_the_users_own_frames_before_those_of_libraries(language: str) -> None:
    text, own, library = TRACES[language]
    lines = ["Starting.", *text.splitlines(), "", "And then it went on."]
    assert trace.claims(lines, 0) == 0
    end = trace.claims(lines, 1)
    assert end == len(lines) - 2
    records = trace.read(lines[1:end]).records
    error = next(r for r in records if r.kind == "error")
    mine = next(r for r in records if own in r.text and r.kind == "frame")
    theirs = next(r for r in records if library in r.text and r.kind == "frame")
    assert error.worth == 4
    assert mine.worth > 1 > theirs.worth > 0
    assert "no room" in " ".join(r.text for r in records if r.worth >= 2)
    assert mine.under == theirs.under == 0


def test_code_of_python_stands_under_its_frame_and_the_exception_for_itself() -> None:
    records = trace.read(PYTHON.splitlines()).records
    code = next(r for r in records if r.text.startswith("raise"))
    assert records[code.under].text.startswith('File "/app/pool.py"')
    assert records[-1].text == "app.errors.PoolError: no room"
    assert records[-1].under == -1


def test_in_a_long_chain_only_the_frames_nearest_to_the_exception_stand_out() -> None:
    frames = "\n".join(f'  File "/app/m{i}.py", line {i}, in f{i}\n    f{i + 1}()' for i in range(1, 30))
    lines = f"Traceback (most recent call last):\n{frames}\nValueError: no room".splitlines()
    near = [r.text for r in trace.read(lines).records if r.kind == "frame" and r.worth >= 2]
    assert near[-1].startswith('File "/app/m29.py"')
    assert len(near) < 6


@pytest.mark.parametrize(
    "line", ["ValueError is raised when the list is empty.", "at noon (local time)", "0: first", "#1 in sales"]
)
def test_words_about_errors_are_no_traceback(line: str) -> None:
    assert trace.claims([line, "The next line says nothing.", line], 0) == 0


def test_the_place_that_raised_says_more_than_any_other_frame() -> None:
    """Whatever the names of those on the way there sound like."""
    names = ("runner", "exceptions", "errors", "worker", "store")
    frames = "\n".join(f'  File "/app/{name}.py", line {n}, in go\n    {name}.go()' for n, name in enumerate(names))
    records = trace.read(f"Traceback (most recent call last):\n{frames}\nValueError: no room".splitlines()).records
    worth = {r.text: r.worth for r in records if r.kind == "frame"}
    assert max(worth, key=worth.__getitem__) == 'File "/app/store.py", line 4, in go'
    code = {r.text: r.worth for r in records if r.kind == "line"}
    assert max(code, key=code.__getitem__) == "store.go()"
