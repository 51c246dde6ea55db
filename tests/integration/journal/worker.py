"""Another process that runs writes through a journal: ``worker.py JOURNAL EFFECTS KEYS SECONDS``.

An effect is one line appended to the file EFFECTS: a server that cannot recognise a repeat. Each key's write is begun,
looked up where an earlier owner died, waited for where another runs it, and its value printed. SECONDS pass before and
after each effect.
"""

import os
import sys
import time
from pathlib import Path

from breakfall.runtime.journal import (
    Fresh,
    Journal,
    Operation,
    Replayed,
    Send,
    Unsettled,
    open_journal,
)
from breakfall.vocab import Applied, Ok, Settlement


def write(effects: Path, key: str, slow_s: float) -> str:
    """Take effect: append one line, durably enough to survive a kill of the writer."""
    value = f"{key} by {os.getpid()}"
    time.sleep(slow_s)
    file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{value}\n".encode())
    os.close(file)
    time.sleep(slow_s)
    return value


def look_up(effects: Path, key: str) -> Settlement:
    """Read whether the write took effect."""
    for line in effects.read_text().splitlines() if effects.exists() else []:
        if line.split(" by ")[0] == key:
            return Settlement(applied=Applied.YES, value=line)
    return Settlement(applied=Applied.NO, evidence="no such line")


def run(journal: Journal, effects: Path, key: str, slow_s: float) -> str:
    """Run one write to its value, whatever happened to it before."""
    operation = Operation(key=key, run="r", tool="append", arguments={"key": key})
    send = Send(tool="append", arguments={"key": key})
    while True:
        begun = journal.wait(operation, send, 60.0)
        match begun:
            case Fresh(claim=claim):
                value = write(effects, key, slow_s)
                journal.finish(claim, Ok(value=value))
                return value
            case Unsettled(claim=claim):
                journal.settle(claim, look_up(effects, key))
            case Replayed(value=value):
                return str(value)
            case _:
                raise SystemExit(f"{key}: {begun}")


def main() -> None:
    """Run every key of the command line, in its order."""
    where, effects, keys, slow_s = sys.argv[1], Path(sys.argv[2]), sys.argv[3].split(","), float(sys.argv[4])
    with open_journal(where) as journal:
        print("ready", flush=True)
        sys.stdin.readline()
        for key in keys:
            print(run(journal, effects, key, slow_s), flush=True)


if __name__ == "__main__":
    main()
