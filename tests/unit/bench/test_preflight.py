from pathlib import Path

import pytest

from breakfall.bench import preflight
from breakfall.bench.gate import Baseline, Gate, Require
from breakfall.bench.matrix import Spec
from breakfall.errors import UsageError
from breakfall.faults.profile import PROFILES, load
from breakfall.vocab import Scenario

GATE = Path("gate.toml")
SPEC = Spec(agents=("rules", "retry"), scenarios=(Scenario.CLEAN, Scenario.S1))


def test_a_profile_speaks_of_tools_that_there_are():
    """A vector for a tool that no world of the run has would never strike; mirrors count although they may be away."""
    preflight.check_profile(PROFILES["paper"], SPEC)
    preflight.check_profile(load("[tools.get_stock]\n[tools.search_orders]", "p.toml"), SPEC)
    with pytest.raises(UsageError) as refused:
        preflight.check_profile(load("[tools.get_stok]\ntimeout = 0.5", "p.toml"), Spec(profile="p.toml"))
    assert str(refused.value) == (
        "no tool 'get_stok'; did you mean 'get_stock'? (p.toml: tools.get_stok; the run's worlds have no such tool)"
    )


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"agent": "rulez"}, r"gate.toml: require\[0\]\.agent: no agent 'rulez'; did you mean 'rules'\?"),
        ({"scenario": "S3"}, r"gate.toml: require\[0\]\.scenario: no scenario 'S3'; .*\(of this run\)"),
        ({"world": "stroe"}, r"gate.toml: require\[0\]\.world: no world 'stroe'; did you mean 'store'\?"),
        ({"condition": "x*"}, r"gate.toml: require\[0\]\.condition: no condition 'x\*'; known: "),
        ({"metric": "correct_stop"}, r"require\[0\]\.metric: correct_stop exists under S3 alone, which this run"),
    ],
)
def test_a_gate_speaks_of_cells_that_there_will_be(rule, says):
    """A rule that fits nothing is refused before the run, by the field that is wrong."""
    with pytest.raises(UsageError, match=says):
        preflight.check_gate(Gate(require=[Require(**{"metric": "pass_rate", "min": 0.5, **rule})]), SPEC, GATE)


def test_a_gate_that_fits_passes():
    """Patterns and names of the run are let through."""
    rules = [Require(metric="pass_rate", min=0.5, agent="r*"), Require(metric="pass_rate", min=0.5, scenario="S1")]
    preflight.check_gate(Gate(require=rules), SPEC, GATE)


def test_a_baseline_is_there_before_the_run(tmp_path):
    """Its report is read, and its agent is one of the run."""
    gate = Gate(baseline=Baseline(report="old.json", worse={"pass_rate": 0.1}))
    with pytest.raises(UsageError, match=r"old\.json: cannot be read"):
        preflight.check_gate(gate, SPEC, tmp_path / "gate.toml")
    gate = Gate(baseline=Baseline(report="old.json", worse={"pass_rate": 0.1}, agent="rulez"))
    with pytest.raises(UsageError, match=r"baseline\.agent: no agent 'rulez'"):
        preflight.check_gate(gate, SPEC, tmp_path / "gate.toml")
