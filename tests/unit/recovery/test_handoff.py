"""The packet for a person is true to the Steps, and readable in both languages."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.handoff import MAYBE_TWICE, build, packet, render
from breakfall.vocab import (
    Applied,
    Effect,
    Fact,
    Failed,
    FaultKind,
    Handoff,
    Idempotency,
    IdempotencyKind,
    Ok,
    Outcome,
    Reader,
    SafeAction,
    SafeKind,
    Settlement,
    Step,
    Tool,
    Uncertainty,
    Verification,
    VerificationStatus,
)

LOOK = Reader(tool="look", arguments=lambda a, c: dict(a), judge=lambda v, a, s: Settlement(applied=Applied.UNKNOWN))
PLAIN = {"description": "", "parameters": {}}
TOOLS = {
    "put": Tool(name="put", effect=Effect.WRITE, fault_domain="a", reader=LOOK, **PLAIN),
    "send": Tool(name="send", effect=Effect.IRREVERSIBLE, fault_domain="b", **PLAIN),
    "pay": Tool(
        name="pay",
        effect=Effect.WRITE,
        fault_domain="c",
        reader=LOOK,
        idempotency=Idempotency(kind=IdempotencyKind.KEY, parameter="key"),
        **PLAIN,
    ),
    "look": Tool(name="look", effect=Effect.READ, fault_domain="d", **PLAIN),
}
LOST = [
    Failed(message="no answer", exception="ReadTimeout"),
    Failed(message="broke", status=500),
    Failed(message="cut", status=200, exception="JSONDecodeError", body="{"),
]
REFUSED = [
    Failed(message="slow down", status=429),
    Failed(message="who are you", status=401),
    Failed(message="no such order", status=404),
    Failed(message="not sent", exception="ConnectError"),
]


def step(call: str, tool: str, outcome: Outcome, n: int = 0, **more: object) -> Step:
    fields: dict[str, object] = {
        "episode": "e",
        "n": n,
        "call": call,
        "tool": tool,
        "arguments": {"x": call},
        "at_s": float(n),
        "expected_outcome": "",
        "observed_outcome": outcome,
        "verification": Verification(status=VerificationStatus.NOT_DONE),
        "uncertainty_signal": Uncertainty.MISSING,
    }
    return Step(**{**fields, **more})


def handoff(*steps: Step, settled: dict[str, bool] | None = None) -> Handoff:
    return build("place it", "it failed", steps, TOOLS, settled or {})


def calls(facts: tuple[Fact, ...]) -> set[str]:
    return {fact.call for fact in facts}


OUTCOMES = st.sampled_from([Ok(value=1), *LOST, *REFUSED])
STEPS = st.lists(
    st.builds(
        step,
        st.sampled_from(["c1", "c2", "c3"]),
        st.sampled_from(sorted(TOOLS)),
        OUTCOMES,
        purpose=st.sampled_from(["", "", "probe"]),
        key=st.sampled_from([None, "k1", "k2"]),
    ),
    max_size=12,
)
SETTLED = st.dictionaries(st.sampled_from(["c1", "c2", "c3"]), st.booleans())


def writes(steps: list[Step], call: str, kind: type | None = None) -> list[Step]:
    mine = [one for one in steps if one.call == call and not one.purpose and TOOLS[one.tool].writes]
    return [one for one in mine if kind is None or isinstance(one.observed_outcome, kind)]


@given(STEPS, SETTLED)
def test_never_both(steps: list[Step], settled: dict[str, bool]) -> None:
    """No call is both done and unknown, and none is listed twice."""
    packed = handoff(*steps, settled=settled)
    assert not calls(packed.done) & calls(packed.unknown)
    listed = [fact.call for fact in (*packed.done, *packed.unknown)]
    assert len(listed) == len(set(listed))


@given(STEPS, SETTLED)
def test_done_is_what_was_answered_or_looked_up(steps: list[Step], settled: dict[str, bool]) -> None:
    """A call is done exactly if a write of it was answered, or its answer was lost and the look-up said applied."""
    done = calls(handoff(*steps, settled=settled).done)
    for call in ("c1", "c2", "c3"):
        lost = any(one.observed_outcome in LOST for one in writes(steps, call))
        assert (call in done) == (bool(writes(steps, call, Ok)) or (lost and settled.get(call) is True))


@given(STEPS, SETTLED)
def test_unknown_is_what_was_lost_and_not_settled(steps: list[Step], settled: dict[str, bool]) -> None:
    """A call is unknown exactly if an answer of it was lost and neither an answer nor a look-up settled it."""
    unknown = calls(handoff(*steps, settled=settled).unknown)
    for call in ("c1", "c2", "c3"):
        lost = [n for n, one in enumerate(steps) if one in writes(steps, call) and one.observed_outcome in LOST]
        keys = {steps[lost[-1]].key} - {None} if lost else set()
        later = steps[lost[-1] :] if lost else []
        same_key = any(
            one.key in keys and not one.purpose and TOOLS[one.tool].writes and isinstance(one.observed_outcome, Ok)
            for one in later
        )
        open_ = bool(lost) and call not in settled and not writes(steps, call, Ok)
        assert (call in unknown) == (open_ and not same_key)


@given(STEPS)
def test_not_applied_is_in_neither(steps: list[Step]) -> None:
    """A write that a look-up found not applied, and that was not answered since, is neither done nor unknown."""
    settled = dict.fromkeys(("c1", "c2", "c3"), False)
    packed = handoff(*steps, settled=settled)
    answered = {call for call in settled if writes(steps, call, Ok)}
    assert packed.unknown == ()
    assert calls(packed.done) == answered


@pytest.mark.parametrize("outcome", REFUSED)
def test_a_refused_write_is_in_neither(outcome: Failed) -> None:
    """A write that the tool refused, or that never left, did not happen."""
    packed = handoff(step("c1", "put", outcome))
    assert (packed.done, packed.unknown) == ((), ())


def test_what_happened_first_stays_open() -> None:
    """A refusal after a lost answer does not settle the lost one."""
    packed = handoff(step("c1", "put", LOST[0]), step("c1", "put", REFUSED[1]))
    assert calls(packed.unknown) == {"c1"}


def test_one_key_is_one_operation() -> None:
    """An answer to a later call with the same key settles the earlier call whose answer was lost."""
    packed = handoff(step("c1", "pay", LOST[0], key="k"), step("c2", "pay", Ok(value=1), key="k"))
    assert (calls(packed.done), calls(packed.unknown)) == ({"c2"}, set())
    other = handoff(step("c1", "pay", LOST[0], key="k"), step("c2", "pay", Ok(value=1), key="other"))
    assert calls(other.unknown) == {"c1"}


def test_a_replayed_write_is_not_a_second_one() -> None:
    """The recorded result of an equal write adds no second entry; alone it says that the write is done."""
    same = {"arguments": {"x": 1}}
    first, again = step("c1", "put", Ok(value=1), **same), step("c2", "put", Ok(value=1, replayed=True), **same)
    assert calls(handoff(first, again).done) == {"c1"}
    assert calls(handoff(again).done) == {"c2"}


def test_a_blind_repeat_is_told() -> None:
    """A write that was sent again after a lost answer, with no look-up and no key, may have happened twice."""
    lost, answered = LOST[1], Ok(value=1)
    assert handoff(step("c1", "put", lost), step("c1", "put", answered)).done[0].note == MAYBE_TWICE
    probe = step("c1", "look", answered, purpose="probe")
    assert handoff(step("c1", "put", lost), probe, step("c1", "put", answered)).done[0].note == ""
    assert handoff(step("c1", "pay", lost, key="k"), step("c1", "pay", answered, key="k")).done[0].note == ""


def test_tried_counts_classified_failures() -> None:
    """Failures are counted by tool and class, read from what came off the wire; a tool's own refusal is none."""
    packed = handoff(step("c1", "look", LOST[0]), step("c1", "look", LOST[0]), step("c2", "put", REFUSED[2]))
    assert packed.tried == ("look: timeout × 2",)


def test_safe_actions() -> None:
    """Unknown writes are looked up or seen in the record first, credentials checked, and reads may be repeated."""
    packed = handoff(step("c1", "put", LOST[0]), step("c2", "send", LOST[0]), step("c3", "look", REFUSED[1]))
    assert packed.safe_next_actions == (
        SafeAction(do=SafeKind.LOOK_UP, tool="put", call="c1", reader="look"),
        SafeAction(do=SafeKind.CHECK_RECORD, tool="send", call="c2"),
        SafeAction(do=SafeKind.RENEW_CREDENTIALS, tool="look"),
        SafeAction(do=SafeKind.REPEAT_READS),
    )


@given(STEPS, SETTLED)
def test_round_trip(steps: list[Step], settled: dict[str, bool]) -> None:
    """The JSON packet decodes to the same packet."""
    packed = handoff(*steps, settled=settled)
    assert msgspec.json.decode(packet(packed), type=Handoff) == packed


def test_actions_in_an_agents_own_words() -> None:
    """A packet whose actions are plain texts is read, and rendered as it is."""
    own = msgspec.json.decode(b'{"goal":"g","reason":"r","safe_next_actions":["ask Kim"]}', type=Handoff)
    assert "1. ask Kim" in render(own)
    assert "1. ask Kim" in render(own, "ko")


FULL = build(
    "Order two mugs\nfor Kim",
    "the look-ups do not tell whether put took effect",
    [
        step("c1", "pay", Ok(value=1), key="k", arguments={"order": "O1", "won": 12000}),
        step("c2", "send", LOST[1]),
        step("c2", "send", Ok(value=1)),
        step("c3", "put", LOST[0], arguments={"sku": "MUG", "n": 2}),
        step("c4", "send", LOST[0], arguments={"to": "kim"}),
        step("c5", "look", REFUSED[1]),
    ],
    TOOLS,
    {},
)
ENGLISH = """\
A person must take over

Goal: Order two mugs
    for Kim
Why it stopped: the look-ups do not tell whether put took effect

Done (do not send again):
- pay (c1): {"order":"O1","won":12000}
- send (c2): {"x":"c2"}; sent again without a look-up after its answer was lost: it may have happened more than once

Not known whether it happened:
- put (c3): {"sku":"MUG","n":2}
- send (c4): {"to":"kim"}

Tried in vain:
- send: server error × 1
- put: no answer in time × 1
- send: no answer in time × 1
- look: credentials or permission refused × 1

Safe next actions:
1. Look up with look whether put (call c3) took effect before anything is sent again.
2. See in the system of record whether send (call c4) took effect before anything is sent again; no tool can tell.
3. Check the credentials and permissions of look.
4. Read whatever is needed anew; send no write again that is listed as done.
"""
KOREAN = """\
사람의 확인이 필요합니다

하려던 일: Order two mugs
    for Kim
멈춘 이유: 여러 번 조회했지만 put 도구의 쓰기가 반영되었는지 알 수 없습니다

완료된 쓰기(다시 보내지 마세요):
- pay (c1): {"order":"O1","won":12000}
- send (c2): {"x":"c2"}; 응답을 받지 못한 뒤 조회 없이 다시 보냈으므로 두 번 이상 반영되었을 수 있습니다

반영 여부를 알 수 없는 쓰기:
- put (c3): {"sku":"MUG","n":2}
- send (c4): {"to":"kim"}

시도했지만 실패한 경로:
- send: 서버 오류 × 1
- put: 응답 시간 초과 × 1
- send: 응답 시간 초과 × 1
- look: 인증 또는 권한 거부 × 1

지금 해도 안전한 일:
1. look 도구로 put 호출(c3)이 반영되었는지 먼저 조회하고, 그 전에는 아무것도 다시 보내지 마세요.
2. send 호출(c4)의 반영 여부를 원본 시스템에서 먼저 확인하세요. 도구로는 조회할 수 없습니다.
3. look 도구의 인증 정보와 권한을 확인하세요.
4. 필요한 값은 다시 읽어도 됩니다. 완료된 쓰기는 다시 보내지 마세요.
"""


def test_rendered_in_english() -> None:
    """The text for a person says all six parts of the packet."""
    assert render(FULL) == ENGLISH


def test_rendered_in_korean() -> None:
    """The Korean text says the same."""
    assert render(FULL, "ko") == KOREAN


def test_an_empty_part_says_so() -> None:
    """Nothing done and nothing unknown is said, not left out."""
    assert "Done (do not send again): none" in render(handoff())
    assert "반영 여부를 알 수 없는 쓰기: 없음" in render(handoff(), "ko")


@given(st.text(), st.text())
def test_no_text_can_forge_a_part(goal: str, value: str) -> None:
    """Lines that begin at the margin are the packet's own: a goal or an argument cannot fake a finding."""
    one = step("c1", "put", Ok(value=1), arguments={"x": value})
    lines = render(build(goal, "r", [one], TOOLS, {})).splitlines()
    assert [line for line in lines if line and not line.startswith("    ")] == [
        "A person must take over",
        lines[2],
        "Why it stopped: r",
        "Done (do not send again):",
        next(line for line in lines if line.startswith("- put (c1): ")),
        "Not known whether it happened: none",
        "Tried in vain: none",
        "Safe next actions:",
        "1. Read whatever is needed anew; send no write again that is listed as done.",
    ]


def test_long_arguments_are_cut_for_a_person_only() -> None:
    """A person sees the start of long arguments; the packet holds them whole."""
    packed = handoff(step("c1", "put", Ok(value=1), arguments={"x": "y" * 5000}))
    assert len(render(packed)) < 1200
    assert b"y" * 5000 in packet(packed)


def test_an_unknown_failure_class_names_itself() -> None:
    """A line of tried paths that somebody else worded is kept."""
    packed = Handoff(goal="g", reason="r", tried=("put: odd × 2", "asked the shop", f"put: {FaultKind.TIMEOUT} × 1"))
    text = render(packed, "ko")
    assert all(line in text for line in ("- put: odd × 2", "- asked the shop", "- put: 응답 시간 초과 × 1"))
