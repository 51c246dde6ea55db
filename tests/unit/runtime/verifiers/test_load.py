"""Verifiers from a TOML file: strict, with the place of every mistake, and credentials from the environment."""

from __future__ import annotations

import mailbox
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from breakfall.errors import UsageError
from breakfall.runtime.verifiers import Claim, load
from breakfall.vocab import Applied

FILE = """
[tools.pay]
kind = "sql"
database = "shop.db"
query = "SELECT status FROM orders WHERE id = :id"
predicates = [{ at = "/0/status", is = "==", value = "paid" }]
settle_s = 0.5

[tools.write_note]
kind = "file"
root = "notes"
path = "{name}.txt"
predicates = [{ at = "/text", is = "contains", value = "{text}" }]

[tools.remove_note]
kind = "file"
root = "notes"
path = "{name}.txt"
absent = true

[tools.send]
kind = "mail"
maildir = "sent"
match = { to = "{to}" }

[tools.join]
kind = "function"
call = "os.path:join"
arguments = { a = "{a}" }
"""


def test_every_kind(tmp_path: Path) -> None:
    """Each kind of table becomes a verifier that looks relative to the file's folder."""
    path = tmp_path / "watch.toml"
    path.write_text(FILE)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("bread")
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE orders AS SELECT 7 AS id, 'paid' AS status")
    mailbox.Maildir(tmp_path / "sent").add("To: a@b.c\n\nhi\n")
    made = load(path)
    assert (made["pay"].settle_s, made["send"].settle_s) == (0.5, 2.0)
    cases = {
        "pay": {"id": 7},
        "write_note": {"name": "a", "text": "bread"},
        "remove_note": {"name": "b"},
        "send": {"to": "a@b.c"},
        "join": {"a": "x"},
    }
    for tool, arguments in cases.items():
        look = made[tool].verify(Claim(tool=tool, arguments=arguments))
        assert look.applied is Applied.YES, look


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tools", "not TOML"),
        ("tools = 3", "tools is int, must be tables such as [tools.close_issue]"),
        ("[tools.a]\nkind = 'htp'", "tools.a: Invalid value 'htp' - at `kind`; did you mean kind = 'http'?"),
        ("[tools.a]\nurl = 'http://x'", "tools.a: Object missing required field `kind`; kind is one of: http, file"),
        ("[tools.a]\nkind = 'http'\nulr = 'http://x'", "tools.a: Object contains unknown field `ulr`"),
        ("[tools.a]\nkind = 'http'", "tools.a: Object missing required field `url`"),
        ("[tools.a]\nkind = 'http'\nurl = 'x'", "tools.a: url is 'x', must begin with http://"),
        ("[tools.a]\nkind = 'http'\nurl = 'http://x'\nsettle_s = -1", "tools.a.settle_s is -1, must be at least 0"),
        (
            "[tools.a]\nkind = 'http'\nurl = 'http://x'\nheaders = { Authorization = 'Bearer ${NO_TOKEN}' }",
            "tools.a.headers.Authorization needs the environment variable NO_TOKEN, which is not set",
        ),
        (
            "[tools.a]\nkind = 'http'\nurl = 'http://x'\npredicates = [{ at = 'state' }]",
            "tools.a: predicates: pointer 'state' must be empty or start with '/'",
        ),
        (
            "[tools.a]\nkind = 'http'\nurl = 'http://x'\npredicates = [{ is = '~' }]",
            "tools.a: Invalid enum value '~' - at `predicates[0].is`",
        ),
        ("[tools.a]\nkind = 'sql'\ndatabase = 'mysql://x'\nquery = ''", "must be a file or postgresql://"),
        ("[tools.a]\nkind = 'mail'\nmatch = { to = 'x' }", "has no place, must have one of: maildir, mbox, imap"),
        ("[tools.a]\nkind = 'mail'\nmbox = 'm'\nmatch = { too = 'x' }", "match has too, must have some of: to, cc"),
        ("[tools.a]\nkind = 'mail'\nimap = 'm'\nmatch = { to = 'x' }", "needs user and password for imap"),
        ("[tools.a]\nkind = 'function'\ncall = 'os.path'", "'os.path' names no function"),
        ("[tools.a]\nkind = 'function'\ncall = 'os:nothing'", "cannot be imported"),
        ("[tools.a]\nkind = 'function'\ncall = 'os:sep'", "is str, which cannot be called"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, words: str) -> None:
    """A mistake is refused with the file, the tool, what is wrong, and what would be right."""
    path = tmp_path / "watch.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        load(path, {})
    assert str(error.value).startswith(str(path))
    assert words in str(error.value)


def test_no_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(UsageError, match=r"none\.toml: cannot read it: No such file"):
        load(tmp_path / "none.toml")
