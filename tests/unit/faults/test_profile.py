from __future__ import annotations

import msgspec
import pytest

from breakfall.errors import UsageError
from breakfall.faults.profile import PROFILES, Burst, Profile, load
from breakfall.vocab import FaultKind


def test_paper_rates():
    """The paper's profile leaves 0.60 clean, exactly, and gives each of the nine between 0.03 and 0.06."""
    paper = PROFILES["paper"]
    assert paper.clean("any_tool") == 0.60
    assert set(paper.kinds) == set(FaultKind)
    assert all(0.03 <= rate <= 0.06 for rate in paper.kinds.values())


def test_built_in_profiles():
    """The built-ins are those that the design names, with its caps, and only `clean` can never fault."""
    assert list(PROFILES) == ["clean", "light", "paper", "sticky", "storm"]
    assert PROFILES["light"].clean("t") == pytest.approx(0.95)
    assert PROFILES["sticky"].sticky
    assert PROFILES["storm"].burst is not None
    assert {(profile.max_total, profile.max_in_row) for profile in PROFILES.values()} == {(5, 2)}
    assert [name for name, profile in PROFILES.items() if profile.quiet] == ["clean"]


@pytest.mark.parametrize("name", list(PROFILES))
def test_round_trip(name):
    """A manifest stores a profile whole: JSON gives back an equal one."""
    assert msgspec.json.decode(msgspec.json.encode(PROFILES[name]), type=Profile) == PROFILES[name]


def test_toml_stands_alone():
    """Without a base only what the file names can strike, and the profile is called after its file."""
    profile = load("max_total = 3\n[kinds]\ntimeout = 0.25\n[tools.pay]\nauth_error = 1", "mine.toml")
    assert profile == Profile(
        name="mine",
        kinds={FaultKind.TIMEOUT: 0.25},
        tools={"pay": {FaultKind.AUTH_ERROR: 1.0}},
        max_total=3,
    )


def test_toml_base():
    """A file with a base overrides kind by kind and tool by tool, and keeps the rest."""
    text = 'base = "paper"\nname = "calm"\nmax_in_row = 1\nsticky = true\n[kinds]\ntimeout = 0\n[tools.pay]\n'
    profile = load(text, "calm.toml")
    assert profile.name == "calm"
    assert profile.kinds == {**PROFILES["paper"].kinds, FaultKind.TIMEOUT: 0.0}
    assert profile.clean("pay") == 1.0
    assert (profile.max_total, profile.max_in_row, profile.sticky) == (5, 1, True)


def test_toml_burst():
    """A burst is overridden field by field, made from the defaults, or taken away."""
    given = load('base = "storm"\n[burst]\nrate = 1\nkinds = ["timeout"]', "s.toml").burst
    assert given == Burst(rate=1.0, kinds=(FaultKind.TIMEOUT,))
    assert load("[burst]\nwindow = 2", "s.toml").burst == Burst(window=2)
    assert load('base = "storm"\nburst = false', "s.toml").burst is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tools.get_order]\ntimeout = 1.4", "plan.toml: tools.get_order.timeout is 1.4, must be between 0 and 1"),
        ("[kinds]\ntimeout = -0.1", "plan.toml: kinds.timeout is -0.1, must be between 0 and 1"),
        ("[kinds]\ntimeout = nan", "plan.toml: kinds.timeout is nan, must be a number between 0 and 1"),
        ("[kinds]\ntimeout = inf", "plan.toml: kinds.timeout is inf, must be a number between 0 and 1"),
        ("[kinds]\ntimeout = true", "plan.toml: kinds.timeout is True, must be a number between 0 and 1"),
        ("[kinds]\ntimeout = 'often'", "plan.toml: kinds.timeout is 'often', must be a number between 0 and 1"),
        ("kinds = 0.4", "plan.toml: kinds is 0.4, must be a table of fault kinds and probabilities"),
        ("[tools.pay]\ntimout = 0.1", "plan.toml: tools.pay.timout is no fault kind; did you mean 'timeout'?"),
        (
            "[kinds]\ntimeout = 0.7\nrate_limit = 0.5",
            "plan.toml: kinds sums to 1.2, must be at most 1 (what is left to 1 is clean)",
        ),
        ("max_totl = 3", "plan.toml: max_totl is no field of a profile; did you mean 'max_total'?"),
        ("max_total = -1", "plan.toml: max_total is -1, must be at least 0"),
        ("max_in_row = 1.5", "plan.toml: max_in_row is 1.5, must be a whole number"),
        ("sticky = 1", "plan.toml: sticky is 1, must be true or false"),
        ("name = ''", "plan.toml: name is empty, must say how reports call the profile"),
        (
            "base = 'papr'",
            "plan.toml: base is 'papr', must be one of clean, light, paper, sticky, storm; did you mean 'paper'?",
        ),
        ("[burst]\nwindow = 0", "plan.toml: burst.window is 0, must be at least 1"),
        ("[burst]\nchance = 2", "plan.toml: burst.chance is 2, must be between 0 and 1"),
        ("[burst]\nwidth = 2", "plan.toml: burst.width is no field of a burst; known: window, chance, rate, kinds"),
        ("[burst]\nkinds = []", "plan.toml: burst.kinds is empty, must name at least one fault kind"),
        ("[burst]\nkinds = ['timout']", "plan.toml: burst.kinds: timout is no fault kind; did you mean 'timeout'?"),
        ("burst = true", "plan.toml: burst is True, must be a table, or false"),
    ],
)
def test_toml_refused(text, message):
    """A wrong file is refused with the field's path, what was read, and what would be right."""
    with pytest.raises(UsageError) as caught:
        load(text, "plan.toml")
    assert str(caught.value) == message


def test_broken_toml():
    """What is no TOML is refused with the place where reading failed."""
    with pytest.raises(UsageError, match=r"^plan\.toml: not TOML: .*line 1"):
        load("kinds = often", "plan.toml")


def test_profile_built_in_code():
    """A profile built in code keeps the same rules as one read from a file."""
    with pytest.raises(ValueError, match=r"tools\.pay\.timeout is 1\.4"):
        Profile(name="x", tools={"pay": {FaultKind.TIMEOUT: 1.4}})
    with pytest.raises(ValueError, match=r"kinds\.timeout is nan"):
        Profile(name="x", kinds={FaultKind.TIMEOUT: float("nan")})
