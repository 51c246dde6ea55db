import io

import pytest
from rich.console import Console

from breakfall.cli.replay import replay
from breakfall.vocab import (
    Answer,
    Applied,
    AppliedEffect,
    Corruption,
    Cost,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    Fact,
    Failed,
    FaultKind,
    FaultSource,
    Handoff,
    Injection,
    Ok,
    Response,
    Scenario,
    Step,
    Uncertainty,
    Verdict,
    Verification,
    VerificationStatus,
)

KEY = EpisodeKey(world="store", condition="native", agent="rules", scenario=Scenario.S2, task="t1", seed=0)


def step(n=0, **fields):
    fixed = {
        "episode": KEY.id,
        "n": n,
        "call": "c1",
        "tool": "get_order",
        "arguments": {"order_id": "O1"},
        "at_s": 1.25,
        "expected_outcome": "the order",
        "observed_outcome": Ok(value={"status": "paid"}),
        "verification": Verification(status=VerificationStatus.NOT_DONE),
        "uncertainty_signal": Uncertainty.MISSING,
    }
    return Step(**{**fixed, **fields})


def shown(*steps, **fields):
    fixed = {
        "episode": KEY.id,
        "key": KEY,
        "steps": len(steps),
        "ending": Ending.ANSWERED,
        "answer": Answer(text="It is paid.", facts={"status": "paid"}),
        "verdict": Verdict(passed=True, state_ok=True, answer_ok=True),
        "cost": Cost(tool_calls=1, seconds=1.45),
    }
    console = Console(file=io.StringIO(), width=40)
    replay(steps, EpisodeEnd(**{**fixed, **fields}), console, task=None)
    return console.file.getvalue().splitlines()


def test_a_quiet_episode_shows_calls_answer_and_verdict():
    """Without a fault a step is its call and what came back; nothing is wrapped, whatever the width."""
    assert shown(step()) == [
        "store/native/S2/t1/0/rules",
        "",
        '  0      1.2 s  c1  get_order {"order_id":"O1"}',
        '     saw     ok {"status":"paid"}',
        "",
        "ending:  answered",
        "answer:  It is paid.",
        'facts:   {"status":"paid"}',
        "verdict: passed",
        "cost:    1 tool call, 0 model calls, 1.45 s, $0",
    ]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        (
            {
                "observed_outcome": Failed(message="no answer", exception="TimeoutError", applied=Applied.UNKNOWN),
                "injection": Injection(
                    kind=FaultKind.TIMEOUT,
                    source=FaultSource.NOISE,
                    nth=2,
                    executed=True,
                    true_value={"cancelled": True},
                ),
                "effects": (AppliedEffect(name="order.cancelled", target="order:O1", details={"by": "agent"}),),
            },
            [
                "     fault   timeout (noise), call 2 of this tool; the tool ran",
                '     fault   true answer: {"cancelled":true}',
                "     saw     unclassified: no answer, applied: unknown",
                '     did     order.cancelled order:O1 {"by":"agent"}',
            ],
        ),
        (
            {
                "injection": Injection(
                    kind=FaultKind.PARTIAL_DATA,
                    source=FaultSource.NOISE,
                    nth=0,
                    executed=True,
                    true_value={"status": "open", "total": "9.00"},
                    corruptions=(
                        Corruption(pointer="/status", true="open", shown="paid"),
                        Corruption(pointer="/total", true="9.00", shown=None, removed=True),
                    ),
                ),
            },
            [
                "     fault   partial_data (noise), call 0 of this tool; the tool ran",
                '     fault   /status: "open" was shown as "paid"',
                '     fault   /total: "9.00" was removed',
                '     saw     ok {"status":"paid"}',
            ],
        ),
        (
            {
                "injection": Injection(
                    kind=FaultKind.AUTH_ERROR, source=FaultSource.NOISE, nth=3, executed=True, suppressed=True
                )
            },
            ["     fault   auth_error was drawn and held back by a cap", '     saw     ok {"status":"paid"}'],
        ),
        (
            {
                "strategy": Response.SWITCH,
                "path_of": "find_order",
                "attempt": 2,
                "observed_outcome": Failed(message="two\nlines", kind=FaultKind.SERVER_ERROR, status=500),
                "injection": Injection(
                    kind=FaultKind.SERVER_ERROR, source=FaultSource.BLOCKADE, nth=0, executed=False, sticky=True
                ),
            },
            [
                "     how     switch, for find_order, attempt 2",
                "     fault   server_error (blockade, stays), call 0 of this tool; the tool did not run",
                "     saw     server_error 500: two\\nlines",
            ],
        ),
        (
            {"purpose": "probe", "strategy": Response.VERIFY, "observed_outcome": Ok(value=1, replayed=True)},
            ["     how     probe, verify", "     saw     ok 1 (replayed)"],
        ),
    ],
)
def test_a_step_shows_what_was_done_to_it_and_what_it_did(fields, lines):
    """The true kind of a fault, what was false, how the step came about, and its effects."""
    assert shown(step(**fields))[3 : 3 + len(lines)] == lines


def test_a_hand_over_and_its_flaws_are_shown():
    """The packet for a person and everything that the checker found wrong."""
    handoff = Handoff(
        goal="Cancel the order.",
        reason="every path is shut",
        done=(Fact(call="c1", tool="refund", arguments={"amount": "9.00"}, note="looked up"),),
        unknown=(Fact(call="c2", tool="cancel", arguments={}),),
        tried=("cancel: timeout × 3",),
        safe_next_actions=("look the order up",),
    )
    verdict = Verdict(
        passed=False,
        state_ok=False,
        answer_ok=False,
        missing_effects=("order.cancelled order:O1",),
        duplicate_effects=("refund.issued order:O1",),
    )
    lines = shown(
        step(),
        ending=Ending.HANDED_OVER,
        answer=Answer(handoff=handoff),
        verdict=verdict,
        blockaded=("cancel", "request_cancel"),
        error="",
    )
    assert lines[1] == "shut:  cancel, request_cancel"
    start = lines.index("ending:  handed_over")
    packet = [line.strip() for line in lines[start + 1 :]]
    assert any(line.endswith("every path is shut") for line in packet)
    assert any(line.startswith("- refund (c1)") and "9.00" in line for line in packet)
    assert any(line.startswith("- cancel (c2)") for line in packet)
    assert any("look the order up" in line for line in packet)
    assert any("missing: order.cancelled order:O1" in line for line in packet)


def test_a_long_value_is_cut_and_says_so():
    """Five megabytes do not fill the terminal."""
    line = next(line for line in shown(step(observed_outcome=Ok(value="x" * 5_000_000))) if "saw" in line)
    assert len(line) < 500
    assert line.endswith("… (5,000,002 characters)")


def test_markup_in_values_is_shown_as_it_is():
    """Square brackets of a tool's answer are text, not styles."""
    assert '     saw     ok "[red]stop[/red]"' in shown(step(observed_outcome=Ok(value="[red]stop[/red]")))
