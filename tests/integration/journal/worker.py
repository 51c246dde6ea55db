"""Other processes that run writes through a journal: ``worker.py JOURNAL EFFECTS``.

The first line of output is "ready"; then each line of input, ``KEY,KEY,… SECONDS DEATH``, forks a process that runs
those writes, and its number is printed; at the end it prints the values on one line. An effect is one line appended to
the file EFFECTS: a server that cannot recognise a repeat. Each write is begun, looked up where an earlier owner died,
and waited for where another runs it. SECONDS pass before and after each effect. DEATH is the point of the first write
at which the process kills itself: "begun", "sent", "finished", or "-".
"""

import os
import signal
import sys
import time
from pathlib import Path

from breakfall.runtime.journal import Fresh, Journal, Operation, Replayed, Send, Unsettled, open_journal
from breakfall.vocab import Applied, Ok, Settlement


def dies_at(point: str, death: str) -> None:
    """Kill this process if this is the point."""
    if point == death:
        os.kill(os.getpid(), signal.SIGKILL)


def append(effects: Path, value: str) -> None:
    """Take effect: append one line."""
    file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{value}\n".encode())
    os.close(file)


def look_up(effects: Path, key: str) -> Settlement:
    """Read whether the write took effect."""
    for line in effects.read_text().splitlines() if effects.exists() else []:
        if line.split(" by ")[0] == key:
            return Settlement(applied=Applied.YES, value=line)
    return Settlement(applied=Applied.NO, evidence="no such line")


def run(journal: Journal, effects: Path, key: str, slow_s: float, death: str) -> str:
    """Run one write to its value, whatever happened to it before."""
    operation = Operation(key=key, run="r", tool="append", arguments={"key": key})
    send = Send(tool="append", arguments={"key": key})
    while True:
        begun = journal.wait(operation, send, 60.0)
        match begun:
            case Fresh(claim=claim):
                value = f"{key} by {os.getpid()}"
                dies_at("begun", death)
                time.sleep(slow_s)
                append(effects, value)
                dies_at("sent", death)
                time.sleep(slow_s)
                journal.finish(claim, Ok(value=value))
                dies_at("finished", death)
                return value
            case Unsettled(claim=claim):
                journal.settle(claim, look_up(effects, key))
            case Replayed(value=value):
                return str(value)
            case _:
                raise SystemExit(f"{key}: {begun}")


def child(where: str, effects: Path, order: str) -> None:
    """Run the writes of one order and print their values."""
    keys, seconds, death = order.split()
    with open_journal(where) as journal:
        values = [run(journal, effects, key, float(seconds), death) for key in keys.split(",")]
    print(",".join(values), flush=True)


def main() -> None:
    """Fork a process for every line of input."""
    where, effects = sys.argv[1], Path(sys.argv[2])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children, so none stays as a zombie
    print("ready", flush=True)
    for order in sys.stdin:
        number = os.fork()
        if number == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                child(where, effects, order)
            except BaseException as error:
                print(f"failed: {error!r}", flush=True)
            os._exit(0)
        print(number, flush=True)


if __name__ == "__main__":
    main()
