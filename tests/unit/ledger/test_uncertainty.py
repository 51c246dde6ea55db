"""What counts as the model's word on its own certainty."""

import pytest

from breakfall.ledger.uncertainty import PROMPT, parse
from breakfall.vocab import Uncertainty


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("Refunded.\nUNCERTAINTY: none", Uncertainty.NONE),
        ("환불했습니다.\nUNCERTAINTY:low", Uncertainty.LOW),
        ("```\nuncertainty : HIGH\n```\nDone.", Uncertainty.HIGH),
        ('{\n  "uncertainty": "low",\n}', Uncertainty.LOW),
        ("UNCERTAINTY: high\n...\nUNCERTAINTY: none", Uncertainty.NONE),
        ("UNCERTAINTY: none\r\nUNCERTAINTY: high\r\n", Uncertainty.HIGH),
        ("UNCERTAINTY: high\nUNCERTAINTY: <none|low|high>", Uncertainty.HIGH),
        ("UNCERTAINTY: none\nUNCERTAINTY: medium", Uncertainty.MISSING),
        ("UNCERTAINTY: low|high", Uncertainty.MISSING),
        ("UNCERTAINTY: low to high", Uncertainty.MISSING),
        ("UNCERTAINTY: lowest", Uncertainty.MISSING),
        ("UNCERTAINTY: nonetheless small", Uncertainty.MISSING),
        ("UNCERTAINTY:", Uncertainty.MISSING),
        ("There is some uncertainty: high seas.", Uncertainty.MISSING),
        ("Done.", Uncertainty.MISSING),
        ("", Uncertainty.MISSING),
    ],
)
def test_reading(text, signal):
    """Only a line of its own that gives one of the three levels is a signal; the last line counts, whatever it says."""
    assert parse(text) is signal


def test_both_prompts_ask_for_the_line_that_is_read():
    """Each language shows the form of the line and explains each level."""
    for prompt in (PROMPT.en, PROMPT.ko):
        assert "\nUNCERTAINTY: none|low|high\n" in prompt
        for level in ("none:", "low:", "high:"):
            assert level in prompt
