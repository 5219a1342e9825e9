from __future__ import annotations

import pytest
from key_material import Forge
from surviving import survives

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

PASSWORD = Forge(20).password()
KEY = Forge(21).of(32)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('password = "{p}"  # set in May', 'password = "{}"  # set in May'),
        ("DB_PASSWORD={p}\nDB_PORT=5432", "DB_PASSWORD={}\nDB_PORT=5432"),
        ("{{'user': 'bob', 'password': '{p}'}}", "{{'user': 'bob', 'password': '{}'}}"),
        ("connect(host='db', password='{p}', port=1)", "connect(host='db', password='{}', port=1)"),
        ("--password={p} --user bob", "--password={} --user bob"),
        ("Server=db;Pwd={p};Database=x", "Server=db;Pwd={};Database=x"),
        ("?api_key={k}&page=2#top", "?api_key={}&page=2#top"),
        ("<password>{p}</password>", "<password>{}</password>"),
        ('<add key="ApiKey" value="{k}" />', '<add key="ApiKey" value="{}" />'),
        ("- name: DB_PASSWORD\n  value: {p}\n- name: X", "- name: DB_PASSWORD\n  value: {}\n- name: X"),
        ("api_key: |\n    {k}\nport: 1", "api_key: |\n    {}\nport: 1"),
        ("Secret access key: {k} (keep it)", "Secret access key: {} (keep it)"),
        ("the password for bob has been set to {p}.", "the password for bob has been set to {}."),
        ("(password: {p})", "(password: {})"),
        ("password: {p}, user: bob", "password: {}, user: bob"),
    ],
)
def test_the_value_goes_and_everything_around_it_stays(redactor: RuleRedactor, text: str, left: str) -> None:
    redacted = redactor.redact(text.format(p=PASSWORD, k=KEY)).text
    before, after = left.format("\0").split("\0")
    assert redacted.startswith(f"{before}[redacted:") and redacted.endswith(f"]{after}")


@pytest.mark.parametrize(
    "text",
    [
        'password == "{p}"', "$password = '{p}';", 'const apiKey: string = "{k}"', 'os.environ["API_KEY"] = "{k}"',
        "define('DB_PASSWORD', '{p}');", "ENV API_TOKEN {k}", "password <- '{p}'", 'var p = @"x"; string pwd = @"{p}";',
        "password=('{p}')", "secret_key = b'{k}'", 'api_token: !!str "{k}"', "| api_key | {k} |", "TOKEN={k}…",
        "password: '{p}", 'SecretStr("x"); password = SecretStr("{k}")',
    ],
)  # fmt: skip
def test_forms_of_assigning_are_known(redactor: RuleRedactor, text: str) -> None:
    assert not survives(PASSWORD, redactor.redact(text.format(p=PASSWORD, k=KEY)).text.replace(KEY, PASSWORD))


def test_an_escaped_quote_does_not_end_a_string(redactor: RuleRedactor) -> None:
    text = f'{{"password": "{PASSWORD}\\"{KEY}", "port": 1}}'
    redacted = redactor.redact(text).text
    assert not survives(KEY, redacted) and redacted.endswith('", "port": 1}')
