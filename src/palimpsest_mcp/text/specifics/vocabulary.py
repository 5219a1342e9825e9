"""Word lists: closed, sorted by hand, part of the rules (a change counts up `registry.RULES`)."""

from __future__ import annotations


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
"""First words of phrases (`phrases.py`)."""

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
