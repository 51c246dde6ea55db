import msgspec
import pytest

from breakfall.bench import manifest
from breakfall.bench.repro import repro, task_of
from breakfall.bench.run import run
from breakfall.errors import UsageError
from breakfall.ledger.line import encode_episode
from breakfall.ledger.read import read_episodes
from breakfall.vocab import Scenario


@pytest.fixture
def folder(tmp_path, spec):
    run(
        spec(tasks="2", seeds=1, agents=("rules", "toys:Honest"), scenarios=(Scenario.S1, Scenario.S2)),
        tmp_path / "run",
    )
    return tmp_path / "run"


def test_every_stored_episode_can_be_repeated(folder):
    """Each episode of a run comes out the same to the byte when it runs alone."""
    names = [end.episode for end, _ in read_episodes(folder)]
    assert len(names) == 2 * 2 * 2
    assert all(repro(folder, name).same for name in names)


def test_the_first_difference_is_shown(folder):
    """A stored episode that was tampered with is found out, with the place and both values."""
    path = folder / "segments" / "w0.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"value":{"number":1}', b'"value":{"number":2}'))
    changed = [end.episode for end, _ in read_episodes(folder) if end.key.task == "n1"]
    found = [repro(folder, name) for name in changed]
    differences = {result.difference for result in found if not result.same}
    assert differences
    assert all("/observed_outcome/value/number was 2, is now 1" in difference for difference in differences)


def test_changed_code_is_noted(folder):
    """When something that decides episodes has changed since the run, the result says so."""
    stored = manifest.read(folder)
    manifest.write(folder, msgspec.structs.replace(stored, code="0"))
    result = repro(folder, "S1/n0/0/rules")
    assert result.same
    assert result.notes == ("breakfall's or the agents' code",)


def test_an_unknown_episode_is_refused(folder):
    """The error names what was asked for."""
    with pytest.raises(UsageError, match="no episode 'S9' in this run"):
        repro(folder, "S9")


def test_the_task_of_an_episode_is_found_where_its_world_is(folder):
    """A replay can show what was asked; without the world it goes without."""
    end, _ = next(iter(read_episodes(folder)))
    task = task_of(folder, end.key)
    assert task is not None
    assert task.instruction.en == "Which number is it?"
    assert task_of(folder, msgspec.structs.replace(end.key, seed=99)) is None


def test_the_store_world_repeats_with_one_worker_and_with_two(tmp_path, spec, lines):
    """The embedded world's episodes do not depend on the process that runs them, all agents and scenarios included."""
    wanted = spec(worlds=("store",), tasks="8", seeds=1)
    run(wanted, tmp_path / "one")
    run(wanted, tmp_path / "two", jobs=2)
    one = lines(tmp_path / "one")
    assert one == lines(tmp_path / "two")
    end, steps = next((end, steps) for end, steps in read_episodes(tmp_path / "one") if end.key.agent == "rules")
    assert one[end.episode] == encode_episode(steps, end)
    assert repro(tmp_path / "two", end.episode).same
