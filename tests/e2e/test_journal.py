"""`breakfall journal` shows what a journal holds and settles by a person's word, on a real file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from breakfall.runtime.journal import Operation, Send, open_journal
from breakfall.vocab import Applied, Failed


def breakfall(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from breakfall.cli import main; main()", "journal", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A journal with one write of which nobody knows what became of it."""
    path = tmp_path / "writes.db"
    with open_journal(path) as opened:
        operation = Operation(key="k1abc", run="ticket-7", tool="pay", arguments={"amount": 5})
        begun = opened.begin(operation, Send(tool="pay", arguments={"amount": 5}))
        opened.finish(begun.claim, Failed(message="connection reset", applied=Applied.UNKNOWN))  # type: ignore[union-attr]
    return path


def test_list_and_show(journal: Path) -> None:
    """The open write is listed with its state, and shown with what was sent."""
    listed = breakfall("list", journal)
    assert "k1abc" in listed.stdout
    assert "unknown" in listed.stdout
    assert json.loads(breakfall("list", journal, "--json").stdout)[0]["operation"]["run"] == "ticket-7"
    assert json.loads(breakfall("list", journal, "--state", "succeeded", "--json").stdout) == []
    shown = breakfall("show", journal, "k1")
    assert 'pay {"amount":5}' in shown.stdout
    assert "connection reset" in shown.stdout


def test_resolve(journal: Path) -> None:
    """A person's word settles the write, and the note stays."""
    done = breakfall("resolve", journal, "k1", "succeeded", "--by", "mina", "--note", "seen", "--value", '"P1"')
    assert done.returncode == 0, done.stderr
    entry = json.loads(breakfall("show", journal, "k1", "--json").stdout)
    assert (entry["state"], entry["value"], entry["settled_by"]) == ("succeeded", "P1", "mina")
    assert "seen" in entry["notes"][-1]["text"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "nowhere.db"), "no journal at 'nowhere.db'"),
        (("list", "{journal}", "--state", "unkown"), "no state 'unkown'; did you mean 'unknown'?"),
        (("show", "{journal}", "zzz"), "no entry's key starts with 'zzz'"),
        (("resolve", "{journal}", "k1", "unknown", "--by", "m", "--note", "n"), "resolved to"),
        (("resolve", "{journal}", "k1", "succeeded", "--by", "m", "--note", "n", "--value", "O17"), "no JSON"),
    ],
)
def test_bad_input_is_named(journal: Path, arguments: tuple[str, ...], words: str) -> None:
    """Bad input exits 2 with one line and no traceback, and changes nothing."""
    result = breakfall(*(argument.format(journal=journal) for argument in arguments))
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert json.loads(breakfall("list", journal, "--json").stdout)[0]["state"] == "unknown"
