import sys

import pytest

from breakfall import catalog
from breakfall.bench.matrix import Spec, expand
from breakfall.errors import UsageError
from breakfall.recovery.policy import GIVE_UP

OWN = """
class Agent:
    async def run(self, task, toolbox): ...
def make(): return Agent()
one = Agent()
class NoRun: pass
class Broken:
    def __init__(self): raise KeyError("no key")
number = 7
class World:
    name, conditions, splits = "own", ("native",), ("all",)
    def tasks(self, split, limit): raise OSError("no tasks today")
    def tools(self, condition): return {}
    def open(self, task, condition, clock): ...
    def data_hash(self): return "1"
class Half:
    name = "half"
    def tasks(self, split, limit): return []
class Touchy(World):
    @property
    def name(self): raise LookupError("no name")
world = World()
"""


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "own_agents.py").write_text(OWN)
    (tmp_path / "own_broken.py").write_text("import json\njson.loads('{')")
    (tmp_path / "own_exit.py").write_text("import sys\nsys.exit(0)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    catalog.agent.cache_clear()
    catalog.world.cache_clear()
    yield
    for name in ("own_agents", "own_broken", "own_exit"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["Agent", "make", "one"])
def test_an_agent_of_ones_own_is_a_class_a_factory_or_an_object(name):
    """Whatever stands at the name in the current directory, it becomes an agent without recovery of ours."""
    spec = catalog.agent(f"own_agents:{name}")
    assert hasattr(spec.make(), "run")
    assert (spec.policy, spec.built_in, spec.told_scenario) == (GIVE_UP, False, False)
    assert spec.name == f"own_agents:{name}"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("own_agents:NoRun", "agent 'own_agents:NoRun' has no `run`; it must have `async def run"),
        ("own_agents:Broken", "agent 'own_agents:Broken': cannot be made: KeyError: 'no key'"),
        ("own_agents:number", "agent 'own_agents:number' is a int, must be an object with `run`"),
        ("own_agents:Missing", "module own_agents has no 'Missing'"),
        ("own_broken:Agent", "cannot import own_broken: JSONDecodeError: Expecting property name"),
        ("own_exit:Agent", "cannot import own_exit: SystemExit: 0"),
        ("not_there:Agent", "cannot import not_there: ModuleNotFoundError"),
        ("own_agents:", "'own_agents:' is not of the form package.module:object"),
        ("oracl", r"no agent 'oracl'; did you mean 'oracle'\?"),
    ],
)
def test_an_agent_that_cannot_be_loaded_says_why(name, says):
    """A plugin's own error is shown when it is asked for, with its name."""
    with pytest.raises(UsageError, match=says):
        catalog.agent(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "json:JSONDecoder",
            "world 'json:JSONDecoder' is a JSONDecoder without name, conditions, splits, tasks, tools, ",
        ),
        ("os:getcwd", "world 'os:getcwd' is a str without name, conditions, splits, tasks, tools, open, data_hash; a "),
        ("os:sep", "world 'os:sep' is a str without name, "),
        (
            "own_agents:Half",
            "'own_agents:Half' is a Half without conditions, splits, tools, open, data_hash; a world has ",
        ),
        ("own_agents:Touchy", "world 'own_agents:Touchy': cannot be asked for its parts: LookupError: no name"),
        ("own_exit:World", "world 'own_exit:World': cannot import own_exit: SystemExit: 0"),
    ],
)
def test_a_world_that_is_none_says_what_it_lacks(name, says):
    """What was named is told, what is missing, and what a world has."""
    with pytest.raises(UsageError, match=says):
        catalog.world(name)


def test_a_world_is_a_class_or_an_object():
    """An object is taken as it is, so that a world may be made with arguments."""
    assert catalog.world("own_agents:world").name == catalog.world("own_agents:World").name == "own"


def test_a_world_that_raises_when_asked_is_a_usage_error():
    """The bench says which question it did not answer, before anything runs."""
    with pytest.raises(UsageError, match=r"world 'own': tasks\('all', 3\) failed: OSError: no tasks today"):
        expand(Spec(worlds=("own_agents:World",), tasks="3"))


def test_built_in_agents_have_the_names_that_they_are_known_by():
    """Looking an agent up and reading its name are inverse."""
    assert [catalog.agent(name).name for name in catalog.AGENTS] == ["give-up", "retry", "rules", "oracle"]


@pytest.mark.parametrize("name", list(catalog.WORLDS))
def test_built_in_worlds_have_the_names_that_they_are_known_by(name):
    """Looking a world up and reading its name are inverse."""
    assert catalog.world(name).name == name


def test_profiles_are_built_in_or_files(tmp_path):
    """A TOML file is a profile of its own; a missing or unknown one is refused."""
    (tmp_path / "mine.toml").write_text('base = "light"\nkinds.timeout = 0.5')
    assert catalog.profile("mine.toml").kinds["timeout"] == 0.5
    with pytest.raises(UsageError, match=r"other\.toml: cannot read the profile: .*No such file"):
        catalog.profile("other.toml")
    with pytest.raises(UsageError, match=r"no profile 'papr'; did you mean 'paper'\?"):
        catalog.profile("papr")
    (tmp_path / "mine.toml").write_text("kinds.timeout = 1.4")
    with pytest.raises(UsageError, match=r"mine\.toml: kinds\.timeout is 1\.4, must be between 0 and 1"):
        catalog.profile("mine.toml")
