import pytest

from breakfall.bench import setting
from breakfall.bench.matrix import Spec
from breakfall.errors import UsageError
from breakfall.runtime.toolbox import Limits


def test_settings_become_fields_of_a_spec_and_back():
    """What `read` makes of a command line, `written` turns into the same command line."""
    words = ["condition=native,alternatives", "memory=my memory.json", "limits.calls=7", "limits.wall_s=0.5"]
    fields = setting.read(words)
    assert fields == {
        "conditions": ("native", "alternatives"),
        "memory": "my memory.json",
        "limits": Limits(calls=7, wall_s=0.5),
    }
    spec = Spec(**fields)
    assert setting.written(spec.conditions, spec.memory, spec.limits)[1::2] == words
    assert Spec(**setting.read([])) == Spec()
    assert "--set" not in Spec().command


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        ("limits.wall=5", "no setting 'limits.wall'; did you mean 'limits.wall_s'?"),
        ("limits.wall_s=soon", "--set limits.wall_s is 'soon': Expected `float`, got `str`"),
        ("limits.wall_s=0", "--set limits.wall_s is '0': Expected `float` > 0.0"),
        ("limits.wall_s=nan", "--set limits.wall_s is 'nan': Expected `float` > 0.0"),
        ("limits.seconds=inf", "--set limits.seconds is 'inf': Expected `float` <= 1000000000.0"),
        ("limits.calls=1.5", "--set limits.calls is '1.5': Expected `int`, got `str`"),
        ("limits.calls=0", "--set limits.calls is '0': Expected `int` >= 1"),
        ("limits.calls", "--set limits.calls is '': Expected `int`, got `str`"),
        ("memory=", "--set memory is '': Expected `str` of length >= 1"),
    ],
)
def test_a_wrong_setting_is_refused(pair, says):
    """Unknown keys and values of another kind are refused with what would be right."""
    with pytest.raises(UsageError) as refused:
        setting.read([pair])
    assert str(refused.value).startswith(says)


def test_a_setting_is_given_once():
    """Two values for one key are refused, as one of them would be lost."""
    with pytest.raises(UsageError, match=r"--set limits\.calls is given twice; once is enough"):
        setting.read(["limits.calls=1", "limits.calls=2"])
