import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from breakfall.bench import manifest
from breakfall.bench.matrix import expand
from breakfall.bench.run import run
from breakfall.errors import StoreError, UsageError
from breakfall.ledger.read import read_episodes, read_not_applicable
from breakfall.runtime.toolbox import Limits
from breakfall.vocab import Ending, FaultKind, Scenario


def ends(folder):
    return {end.episode: end for end, _ in read_episodes(folder)}


def test_every_episode_of_the_matrix_is_stored_once(tmp_path, spec, lines):
    """A run stores exactly the episodes that its spec expands to."""
    wanted = spec()
    result = run(wanted, tmp_path / "run")
    names = {key.id for unit in expand(wanted) for key in unit.episodes()}
    assert lines(tmp_path / "run").keys() == names
    assert result.episodes == result.ran == len(names) == 6 * 2 * 4 * 4
    assert manifest.read(tmp_path / "run").complete


def test_one_worker_and_two_give_the_same_bytes(tmp_path, spec, lines, segments):
    """The number of workers decides in which segment an episode stands, and nothing else."""
    wanted = spec(tasks="12")
    run(wanted, tmp_path / "one", jobs=1)
    run(wanted, tmp_path / "two", jobs=2)
    assert lines(tmp_path / "one") == lines(tmp_path / "two")
    assert segments(tmp_path / "one") == ["w0.jsonl"]
    assert segments(tmp_path / "two") == ["w0.jsonl", "w1.jsonl"]


def test_a_world_without_another_path_is_not_applicable_under_s2(tmp_path, spec):
    """What a scenario does not exist for is stored as such, with the reason, for each agent."""
    run(spec(worlds=("toys:Numbers",), scenarios=(Scenario.S2,), agents=("rules", "retry")), tmp_path)
    assert not list(read_not_applicable(tmp_path))
    blockaded = {tool for end in ends(tmp_path).values() for tool in end.blockaded}
    assert blockaded == {"ask", "look"}


def test_a_second_start_runs_only_what_is_missing(tmp_path, spec, lines):
    """After a torn segment the same spec runs the lost episodes alone and comes to the same lines."""
    wanted = spec()
    run(wanted, tmp_path / "run")
    whole = lines(tmp_path / "run")
    path = tmp_path / "run" / "segments" / "w0.jsonl"
    os.truncate(path, path.stat().st_size // 2)
    left = len(lines(tmp_path / "run"))
    assert 0 < left < len(whole)
    again = run(wanted, tmp_path / "run", jobs=2)
    assert again.ran == len(whole) - left
    assert lines(tmp_path / "run") == whole
    assert run(wanted, tmp_path / "run").ran == 0


def test_a_folder_with_another_run_is_refused(tmp_path, spec):
    """The message says in what the two differ and what to do; nothing is changed."""
    run(spec(agents=("retry",)), tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    with pytest.raises(
        UsageError, match=r"agents retry there, rules,retry here; seeds 2 there, 3 here\. Choose another --out"
    ):
        run(spec(agents=("rules", "retry"), seeds=3), tmp_path / "run")
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def test_other_code_is_another_run(tmp_path, spec):
    """A folder whose episodes came from other code is refused, so that no run mixes two."""
    run(spec(), tmp_path / "run")
    stored = manifest.read(tmp_path / "run")
    manifest.write(tmp_path / "run", msgspec.structs.replace(stored, code="0"))
    with pytest.raises(UsageError, match="holds another run: breakfall's or the agents' code"):
        run(spec(), tmp_path / "run")


def test_a_folder_is_named_after_what_the_run_is(tmp_path, spec, monkeypatch):
    """Without a folder the same spec finds its run again, and another spec gets its own."""
    monkeypatch.chdir(tmp_path)
    first = run(spec())
    assert first.folder.parent == tmp_path / "runs"
    assert run(spec()).ran == 0
    assert run(spec(seeds=1)).folder != first.folder


def test_two_runs_do_not_share_a_folder(tmp_path, spec):
    """While one run is in a folder another is refused."""
    seen = []

    def progress(done: int, total: int) -> None:
        if not seen:
            with pytest.raises(UsageError, match="another breakfall runs here") as refused:
                run(spec(), tmp_path / "run")
            seen.append(refused)

    run(spec(), tmp_path / "run", progress=progress)
    assert seen


def test_progress_ends_with_the_whole(tmp_path, spec):
    """Progress only grows, and a resumed run begins where it was."""
    told: list[tuple[int, int]] = []
    run(spec(), tmp_path / "run", jobs=2, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (192, 192)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_agent_that_raises_is_an_outcome(tmp_path, spec, jobs):
    """Its episodes are recorded with its error, and its siblings are whole."""
    run(spec(agents=("rules", "toys:Raises")), tmp_path / "run", jobs=jobs)
    by_agent = {"rules": set(), "toys:Raises": set()}
    for end in ends(tmp_path / "run").values():
        by_agent[end.key.agent].add((end.ending, end.error))
    assert by_agent["toys:Raises"] == {(Ending.AGENT_ERROR, "ZeroDivisionError: half an agent")}
    assert {ending for ending, _ in by_agent["rules"]} <= {Ending.ANSWERED, Ending.HANDED_OVER}


def test_an_agent_that_never_stops_calling_is_out_of_budget(tmp_path, spec):
    """The call budget ends it even if it catches every exception; the calls that it made are recorded."""
    run(
        spec(agents=("toys:CallsForever",), scenarios=(Scenario.CLEAN,), tasks="1", seeds=1, limits=Limits(calls=7)),
        tmp_path,
    )
    ((end, steps),) = read_episodes(tmp_path)
    assert (end.ending, len(steps)) == (Ending.OUT_OF_BUDGET, 7)
    assert end.error == "the agent did not stop within 7 calls"


def test_an_agent_that_never_awaits_is_broken_off(tmp_path, spec):
    """Code that computes for ever is ended by the wall clock, and the other agents have run."""
    limits = Limits(wall_s=0.1)
    run(spec(agents=("toys:Spins", "rules"), scenarios=(Scenario.CLEAN,), tasks="1", seeds=1, limits=limits), tmp_path)
    found = {end.key.agent: end for end in ends(tmp_path).values()}
    assert found["toys:Spins"].ending is Ending.OUT_OF_BUDGET
    assert "did not stop within" in found["toys:Spins"].error
    assert found["rules"].verdict.passed


@pytest.mark.parametrize(
    ("agent", "says"), [("toys:WrongTypes", "Expected `str`, got `int`"), ("toys:NoJson", "cannot be written as JSON")]
)
def test_an_answer_that_cannot_be_stored_is_the_agents_error(tmp_path, spec, agent, says):
    """What the ledger could not read back is recorded as an error instead, and the run stays readable."""
    run(spec(agents=(agent,), scenarios=(Scenario.CLEAN,), tasks="2", seeds=1), tmp_path)
    found = ends(tmp_path)
    assert len(found) == 2
    assert all(end.ending is Ending.AGENT_ERROR and says in end.error for end in found.values())


def test_a_tool_that_returns_nan_is_a_malformed_response(tmp_path, spec):
    """NaN never becomes a value: the plan cannot pass, and the episodes say so."""
    run(spec(worlds=("toys:NotANumber",), agents=("toys:Honest",), tasks="1", seeds=1), tmp_path)
    found = ends(tmp_path).values()
    assert {end.ending for end in found} == {Ending.WORLD_ERROR}
    assert all("the plan of task 'n0' does not pass without faults" in end.error for end in found)
    assert b"NaN" not in (tmp_path / "segments" / "w0.jsonl").read_bytes()


def test_a_tool_that_returns_5_mb_is_recorded_whole(tmp_path, spec):
    """A large answer is stored and read back uncut."""
    run(spec(worlds=("toys:Large",), agents=("rules",), scenarios=(Scenario.CLEAN,), tasks="1", seeds=1), tmp_path)
    ((end, (step,)),) = read_episodes(tmp_path)
    assert end.verdict.passed
    assert step.observed_outcome.value == {"number": 0, "attachment": "x" * 5_000_000}


def test_a_task_that_cannot_be_prepared_is_recorded_and_the_others_run(tmp_path, spec):
    """A plan that cannot pass or a room that does not open is a world error of that task alone."""
    run(spec(worlds=("toys:Crooked",), scenarios=(Scenario.CLEAN,), seeds=1, agents=("rules",)), tmp_path)
    found = {end.key.task: end for end in ends(tmp_path).values()}
    broken = {task for task, end in found.items() if end.ending is Ending.WORLD_ERROR}
    assert broken == {"n2", "n3"}
    assert "does not pass without faults" in found["n2"].error
    assert "OSError: no such room" in found["n3"].error
    assert all(found[task].verdict.passed for task in ("n0", "n1", "n4", "n5"))


def test_a_worker_that_keeps_dying_loses_only_its_agents_task(tmp_path, spec, lines):
    """An agent that kills its process twice is recorded as failed on that task, by name; all else is as without it."""
    wanted = spec(agents=("rules", "toys:DiesOnThree", "retry"))
    result = run(wanted, tmp_path / "run", jobs=2)
    found = ends(tmp_path / "run")
    lost = {name for name, end in found.items() if end.ending is Ending.AGENT_ERROR}
    assert lost == {
        end.episode for end in found.values() if end.key.agent == "toys:DiesOnThree" and end.key.task == "n3"
    }
    assert len(found) == result.episodes
    first = min(lost, key=lambda name: (found[name].key.scenario, found[name].key.seed))
    assert found[first].error == "the agent's process died twice: it was killed by SIGKILL"
    assert {found[name].error for name in lost - {first}} == {
        "not tried: the agent's process died twice in an earlier episode of this task"
    }
    run(spec(agents=("rules", "retry")), tmp_path / "without")
    survivors = {name: raw for name, raw in lines(tmp_path / "run").items() if "toys:" not in name}
    assert survivors == lines(tmp_path / "without")


def test_a_worker_that_dies_once_is_made_good(tmp_path, spec, lines, monkeypatch):
    """After one death the unit goes on in a fresh worker, and nothing shows that it happened."""
    monkeypatch.setenv("BREAKFALL_TEST_MARK", str(tmp_path / "mark"))
    wanted = spec(agents=("toys:DiesOnce", "rules"))
    run(wanted, tmp_path / "run", jobs=2)
    assert (tmp_path / "mark").exists()
    run(wanted, tmp_path / "calm")
    assert lines(tmp_path / "run") == lines(tmp_path / "calm")


_RUN = """
import sys
from pathlib import Path
from breakfall.bench.matrix import Spec
from breakfall.bench.run import run
if __name__ == "__main__":
    spec = Spec(worlds=("toys:Numbers",), tasks="6", seeds=2, agents=("toys:Slow", "rules"))
    run(spec, Path(sys.argv[1]), jobs=int(sys.argv[2]))
"""


def start(folder: Path, jobs: int, toys: Path) -> subprocess.Popen[str]:
    script = folder.parent / "start.py"
    script.write_text(_RUN)
    return subprocess.Popen(
        [sys.executable, script, folder, str(jobs)], env=with_toys(toys), stderr=subprocess.PIPE, text=True
    )


def with_toys(toys: Path) -> dict[str, str]:
    """The environment in which a subprocess can import the toys."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(toys), os.environ.get("PYTHONPATH", "")])}


def wait_for_episodes(folder: Path, count: int) -> None:
    for _ in range(1200):
        written = sum(path.read_bytes().count(b'{"line":"end"') for path in folder.glob("segments/*.jsonl"))
        if written >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{folder} never had {count} episodes")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_goes_on_to_the_same_lines(tmp_path, spec, lines, toys, jobs, number):
    """Killed, terminated or interrupted in the middle: the next start ends with what an unbroken run has."""
    wanted = spec(agents=("toys:Slow", "rules"))
    process = start(tmp_path / "run", jobs, toys)
    wait_for_episodes(tmp_path / "run", 20)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert number == signal.SIGKILL or "KeyboardInterrupt" in errors
    kept = lines(tmp_path / "run")
    assert len(kept) >= 20
    result = run(wanted, tmp_path / "run", jobs=jobs)
    assert 0 < result.ran < result.episodes
    run(wanted, tmp_path / "calm")
    assert lines(tmp_path / "run") == lines(tmp_path / "calm")


_LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
""" + _RUN.replace("import sys\n", "", 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_stops_the_run_and_keeps_what_it_has(tmp_path, spec, lines, toys, jobs):
    """The run ends with a store error that says what to do, every stored episode is whole, and a rerun completes."""
    script = tmp_path / "start.py"
    script.write_text(_LIMITED)
    ran = subprocess.run(
        [sys.executable, script, tmp_path / "run", str(jobs)],
        env=with_toys(toys),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "StoreError" in ran.stderr
    assert "Make room, then run the same command again" in ran.stderr
    kept = lines(tmp_path / "run")
    assert kept
    result = run(spec(agents=("toys:Slow", "rules")), tmp_path / "run")
    assert result.ran == result.episodes - len(kept)


def test_a_script_without_a_guard_is_told_so(tmp_path, toys):
    """Workers that cannot start stop the run with the reason, and blame no agent."""
    script = tmp_path / "start.py"
    script.write_text(_RUN.replace('if __name__ == "__main__":', "if True:"))
    ran = subprocess.run(
        [sys.executable, script, tmp_path / "run", "2"],
        env=with_toys(toys),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "__main__" in ran.stderr
    assert not (tmp_path / "run" / "segments").exists() or not lines_in(tmp_path / "run")


def lines_in(folder: Path) -> list[object]:
    return list(read_episodes(folder))


def test_a_folder_that_cannot_be_used_is_a_store_error(tmp_path, spec):
    """A run folder that is a file is refused in words."""
    (tmp_path / "run").touch()
    with pytest.raises(StoreError, match="cannot be used as a run folder"):
        run(spec(), tmp_path / "run")


def test_the_faults_of_a_run_are_those_of_its_profile(tmp_path, spec):
    """Noise strikes S1 and never CLEAN."""
    run(spec(agents=("rules",), tasks="20", scenarios=(Scenario.CLEAN, Scenario.S1)), tmp_path)
    kinds: dict[str, set[FaultKind]] = {"CLEAN": set(), "S1": set()}
    for end, steps in read_episodes(tmp_path):
        kinds[end.key.scenario] |= {step.injection.kind for step in steps if step.injection}
    assert kinds["CLEAN"] == set()
    assert len(kinds["S1"]) > 3
