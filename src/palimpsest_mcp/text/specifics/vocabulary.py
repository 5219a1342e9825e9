"""Word lists: closed, sorted by hand, part of the rules (a change counts up `registry.RULES`).

Words by which people and agents say what became of something. Closed lists; a name must stand beside the cue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from ...models.text import late


def _words(listed: str) -> tuple[str, ...]:
    return tuple(listed.split())


FILE_SUFFIXES = frozenset(
    _words(
        """
    py pyi pyc pyx ipynb ts tsx mts cts js jsx mjs cjs rs go md mdx rst txt json jsonl json5 ndjson yaml yml toml
    ini cfg conf lock log c h cc cpp cxx hpp hh java kt kts gradle scala swift rb erb php pl pm sh bash zsh fish ps1
    bat cmd sql html htm css scss sass less vue svelte astro csv tsv xml xsd svg png jpg jpeg gif webp ico pdf zip
    gz tgz bz2 xz zst tar whl egg so dylib dll exe bin dat db sqlite sqlite3 env patch diff proto graphql tf tfvars
    hcl dockerfile mk cmake in am ac m4 el lua vim ex exs erl hs ml mli clj cljs dart zig nim jl r cs fs vb map snap
    tmpl tpl j2 jinja service socket timer pem crt key pub cer docx xlsx pptx doc xls ppt odt epub mp3 mp4 wav mov
    avi mkv parquet arrow feather npy npz pkl pt pth onnx safetensors h5 deb rpm apk dmg iso img jar war class o a
    lib pdb bak orig rej tmp swp out err pid sock typed
    """
    )
)
"""After the last dot of a file name."""

FILE_NAMES = frozenset(
    _words(
        """
    Makefile Dockerfile Jenkinsfile Procfile Gemfile Rakefile CMakeLists.txt .env .gitignore .gitattributes
    .dockerignore .npmignore .gitmodules .gitkeep .bash_profile .vimrc .python-version .node-version .tool-versions
    go.mod go.sum go.work .npmrc .nvmrc .bashrc .zshrc .profile .prettierrc .eslintrc .editorconfig .babelrc .pylintrc
    .coveragerc
    """
    )
)
"""Files known by their whole name."""

FOLDERS = frozenset(
    _words(
        """
    src lib libs test tests spec specs doc docs app apps bin etc usr var tmp home opt dist build out packages
    package pkg cmd internal examples scripts tools config configs conf public static assets node_modules .github
    .git .venv venv vendor server client api core modules components pages utils services plugins skills workspace
    data refs origin upstream feature fix bugfix hotfix release chore feat heads remotes tags
    """
    )
)
"""First folders that make `folder/name` a path."""

E_WORDS = frozenset(
    _words(
        """
    EAGLE EARLY EARTH EASTERN ECHO EDITOR EDITED EDITION EFFECT EFFECTS EFFICIENT EFFORT EIGHT EITHER ELEMENT
    ELEMENTS ELIGIBLE EMAIL EMAILS EMBED EMBEDDED EMBEDDING EMERGENCY EMPLOYEE EMPTY ENABLE ENABLED ENABLES ENCODE
    ENCODED ENCODING ENDIF ENDED ENDING ENDPOINT ENDPOINTS ENERGY ENGINE ENGLISH ENSURE ENTER ENTERED ENTIRE ENTITY
    ENTITIES ENTRIES ENTRY ENVIRONMENT EPISODE EPOCH EPOCHS EQUAL EQUALS ERASE ERROR ERRORS ESCAPE ESSENTIAL
    ESTIMATE ESTIMATED EUROPE EVALUATE EVALUATION EVENT EVENTS EVERY EVERYTHING EVIDENCE EXACT EXACTLY EXAMPLE
    EXAMPLES EXCEED EXCEEDED EXCEL EXCEPT EXCEPTION EXCEPTIONS EXCHANGE EXCLUDE EXCLUDED EXECUTE EXECUTED EXECUTION
    EXISTING EXISTS EXIST EXITED EXPECT EXPECTED EXPERIMENT EXPERIMENTAL EXPIRED EXPLAIN EXPLICIT EXPORT EXPORTED
    EXPORTS EXPRESS EXPRESSION EXTEND EXTENDED EXTENDS EXTENSION EXTERN EXTERNAL EXTRA EXTRACT EXTREME EXTREMELY
    EXECUTIVE EXPLORE EXTENSIONS ETHERNET ENUMS ELSEIF EXITS
    """
    )
)
"""Upper-case words that begin with E and are no errno: headings and log levels, mostly."""

UNITS = _words(
    """
    ns us µs μs ms s sec secs second seconds min mins minute minutes h hr hrs hour hours d day days week weeks month
    months year years B b kB KB MB GB TB PB KiB MiB GiB TiB K k M G T bytes byte bit bits Kbit Mbit Gbit kbps Mbps
    Gbps Hz kHz KHz MHz GHz px em rem pt dpi mm cm m km mi ft in kg g mg lb lbs oz °C °F C F W kW kWh MWh V A mA Ah
    x × ° pp vCPU vCPUs Mbit/s Gbit/s rpm rps qps fps dB bps tokens tok chars characters words lines rows items
    files tests errors warnings failures passed failed skipped deselected xfailed requests req retries attempts
    calls calories kcal messages records bytes/s ms/op ns/op MB/s KB/s GB/s kB/s it/s tokens/s req/s
    """
)
"""Units written right behind a number."""

SPACED_UNITS = _words(
    """
    ns us µs μs ms sec secs second seconds min mins minute minutes hr hrs hour hours day days week weeks month
    months year years kB KB MB GB TB PB KiB MiB GiB TiB bytes byte bits Kbit Mbit Gbit kbps Mbps Gbps Hz kHz MHz GHz
    px mm cm km kg mg lbs °C °F kW kWh MWh rpm rps qps fps dB tokens chars characters words lines rows items files
    tests errors warnings failures passed failed skipped deselected xfailed requests retries attempts calls kcal
    messages records cores vCPU vCPUs Mbit/s Gbit/s pp million billion MB/s KB/s GB/s kB/s it/s tokens/s req/s
    insertions deletions insertion deletion file test error warning failure row token item
    """
)
"""Units behind a number and one space: only such as make no column of their own."""

DECORATORS = frozenset(
    _words(
        """
    param params return returns property staticmethod classmethod override dataclass abstractmethod overload
    cached_property media import app pytest Test Override fixture wraps contextmanager type types throws see since
    deprecated example author Component Injectable Input Output Inject Autowired Service Entity Column ts-ignore
    ts-expect-error ts-nocheck todo default description summary keyframes supports layer tailwind apply include
    extend mixin font-face charset
    """
    )
)
"""What stands behind an @ in every code base, and names nobody."""

TECH_WORDS = frozenset(
    _words(
        """
    utf-8 utf8 UTF-8 UTF8 utf-16 UTF-16 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
    bfloat16 sha256 sha512 sha-256 SHA256 base64 Base64 x86_64 x86-64 amd64 arm64 i386 i686 win32 win64 linux64
    aarch64 latin-1 iso-8859-1 es2015 es2020 es2022 h264 h265 utf-8-sig u32 u64 i32 i64 f32 f64 u16 i16 usize32
    md5sum python3.11 cp1252 ascii7 HTML5 HTTP2 CESU8 X509 base32 base58 SHA-1 SHA-224
    SHA-256 SHA-384 SHA-512 SHA512 sha-1 sha1 sha224 sha384 ISO-8601 ISO-8859-1 MD5
    """
    )
)
"""Letters and digits, but a word of the trade and no id."""

TRIGGERS = frozenset(
    _words(
        """
    exit Exit exited Exited status Status return Return returned Returned HTTP HTTP/1.0 HTTP/1.1 HTTP/2 HTTP/3 errno
    Errno error Error signal Signal EUR USD GBP CHF JPY CNY INR CAD AUD SEK NOK DKK PLN $ \u276f Jan Feb Mar Apr May
    Jun Jul Aug Sep Sept Oct Nov Dec Jan. Feb. Mar. Apr. Aug. Sept. Oct. Nov. Dec. # % > + January February March
    April June July August September October November December
    \u20ac \u00a3 \u20b9 PR MR issue Issue ticket Ticket bug Bug
    """
    )
)
"""First words of phrases (`patterns.py`)."""

SIGNALS = frozenset(
    _words(
        """
    SIGABRT SIGALRM SIGBUS SIGCHLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGKILL SIGPIPE SIGQUIT SIGSEGV SIGSTOP SIGSYS
    SIGTERM SIGTRAP SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU
    """
    )
)
"""Signals by name."""

BRANDS = frozenset(
    _words("iPhone iPhones iPad iPads iPod iCloud iTunes eBook eBooks eMail eSports dApps iMovie iPlayer")
)
"""Written as camelCase names are, and none."""

PROMPTS = frozenset({"$", "\u276f", "#", "%", ">", "+"})
"""Marks before a command; the last four have other uses, and count before a known program or behind a whole prompt."""

PROGRAMS = _words(
    """
    apk apt apt-get awk aws az brew bun bundle cargo cd chmod chown cmake composer conda cp curl deno docker
    docker-compose dotnet eslint ffmpeg flutter gcc gcloud gem gh git gradle grep g++ helm java javac jest journalctl
    jq kubectl ls mkdir mvn mypy mysql node npm npx nvm php pip pip3 pipx playwright pnpm podman poetry prettier psql
    pytest python python3 rails redis-cli rm rsync ruby ruff rustc rustup scp sed sqlite3 ssh systemctl tar terraform
    tox tsc tsx unzip uv uvicorn uvx vite vitest wget yarn
    """
)
"""That people and tools write behind a prompt."""

KEY_WORDS = _words(
    """
    line lines port pid id version step epoch page order attempt retry seed rev revision commit branch tag job run
    build issue request user row column col level exit_code total count F1 accuracy precision recall AUC BLEU score
    mAP EM MRR NDCG loss mean median p50 p90 p95 p99 max min avg
    """
)
"""Words that name the value right behind them."""

DOMAINS = frozenset(_words("com org net io dev ai edu gov biz cloud example internal uk de fr eu cn jp ru"))
"""Top levels that make a dotted name a host without a port."""


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)


DEAD_END = _any(
    "dead end",
    "(?:is|was|were)(?:n't| not) the (?:cause|culprit|problem)",
    "not relevant|irrelevant|unrelated",
    "wrong (?:approach|file|path|place|track)",
    "rejected|abandon(?:ed|ing)?|(?:give|gave|giving) up on",
)
"""What is named beside it led nowhere."""
FAILED = _any("(?:did|does)(?:n't| not) (?:work|help)")
"""The command that is named beside it led nowhere."""
DECIDED = _any(
    "decided (?:to|on)|chose(?:n)?|choosing|agreed (?:to|on)|settled on|opt(?:ed)? for|selected",
    "will use|(?:we|i)(?:'?ll| will) (?:go with|keep)|(?:we|i)'ll use|let's (?:use|go with|keep)|go(?:ing)? with",
)
SUPERSEDES = late(
    r"\b(?:instead of|rather than|no longer|switch(?:ed|ing)? (?:away )?from|replac(?:e|ed|ing)|drop(?:ped|ping)?"
    r"|scrap(?:ped)?|forget about|changed my mind about)\s+(?:the |using |use |to )*",
    re.IGNORECASE,
)
"""What is named behind it no longer holds."""
BECAUSE = _any("because", "since", "so that", "in order to", "due to", "the reason (?:is|being)")
ASKS = late(r"\?(?:\s|$)|\b(?:blocked (?:by|on)|waiting (?:for|on)|unclear|open question)\b", re.IGNORECASE)
CRITERIA = _any("must(?: not)?|should(?: not)?|shall|has to|have to|required?|acceptance|criteri(?:a|on)")
PREFERS = _any(
    "prefer|always|never|don'?t|do not|from now on",
    "please (?:use|keep|avoid)|stop (?:using|doing)|i (?:want|like|hate|need)",
)
PASSED = _any("pass(?:es|ed|ing)?|green|clean", "succe(?:ss|eds?|eded|ssful(?:ly)?)", "fail(?:s|ed|ing|ures?)?")
"""How an answer speaks of the end of a run."""
NEXT = late(r"^[ \t#*]*(?:next steps?|remaining|to ?do|what'?s left|still to do)\b[^\n]{0,40}$", re.I | re.M)
"""A heading, or a line that ends in one."""

_NAME = late(r"\s*(?:`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|'([^'\n]{2,80})'|([A-Za-z][\w.+/#-]{1,79}))")
_SENTENCE = late(r"[^\n]+?(?:[.!?](?=\s|$)|\n|$)")


def sentences(text: str, cue: re.Pattern[str]) -> Iterator[str]:
    """The sentences in which a cue stands, in order, without the blanks around them."""
    if cue.search(text) is None:
        return
    for found in _SENTENCE.finditer(text):
        if cue.search(found[0]):
            yield found[0].strip()


def name_after(text: str, place: int) -> str:
    """The name that comes next from a place on: what stands in quotes, or one word with its dots and slashes."""
    found = _NAME.match(text, place)
    return next((word for word in found.groups() if word), "").rstrip(".,;:") if found else ""


# Whether the output of a call says that it failed, that it went well, or neither; and in which line.


READ_CHARS: Final = 60_000
"""Of a longer output, the first and the last half of this are read: programs say what came of them at their end."""

_CODE = late(
    r"\b(?:exit(?:ed)?(?: with)?(?: exit)?(?: (?:code|status))?|return(?:ed)?(?: with)?(?: exit)? (?:code|status)"
    r"|returncode|exit_code)[:=\"' ]{1,4}(\d{1,5})\b"
)
# Patterns that begin with a digit are found many times as fast as those that begin with a choice.
_FAILURES = late(r"(\d{1,7}) (?:tests? |specs? |examples? )?(?:failed|failures?|failing)\b")
_ERRORS = late(r"(\d{1,7}) (?:errors?|problems?)\b")
_BEFORE_ERRORS = late(r"(?:[(,;:=] *|\bfound +|\bwith +)$")
_LOOK_BACK = 24
_COLOURS = late(r"(?:\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~])+")
_WELL = late(
    r"\b[1-9]\d{0,6} (?:tests? |specs? |examples? )?(?:passed|passing)\b|\bbuild successful\b|\ball checks passed\b"
)
_RAISED = late(r"^(?:E +)?(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt|Exit)(?::.*)?$", re.M)
_BEGINS = late(
    r"^[ \t>]{0,8}(?:(?:fatal|error|ERROR|FATAL|Error|panic|FAILED)\b[^\n:]{0,40}:"
    r"|npm (?:error|ERR!)|error\[E\d+\]|thread '[^'\n]{0,80}' panicked at)",
    re.M,
)
_INSIDE = late(
    r"\berror TS\d+:|: (?:command not found|No such file or directory|[Pp]ermission denied|syntax error\b"
    r"|cannot (?:open|access|find)\b)"
)
_SUMMARY = late(r"\d{1,7} (?:[a-z]+ )?(?:passed|passing|failed|failing|failures?)\b")

_Found = Iterator[re.Match[str]]


class Outcome(msgspec.Struct, frozen=True):
    """What an output says of itself."""

    failed: bool | None
    """None: it does not say."""
    line: str
    """The line that says so, without the blanks around it; empty where there is none."""


def outcome_of(text: str, *, is_error: bool = False) -> Outcome:
    """Read the output of a command.

    Structure comes before words: what the host marked as an error failed; then exit codes, counts of tests, raised
    exceptions, and lines that begin or end as errors do. `0 errors` is none. Linear in time.
    """
    if len(text) > READ_CHARS:
        text = f"{text[: READ_CHARS // 2]}\n{text[-READ_CHARS // 2 :]}"
    text = _uncoloured(text)
    low = text.lower() if text.isascii() else text  # `lower` may change the length of other texts, and so the places
    codes = list(_where(_CODE, low, "exit", "return"))
    counts = [one for one in _where(_FAILURES, low, "fail") if _begins_a_word(low, one.start())]
    counts += [one for one in _where(_ERRORS, low, "error", "problem") if _counts_errors(low, one.start())]
    line = _raised(text) or _said(text)
    if is_error or line or any(int(one[1]) for one in (*codes, *counts)):
        counted = next((_line_at(text, one.start(1)) for one in counts if int(one[1])), "")
        return Outcome(True, line or counted or _first_line(text))
    well = [*_where(_WELL, low, "pass", "build successful"), *counts, *codes]
    return Outcome(False, _line_at(text, well[0].end() - 1)) if well else Outcome(None, "")


def conclusion(text: str) -> str:
    """The line in which a run of tests says how it ended; empty where there is none."""
    text = _uncoloured(text[-READ_CHARS // 2 :])
    last = None
    for one in _where(_SUMMARY, text, "passed", "passing", "fail"):
        last = one if _begins_a_word(text, one.start()) else last
    return _line_at(text, last.start()) if last else ""


def _uncoloured(text: str) -> str:
    """The text with a blank for each run of a terminal's colours, as a digest shows it."""
    return _COLOURS.sub(" ", text) if "\x1b[" in text else text


def _where(pattern: re.Pattern[str], text: str, *words: str) -> _Found:
    """Matches in the lines that hold one of the words: looking for a word is many times as fast as a pattern.

    No pattern here runs over a line.
    """
    for start, end in _lines_with(text, words):
        yield from pattern.finditer(text, start, end)


def _lines_with(text: str, words: tuple[str, ...]) -> list[tuple[int, int]]:
    lines: set[tuple[int, int]] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            lines.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(word, end)
    return sorted(lines)


def _begins_a_word(text: str, start: int) -> bool:
    before = text[start - 1 : start] if start else ""
    return not (before.isalnum() or before == "_")


def _counts_errors(text: str, start: int) -> bool:
    """Whether a number of errors stands where programs put it: first in its line, or after certain words and marks."""
    line = text.rfind("\n", 0, start) + 1
    before = text[max(line, start - _LOOK_BACK) : start]
    if not before.strip(" \t"):
        return not text[line:start].strip(" \t")
    return _BEFORE_ERRORS.search(before) is not None


def _raised(text: str) -> str:
    """The last exception that was printed: of a chain, the one that came up."""
    line = ""
    for found in _where(_RAISED, text, "Error", "Exception", "Interrupt", "Exit"):
        line = found[0]
    return line.strip()


def _said(text: str) -> str:
    """The first line that begins, or ends, as errors of programs do."""
    begins = _where(_BEGINS, text, "rror", "ERR", "atal", "FATAL", "panic", "FAILED")
    inside = _where(_INSIDE, text, "error TS", "not found", "No such", "ermission denied", "syntax error", ": cannot ")
    places = [found.end() - 1 for found in (next(begins, None), next(inside, None)) if found]
    return _line_at(text, min(places)) if places else ""


def _line_at(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return text[start : end if end >= 0 else len(text)].strip()


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
