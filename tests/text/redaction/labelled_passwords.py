"""Passwords of many makings under a password's name, in every format that people write them in. Written before the rules."""

from __future__ import annotations

import html
import json
import shlex
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from key_material import ALNUM, HEX, LOWER, Forge

SIGNS = "!#$%&()*+,-./:;<=>?@[]^_{|}~"
MAKINGS: dict[str, Callable[[Forge], str]] = {
    "signs": lambda f: f.of(16, ALNUM + SIGNS),
    "few signs": lambda f: f.of(16, ALNUM + "!@#$%^&*-_+=?"),
    "exclamation first": lambda f: "!" + f.of(13, ALNUM + "#%+"),
    "bracket first": lambda f: "(" + f.of(13, ALNUM + "!#%"),
    "ampersand first": lambda f: "&" + f.of(13),
    "dollar first": lambda f: "$" + f.of(13),
    "star first": lambda f: "*" + f.of(11),
    "at first": lambda f: "@" + f.of(11),
    "percent first": lambda f: "%" + f.of(11),
    "call-like": lambda f: f.of(1, string.ascii_lowercase) + "(" + f.of(12),
    "separators": lambda f: f"{f.of(4)},{f.of(4)};{f.of(4)}#{f.of(3)}",
    "quotes": lambda f: f"{f.of(6)}'{f.of(4)}\"{f.of(4)}",
    "letters": lambda f: f.of(12, string.ascii_lowercase),
    "mixed letters": lambda f: f.of(12, string.ascii_letters),
    "letters and digits": lambda f: f.of(16),
    "hexadecimal": lambda f: f.of(32, HEX),
    "base64": lambda f: f.base64(18),
    "words with -": lambda f: "-".join(f.random.sample(WORDS, 4)),
    "words with .": lambda f: ".".join(f.random.sample(WORDS, 4)),
    "words with space": lambda f: " ".join(f.random.sample(WORDS, 4)),
    "words with _": lambda f: "_".join(f.random.sample(WORDS, 4)),
    "Words with -": lambda f: "-".join(word.title() for word in f.random.sample(WORDS, 4)),
    "not ASCII": lambda f: f.of(5) + f.random.choice("äöüßéñçøåж密") + f.of(4) + f.random.choice("§€£µ×Ωλ") + f.of(3),
    "stand-in and more": lambda f: f.random.choice(("ChangeMe!", "Example2024!", "Welcome1!", "Letmein#", "xxxx")) + f.of(9),
    "made up": Forge.password,
    "groups": lambda f: "-".join(f.of(6, LOWER) for _ in range(3)),
}  # fmt: skip
# fmt: off
WORDS = (
    "acorn", "almond", "amber", "anchor", "apricot", "arrow", "aspen", "atlas", "autumn", "badger", "bamboo", "banjo", "barley",
    "basil", "beacon", "beetle", "birch", "bison", "blanket", "bramble", "brisk", "bronze", "bucket", "butter", "cactus",
    "camera", "candle", "canyon", "carbon", "carpet", "castle", "cedar", "cello", "chalk", "cherry", "cider", "cinder", "clover",
    "cobalt", "comet", "copper", "coral", "cosmic", "cotton", "cradle", "crater", "cricket", "crimson", "curly", "dagger",
    "daisy", "dapper", "delta", "denim", "desert", "dolphin", "donkey", "drizzle", "eagle", "ember", "elbow", "falcon",
    "fennel", "ferry", "fiddle", "flannel", "flint", "forest", "fossil", "fountain", "galaxy", "garlic", "gentle", "ginger",
    "glacier", "goblet", "granite", "gravel", "hammer", "harbor", "hazel", "hermit", "hollow", "honey", "horizon", "iguana",
    "indigo", "island", "ivory", "jacket", "jasmine", "jigsaw", "jungle", "kayak", "kettle", "kitten", "ladder", "lagoon",
    "lantern", "lavender", "lemon", "lizard", "lobster", "lumber", "magnet", "mango", "maple", "marble", "meadow", "mellow",
    "meteor", "mimosa", "mitten", "muffin", "mustard", "nectar", "nickel", "noodle", "nutmeg", "oasis", "olive", "onion",
    "orbit", "orchid", "otter", "oyster", "paddle", "panther", "parsley", "pebble", "pepper", "pigeon", "pillow", "pirate",
    "planet", "plum", "pocket", "pollen", "pony", "prairie", "puddle", "pumpkin", "puzzle", "quartz", "quiver", "rabbit",
    "raven", "ribbon", "river", "rocket", "saddle", "saffron", "salmon", "sandal", "satin", "scarf", "shadow", "silver",
    "sketch", "sparrow", "spiral", "staple", "summit", "sunset", "tangle", "teapot", "thistle", "thunder", "timber", "tulip",
    "tunnel", "turnip", "umbra", "velvet", "violet", "waffle", "walnut", "whisker", "willow", "winter", "yonder", "zephyr",
)
# fmt: on


class Password(NamedTuple):
    """A text with a password in it as its format writes it; no six characters of `secret` may be left."""

    making: str
    context: str
    text: str
    secret: str


def passwords(seed: int, draws: int = 6) -> Iterator[Password]:
    """Every making in every format that can write it, `draws` times."""
    f = Forge(seed)
    for making, make in MAKINGS.items():
        for context, write in CONTEXTS.items():
            for _ in range(draws):
                if written := write(f, make(f)):
                    yield Password(making, context, *written)


Written = tuple[str, str] | None
_NAMES = (
    "DB_PASSWORD",
    "POSTGRES_PASSWORD",
    "SMTP_PASS",
    "ADMIN_PASSWORD",
    "REDIS_PASSWORD",
    "LDAP_BIND_PASSWORD",
    "PGPASSWORD",
)
_KEYS = (
    "password",
    "dbPassword",
    "passwd",
    "admin_password",
    "db.password",
    "smtp-password",
    "passphrase",
    "userPassword",
)


def _name(f: Forge) -> str:
    return f.random.choice(_NAMES)


def _key(f: Forge, *, dots: bool = True) -> str:
    return f.random.choice([key for key in _KEYS if dots or "." not in key])


def _put(template: str, value: str, secret: str | None = None) -> Written:
    return template.replace("{}", value), value if secret is None else secret


def _one_word(value: str) -> bool:
    return not any(c in value for c in " \t'\"`\\")


def _json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _env(f: Forge, value: str) -> Written:
    if "'" in value or '"' in value:
        return None
    return _put(
        f.random.choice(
            (f"DB_HOST=db\n{_name(f)}={{}}\nDB_PORT=5432\n", f"{_name(f)}={{}}", f"export {_name(f)}={{}}\n")
        ),
        value,
    )


def _env_quoted(f: Forge, value: str) -> Written:
    return (
        None
        if "'" in value
        else _put(f.random.choice((f"export {_name(f)}='{{}}'\n", f"{_name(f)}='{{}}' make run")), value)
    )


def _in_json(f: Forge, value: str) -> Written:
    line = f'{{"host": "db", "{_key(f)}": "{{}}", "port": 5432}}'
    return _put(
        f.random.choice((line, line.replace(": ", ":").replace(", ", ","), line.replace(", ", ",\n  "))), _json(value)
    )


def _yaml_quoted(f: Forge, value: str) -> Written:
    if f.random.random() < 0.5:
        return _put(f'db:\n  {_key(f)}: "{{}}"\n  port: 5432', _json(value))
    return _put(f"db:\n  {_key(f)}: '{{}}'\n  port: 5432", value.replace("'", "''"))


def _yaml(f: Forge, value: str) -> Written:
    return _put(f"db:\n  user: app\n  {_key(f)}: {{}}\n  port: 5432\n", value)


def _yaml_block(f: Forge, value: str) -> Written:
    return _put(f"db:\n  {_key(f)}: {f.random.choice(('|', '|-', '>', '>-'))}\n    {{}}\n  port: 5432\n", value)


def _toml(f: Forge, value: str) -> Written:
    if "'" in value or f.random.random() < 0.5:
        return _put(f'[db]\n{_key(f, dots=False)} = "{{}}"\nport = 5432', _json(value))
    return _put(f"[db]\n{_key(f, dots=False)} = '{{}}'\nport = 5432", value)


def _url(f: Forge, value: str) -> Written:
    scheme = f.random.choice(("postgres", "mysql+pymysql", "mongodb+srv", "redis", "amqps", "https", "ftp"))
    return _put(
        f"{f.random.choice(('DATABASE_URL=', 'connecting to ', 'url: '))}{scheme}://app:{{}}@db.acme.io:5432/app",
        quote(value, safe="!$&()*+,;="),
    )


def _netrc(f: Forge, value: str) -> Written:
    gap = f.random.choice((" ", "\n  "))
    return _put(f"machine api.acme.io{gap}login bot{gap}password {{}}\n", value) if _one_word(value) else None


def _option(f: Forge, value: str) -> Written:
    template = f.random.choice(
        (
            "tool login --user bob --password {} --verbose",
            "tool --password={} --port 1",
            "cli connect --db-password {}\n",
        )
    )
    return _put(template, shlex.quote(value), shlex.quote(value).strip("'"))


def _short_option(f: Forge, value: str) -> Written:
    template = f.random.choice(
        ("mysql -u root -p{} app", "docker login -u bob -p {} registry.acme.io", "sshpass -p {} ssh root@10.0.0.5")
    )
    return _put(template, shlex.quote(value), shlex.quote(value).strip("'"))


def _docker(f: Forge, value: str) -> Written:
    if _one_word(value) and "$" not in value and f.random.random() < 0.6:
        return _put(f"FROM alpine\n{f.random.choice(('ENV', 'ARG'))} {_name(f)}={{}}\nRUN make\n", value)
    return _put(f'FROM alpine\nENV {_name(f)}="{{}}"\nRUN make\n', _json(value))


def _hcl(f: Forge, value: str) -> Written:
    value = _json(value).replace("${", "$${").replace("%{", "%%{")
    template = f.random.choice(
        (
            'resource "aws_db_instance" "x" {\n  master_password = "{}"\n  port     = 5432\n}',
            'variable "db_password" {\n  type    = string\n  default = "{}"\n}',
        )
    )
    return _put(template, value)


def _compose(f: Forge, value: str) -> Written:
    if f.random.random() < 0.5 and "'" not in value and '"' not in value:
        return _put(f"services:\n  db:\n    environment:\n      - {_name(f)}={{}}\n      - TZ=UTC\n", value)
    return _put(f'services:\n  db:\n    environment:\n      {_name(f)}: "{{}}"\n      TZ: UTC\n', _json(value))


def _properties(f: Forge, value: str) -> Written:
    return _put(
        f.random.choice(
            (
                "spring.datasource.username=app\nspring.datasource.password={}\nserver.port=1\n",
                "db.password = {}\ndb.port = 1\n",
                "[db]\npassword = {}\nport = 1\n",
            )
        ),
        value,
    )


def _connection(f: Forge, value: str) -> Written:
    if ";" in value or '"' in value:
        return _put('Server=db;User Id=sa;Password="{}";Encrypt=true', value.replace('"', '""'))
    if "'" not in value and f.random.random() < 0.5:
        return _put("host=db user=app password='{}' dbname=x", value)
    return _put(
        f.random.choice(("Server=db;User Id=sa;Password={};Encrypt=true", "Data Source=x;Uid=sa;Pwd={};")), value
    )


def _code(f: Forge, value: str) -> Written:
    template = f.random.choice(
        (
            'password = "{}"',
            'connect(host="db", password="{}", port=1)',
            'const dbPassword: string = "{}";',
            'String password = "{}";',
            'config["password"] = "{}"',
            'password := "{}"',
        )
    )
    return _put(template, _json(value))


def _xml(f: Forge, value: str) -> Written:
    return _put(
        f.random.choice(("<db><password>{}</password></db>", '<add key="DbPassword" value="{}" />')), html.escape(value)
    )


def _prose(*templates: str) -> Callable[[Forge, str], Written]:
    return lambda f, value: _put(f.random.choice(templates), value)


CONTEXTS: dict[str, Callable[[Forge, str], Written]] = {
    "env": _env, "env quoted": _env_quoted, "json": _in_json, "yaml quoted": _yaml_quoted, "yaml": _yaml, "yaml block": _yaml_block,
    "toml": _toml, "url": _url, "netrc": _netrc, "option": _option, "short option": _short_option, "dockerfile": _docker, "hcl": _hcl,
    "compose": _compose, "properties": _properties, "connection": _connection, "code": _code, "xml": _xml,
    "english": _prose("The password is {}", "Your new password is: {}\nPlease change it.", "password: {}", "Log in as bob with the password {} and go on.", "I set the password to `{}`."),
    "german": _prose("Das Passwort ist {}", "Das Kennwort lautet: {}\nBitte ändern.", "Passwort: {}", "Das neue Passwort für bob lautet {}", "Ich habe das Passwort auf „{}“ gesetzt."),
    "french": _prose("Le mot de passe est {}", "Mot de passe : {}", "Votre mot de passe est : {}\nMerci de le changer.", "Le nouveau mot de passe de bob est «\u00a0{}\u00a0»."),
    "spanish": _prose("La contraseña es {}", "Contraseña: {}", "Tu nueva contraseña es: {}\nCámbiala.", "La clave de acceso es {}", "La contraseña de bob es «{}»."),
    "japanese": _prose("パスワードは {} です", "パスワード：{}", "パスワードは「{}」です。", "新しいパスワード: {}\n", "パスワードは{}です。"),
}  # fmt: skip
PLAIN_WORDS = ("required", "changed", "welcome", "dragonfly", "holiday", "chocolate", "Passwort", "secreto")
"""These may stay: a reader cannot tell them from what is said about a password."""
