"""`breakfall watch` as it is installed: real ledgers, real processes, real kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from breakfall.ledger.check import check
from breakfall.ledger.source import FolderSource, decode
from breakfall.ledger.verdict import StepVerdict
from breakfall.ledger.writer import LedgerWriter
from breakfall.seeds import stream
from breakfall.vocab import Effect, Ok, Step, Uncertainty, Verification, VerificationStatus

COMMAND = [sys.executable, "-c", "from breakfall.cli import main; main()", "watch"]
RULES = """
[watch]
every_s = 0.05

[alerts]
file = "alerts.jsonl"

[tools.note]
kind = "file"
root = "notes"
path = "{name}"
settle_s = 0.01
"""


def step(n: int, name: str, **fields: object) -> Step:
    fixed: dict[str, object] = {
        "episode": "e",
        "n": n,
        "call": f"c{n}",
        "tool": "note",
        "arguments": {"name": name},
        "at_s": float(n),
        "expected_outcome": "a note",
        "observed_outcome": Ok(value={}),
        "verification": Verification(status=VerificationStatus.NOT_DONE),
        "uncertainty_signal": Uncertainty.NONE,
        "effect": Effect.WRITE,
    }
    return Step(**{**fixed, **fields})  # type: ignore[arg-type]


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    path = tmp_path / "watch.toml"
    path.write_text(RULES)
    return path


def watch(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)


def verdicts(folder: Path) -> list[StepVerdict]:
    source = FolderSource(folder)
    lines = (decode(source, name, raw.line) for name in source.segments() for raw in source.lines(name))
    return [line for line in lines if isinstance(line, StepVerdict)]


def test_once(tmp_path: Path, rules: Path) -> None:
    """One pass judges several ledgers, says what is wrong, exits with 1; the next finds nothing and exits with 0."""
    folders = [tmp_path / "a", tmp_path / "b"]
    (tmp_path / "notes/there").write_text("x")
    for folder in folders:
        with LedgerWriter(folder) as writer:
            writer.step(step(0, "there"))
            writer.step(step(1, "missing"))
    done = watch(*folders, "--rules", rules, "--once")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        *["CONTRADICTED: step 1 of e (note): no such file"] * 2,
        "2 confirmed, 2 contradicted; 0 still to be judged",
    ]
    assert len((tmp_path / "alerts.jsonl").read_bytes().splitlines()) == 2
    again = watch(*folders, "--rules", rules, "--once", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["found"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{tmp}/none",), "no ledger is here"),
        (("{tmp}", "--rules", "{tmp}/none.toml"), "none.toml: cannot read it"),
        (("postgresql://127.0.0.1/x", "--once"), "say with --state where to remember"),
    ],
)
def test_usage(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """What cannot be watched is refused with exit code 2 and what would be right."""
    done = watch(*(argument.format(tmp=tmp_path) for argument in arguments))
    assert done.returncode == 2
    assert words in done.stderr


@contextmanager
def watching(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(condition: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def test_follows_and_stops(tmp_path: Path, rules: Path) -> None:
    """It judges what comes while it watches, and on SIGTERM closes its segment and says what it found."""
    folder = tmp_path / "ledger"
    with LedgerWriter(folder) as writer:
        with watching(folder, "--rules", rules, "--json") as process:
            wait_for(lambda: (folder / "watch.db").exists())
            writer.step(step(0, "missing"))
            wait_for(lambda: verdicts(folder))
            process.send_signal(signal.SIGTERM)
            out = process.communicate(timeout=60)[0]
        assert process.returncode == 1
        assert json.loads(out)["counts"] == {"contradicted": 1}
    assert check(str(folder)).sound


def test_killed_again_and_again(tmp_path: Path, rules: Path) -> None:
    """Killed at random while steps come, the watchdog says every verdict once and loses none."""
    folder, draw = tmp_path / "ledger", stream(0, "watch", "kills")
    count = 0
    with LedgerWriter(folder) as writer:
        for _ in range(12):
            with watching(folder, "--rules", rules) as process:
                until = time.monotonic() + draw.between(0.3, 0.9)
                while time.monotonic() < until:
                    name = f"n{count}"
                    if count % 2:
                        (tmp_path / "notes" / name).write_text("x")
                    writer.step(step(count, name))
                    count += 1
                    time.sleep(0.002)
                os.kill(process.pid, signal.SIGKILL)
    done = watch(folder, "--rules", rules, "--once")
    assert done.returncode in (0, 1), done.stderr
    said = verdicts(folder)
    assert Counter(one.n for one in said) == Counter(range(count))
    assert all((one.judgement == "confirmed") == bool(one.n % 2) for one in said if one.n is not None)
    alerted = [json.loads(line)["handoff"]["reason"] for line in (tmp_path / "alerts.jsonl").read_bytes().splitlines()]
    assert alerted  # equal ones are muted
    assert check(str(folder)).sound
