"""Real processes: killed anywhere, or after the same write at the same moment."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from breakfall.runtime.journal import InFlightElsewhere, Operation, Send, State, Unsettled, open_journal
from breakfall.seeds import stream

KILLS = 50
ROUNDS = 150
OPEN = (State.IN_FLIGHT, State.UNKNOWN, State.NEEDS_PERSON)


def gone(number: int) -> None:
    """Wait until a process has ended."""
    while True:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        time.sleep(0.001)


@pytest.mark.parametrize(
    ("death", "state", "effects"),
    [("begun", State.IN_FLIGHT, 0), ("sent", State.IN_FLIGHT, 1), ("finished", State.SUCCEEDED, 1)],
)
def test_a_kill_at_each_step_leaves_what_the_next_start_needs(where, nursery, death, state, effects):
    """Killed before the send, after it, or after the outcome was stored: the next process ends with one effect."""
    first = nursery()
    first.order(["k"], death=death)
    gone(int(first.line()))
    assert first.happened() == ["k"] * effects
    with open_journal(where) as journal:
        assert journal.get("k").state is state
    first.order(["k"])
    number, value = first.line(), first.line()
    assert (value == f"k by {number}") is (effects == 0)
    assert first.happened() == ["k"]


def test_kills_at_random_points_never_repeat_a_write(where, nursery):
    """Fifty processes are killed wherever they happen to be; at the end each write stands there exactly once."""
    draws = stream(7, "kills")
    nursed = nursery()
    keys = [f"k{n}" for n in range(KILLS + 3)]
    for n in range(KILLS):
        nursed.order(keys[n : n + 4], 0.001)
        number = int(nursed.line())
        time.sleep(draws.between(0.0, 0.016))
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
        gone(number)
    nursed.order(keys, 0.0)
    last = nursed.line()
    while last.count(",") < len(keys) - 1:  # numbers, and values of processes that were not killed
        last = nursed.line()
    assert [value.split(" by ")[0] for value in last.split(",")] == keys
    assert sorted(nursed.happened()) == sorted(keys)
    with open_journal(where) as journal:
        assert journal.entries(OPEN) == []


def test_two_processes_with_the_same_writes_run_each_once(nursery):
    """Both go through the same keys at the same time; each key runs once, and both get the same values."""
    one, other = nursery(), nursery()
    keys = [f"k{n}" for n in range(ROUNDS)]
    one.order(keys)
    other.order(keys)
    one.line(), other.line()
    mine, theirs = one.line(), other.line()
    assert mine == theirs
    assert [value.split(" by ")[0] for value in mine.split(",")] == keys
    assert sorted(one.happened()) == sorted(keys)


_FORKED = """
import os, sys, time
from breakfall.errors import UsageError
from breakfall.runtime.journal import Operation, Send, open_journal
journal = open_journal(sys.argv[1])
journal.begin(Operation(key="k", run="r", tool="t", arguments={}), Send(tool="t", arguments={}))
if os.fork() == 0:
    try:
        journal.get("k")
    except UsageError as error:
        print(error, flush=True)
    sys.stdin.readline()
    os._exit(0)
sys.stdin.readline()
"""


def test_a_forked_child_neither_uses_its_parents_journal_nor_keeps_it_alive(where):
    """In the child the journal is refused; when the parent is killed its writes are free although the child lives."""
    command = [sys.executable, "-c", _FORKED, where]
    operation, send = Operation(key="k", run="r", tool="t", arguments={}), Send(tool="t", arguments={})
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert "is used in its forked child" in parent.stdout.readline()
        with open_journal(where) as journal:
            assert isinstance(journal.begin(operation, send), InFlightElsewhere)
            parent.kill()
            parent.wait()
            assert isinstance(journal.wait(operation, send, 30.0), Unsettled)
        parent.stdin.close()
