"""Agents that end, hang, move or fill their process: what they do is recorded, and their siblings go on."""

import os
import subprocess
import sys

import pytest

from breakfall.bench.repro import repro
from breakfall.bench.run import run
from breakfall.ledger.read import read_episodes
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import Ending, Scenario

ONE = {"scenarios": (Scenario.CLEAN,), "seeds": 1}


def ends(folder):
    return {(end.key.agent, end.key.task): end for end, _ in read_episodes(folder)}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("Exits", "SystemExit: 0"),
        ("RaisesBase", "BaseException: base"),
        ("RaisesGeneratorExit", "GeneratorExit"),
        ("RaisesCancelled", "CancelledError"),
        ("CancelsItself", "CancelledError"),
        ("Interrupts", "KeyboardInterrupt"),
        ("OsExits", "the agent's process died twice: it ended with exit code 0"),
        ("Segfaults", "the agent's process died twice: it was killed by SIGSEGV"),
        ("ExitsLater", "the agent's process died twice: it ended the event loop: SystemExit: 0"),
        ("CancelsAll", "the agent's process died twice: it ended the event loop: CancelledError: "),
        ("StopsLoop", "the agent's process died twice: it ended the event loop: RuntimeError: "),
    ],
)
def test_an_agent_that_ends_its_process_is_its_own_error(tmp_path, spec, agent, says, jobs):
    """However it goes about it, with however few processes and units: the rest of the run is as it should be."""
    name = f"rude:{agent}"
    result = run(spec(agents=(name, "rules"), tasks="2", **ONE), tmp_path, jobs=jobs)
    found = ends(tmp_path)
    assert len(found) == result.ran == 4
    assert found[name, "n1"].ending is Ending.AGENT_ERROR
    assert found[name, "n1"].error.startswith(says)
    assert all(end.verdict.passed for place, end in found.items() if place != (name, "n1"))


def test_repeating_an_episode_that_kills_its_process_says_so(tmp_path, spec):
    """`repro` neither dies with it nor calls it the same."""
    run(spec(agents=("rude:OsExits",), tasks="2", **ONE), tmp_path)
    result = repro(tmp_path, "CLEAN/n1/")
    assert not result.same
    assert result.difference == (
        "this time there is no episode to compare: the agent's process died twice: it ended with exit code 0"
    )
    assert repro(tmp_path, "CLEAN/n0/").same


def test_what_an_agent_is_handed_is_its_own(tmp_path, spec, lines):
    """Whatever it does to its task and its tools, the episodes of the others are the same bytes as without it."""
    run(spec(agents=("rude:Meddles", "rules")), tmp_path / "with")
    run(spec(agents=("rules",)), tmp_path / "without")
    assert {n: raw for n, raw in lines(tmp_path / "with").items() if n.endswith("/rules")} == lines(
        tmp_path / "without"
    )
    assert all(end.verdict.passed for end in ends(tmp_path / "with").values() if end.key.scenario is Scenario.CLEAN)


def test_an_agent_that_moves_moves_only_itself(tmp_path, spec, monkeypatch):
    """The run stays where it was begun, although its folder was named by a relative path."""
    monkeypatch.chdir(tmp_path)
    result = run(spec(agents=("rude:Moves", "rules"), tasks="2", **ONE), tmp_path.relative_to(tmp_path) / "run")
    assert result.folder == tmp_path / "run"
    assert len(ends(tmp_path / "run")) == 4


def test_a_thread_that_is_left_behind_does_not_hold_the_run(tmp_path, spec):
    """The run ends although a thread in its worker never does."""
    run(spec(agents=("rude:LeavesThread",), tasks="2", **ONE), tmp_path)
    assert all(end.verdict.passed for end in ends(tmp_path).values())


@pytest.mark.parametrize(
    ("agent", "says"), [("Sleeps", "within 0.1 s"), ("SleepsDeeply", "within 0.1 s; it was killed")]
)
def test_an_agent_that_is_always_late_is_not_waited_for_again(tmp_path, spec, agent, says):
    """After three time-outs in a row its other episodes of the task are recorded as out of budget, untried."""
    name = f"rude:{agent}"
    wanted = spec(agents=(name, "rules"), tasks="1", seeds=5, scenarios=(Scenario.CLEAN,), limits=Limits(wall_s=0.1))
    run(wanted, tmp_path)
    found = sorted((end for end, _ in read_episodes(tmp_path)), key=lambda end: end.key.seed)
    mine = [end for end in found if end.key.agent == name]
    assert {end.ending for end in mine} == {Ending.OUT_OF_BUDGET}
    assert [end.error for end in mine[:3]] == [f"the agent did not stop {says}"] * 3
    assert [end.error for end in mine[3:]] == [
        "not tried: the agent did not stop within 0.1 s, 3 times in a row in this task"
    ] * 2
    assert all(end.verdict.passed for end in found if end.key.agent == "rules")


def test_what_foreign_code_says_stays_off_standard_output(tmp_path, toys):
    """Python, the system and other processes: all of it goes to standard error, and no traceback of a task anywhere."""
    program = """
from pathlib import Path
from breakfall.bench.matrix import Spec
from breakfall.bench.run import run
if __name__ == "__main__":
    spec = Spec(worlds=("toys:Numbers",), tasks="2", seeds=1, agents=("rude:Talks", "rude:LeavesTask"))
    run(spec, Path("run"))
    print("ours")
"""
    (tmp_path / "start.py").write_text(program)
    ran = subprocess.run(
        [sys.executable, "start.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(toys)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "ours\n"
    assert {"said by Python", "said by the system", "said by a process"} == set(ran.stderr.splitlines())
