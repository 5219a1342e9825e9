"""A table's column whose name means a secret, and the values of an INSERT."""

from __future__ import annotations

import json

import pytest
from key_material import Forge

from palimpsest_mcp.text.redaction.redactor import RuleRedactor

FORGE = Forge(63)
FIRST, SECOND, KEY = FORGE.password(), FORGE.password(), FORGE.of(40)
TABLES = {
    "CSV": f'user,password,age\nbob,{FIRST},41\nann,"{SECOND}",7\n',
    "CSV with CRLF": f"user,password\r\nbob,{FIRST}\r\nann,{SECOND}\r\n",
    "semicolons": f'user;"password"\nbob;"{FIRST}"\nann;{SECOND}\n',
    "tabs": f"user\tapi_key\tpassword\nbob\t{KEY}\t{FIRST}\nann\t-\t{SECOND}\n",
    "Markdown": f"| user | password |\n|---|:--|\n| bob | `{FIRST}` |\n| ann | {SECOND} |\n",
    "psql": f" user | password \n------+------\n bob  | {FIRST}\n ann  | {SECOND}\n(2 rows)\n",
    "mysql": f"+---+---+\n| id | password |\n+---+---+\n| 1 | {FIRST} |\n| 2 | {SECOND} |\n+---+---+\n",
    "a listing": f"     1\tuser,password\n     2\tbob,{FIRST}\n     3\tann,{SECOND}\n",
    "a search": f"users.csv:1:user,password\nusers.csv:2:bob,{FIRST}\nusers.csv:3:ann,{SECOND}\n",
    "INSERT": f"INSERT INTO u (name, password) VALUES ('it''s, bob', '{FIRST}'),\n (lower('ANN'), '{SECOND}');",
    "INSERT with quotes": f"insert into `u` (`password`, `age`) values ('{FIRST}', 1), (\"{SECOND}\", NULL)",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_column_of_secrets_is_masked_and_every_other_cell_stays(
    redactor: RuleRedactor, table: str, depth: int
) -> None:
    text = table
    for _ in range(depth):
        text = json.dumps({"stdout": text})
    shown = redactor.redact(text).text
    for _ in range(depth):
        shown = json.loads(shown)["stdout"]
    assert FIRST not in shown and SECOND not in shown and KEY not in shown
    whole = redactor.redact(table).text
    assert shown == whole and whole.count("[redacted:") == table.count(FIRST) + table.count(SECOND) + table.count(KEY)
    assert redactor.redact(text).text == redactor.redact(redactor.redact(text).text).text


def test_a_long_table_is_masked_to_its_end_and_not_beyond(redactor: RuleRedactor) -> None:
    rows = "".join(f"user{n},{FORGE.password()}\n" for n in range(3_000))
    shown = redactor.redact(f"user,password\n{rows}\nafter,Wd9!not-of-it\n").text
    assert shown.count("[redacted:password:") == 3_000 and "after,Wd9!not-of-it" in shown


@pytest.mark.parametrize(
    "text",
    [
        "We need a username, password\nand bob, foo123x\n",
        "def login(user,password,x):\n    foo,bar1234,z\n",
        "| option | password |\n|---|---|\n| a | required |\n| b | `${PW}` |\n| c | eight letters or more |\n",
        "token,count\nhello,3\nworld,12\n",
        "id,password_hash,token_count\n1,9f86d081884c7d65,55\n",
        "INSERT INTO t (name, token_count) VALUES ('Wd9!not-of-it', 5)",
    ],
)
def test_prose_code_and_other_columns_stay(redactor: RuleRedactor, text: str) -> None:
    assert redactor.redact(text).text == text
