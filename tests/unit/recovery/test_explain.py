"""explain says in one sentence why a directive was chosen; reasons are known in both languages."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakfall.recovery.decide import Left, Situation, decide
from breakfall.recovery.explain import explain
from breakfall.recovery.policy import BALANCED, PRESETS, RETRY, Policy
from breakfall.recovery.wording import StopCause, cause_of, kind_in, reason_in
from breakfall.runtime.drive import drive
from breakfall.runtime.flow import call_flow
from breakfall.runtime.state import TaskState
from breakfall.runtime.wants import Reply, Want
from breakfall.seeds import address
from breakfall.vocab import (
    OBSERVABLE,
    Applied,
    Ask,
    Call,
    Effect,
    Failed,
    FaultKind,
    Idempotency,
    IdempotencyKind,
    Path,
    Reader,
    Settlement,
    Stop,
    Tool,
)

READER = Reader(tool="look", arguments=lambda a, c: dict(a), judge=lambda v, a, s: Settlement(applied=Applied.UNKNOWN))
KEYED = Idempotency(kind=IdempotencyKind.KEY, parameter="key")
PLAIN = {"description": "", "parameters": {}, "fault_domain": "a"}
READ = Tool(name="get", effect=Effect.READ, **PLAIN)
WRITE = Tool(name="put", effect=Effect.WRITE, reader=READER, **PLAIN)
PAY = Tool(name="pay", effect=Effect.WRITE, reader=READER, idempotency=KEYED, **PLAIN)
NO_READER = Tool(name="send", effect=Effect.WRITE, **PLAIN)
PATH = Path(tool="other")


def case(tool: Tool = READ, kind: FaultKind | None = FaultKind.SERVER_ERROR, **changes: object) -> Situation:
    fields: dict[str, object] = {
        "tool": tool,
        "failed": Failed(message="", kind=kind, native=kind is None),
        "tries": 1,
        "failures": 1,
        "failing_neighbours": 0,
        "paths": (PATH,),
        "writes": tool.writes,
        "unsettled": False,
        "looked_up": False,
        "lookups_left": 6,
        "recovered_before": False,
        "left": Left(50, 1000.0),
        "jitter": 0.5,
    }
    return Situation(**{**fields, **changes})


CASES = st.builds(
    case,
    st.sampled_from([READ, WRITE, PAY, NO_READER]),
    st.sampled_from([None, *OBSERVABLE]),
    tries=st.integers(1, 7),
    failures=st.integers(1, 7),
    failing_neighbours=st.integers(0, 2),
    paths=st.sampled_from([(), (PATH,)]),
    unsettled=st.booleans(),
    looked_up=st.booleans(),
    lookups_left=st.integers(0, 2),
    recovered_before=st.booleans(),
    left=st.builds(Left, st.integers(0, 2), st.sampled_from([0.0, 1000.0])),
    retry_allowed=st.booleans(),
    shut=st.sampled_from([None, None, frozenset(), frozenset({"get", "put", "pay", "send"})]),
)
POLICIES = st.sampled_from(list(PRESETS.values()))


@given(POLICIES, CASES)
def test_one_whole_sentence(policy: Policy, situation: Situation) -> None:
    """Whatever is decided has its sentence in both languages: one, with nothing left blank and no infinite cost."""
    directive = decide(policy, situation)
    for language in ("en", "ko"):
        text = explain(directive, situation, policy, language)
        assert text.endswith(".")
        assert not re.search(r"[.?!] ", text.removesuffix("."))
        assert not re.search(r"[{}]|\binf\b|\bnan\b|  | ,|\( ?\)", text)


@given(POLICIES, CASES)
def test_korean_is_korean(policy: Policy, situation: Situation) -> None:
    """A Korean sentence holds no English but the names of tools and policies."""
    text = explain(decide(policy, situation), situation, policy, "ko")
    assert set(re.findall(r"[A-Za-z-]+", text)) <= {"get", "put", "pay", "send", "look", "other", *PRESETS}


@given(POLICIES, CASES)
def test_every_reason_is_known(policy: Policy, situation: Situation) -> None:
    """Each reason for which `decide` stops has a cause and a Korean form."""
    directive = decide(policy, situation)
    if isinstance(directive, Stop):
        assert cause_of(directive.reason) is not None
        assert reason_in(directive.reason, "ko") != directive.reason
        assert reason_in(directive.reason, "en") == directive.reason


PINNED = [
    (
        BALANCED,
        case(),
        "Sending get again in 0.2 s (server error): it answers with probability 0.53, so a try is expected to cost "
        "4.1 calls, and another path 7.6.",
        "서버 오류 뒤에 get 도구가 응답할 확률이 0.53이고 재시도의 예상 비용(호출 4.1회)이 "
        "다른 경로로 가는 비용(7.6회)보다 크지 않으므로 0.2초 뒤에 다시 보냅니다.",
    ),
    (
        BALANCED,
        case(tries=4, failures=4),
        "Switching from get to other: get was tried as often as the policy balanced allows (4).",
        "get 도구를 balanced 정책이 허용한 만큼(4번) 호출했으므로 get 대신 other 경로로 전환합니다.",
    ),
    (
        BALANCED,
        case(kind=FaultKind.AUTH_ERROR, paths=()),
        "Handing over: get failed 1 time(s), last with auth_error; sending the same again mends nothing (credentials "
        "or permission refused), and no other path is open.",
        "열린 다른 경로가 없고 인증 또는 권한 거부 문제는 같은 호출을 다시 보내도 풀리지 않으므로 사람에게 넘깁니다"
        "(get 도구가 1번 실패했고, 마지막 원인은 인증 또는 권한 거부입니다).",
    ),
    (
        BALANCED,
        case(WRITE, unsettled=True),
        "Looking up with look first: put may have taken effect although its answer was lost.",
        "응답은 받지 못했지만 put 쓰기가 반영되었을 수 있으므로 먼저 look 도구로 조회합니다.",
    ),
    (
        BALANCED,
        case(WRITE, kind=FaultKind.AUTH_ERROR),
        "Looking up with look first: what put did must be known before another path is taken.",
        "다른 경로로 보내기 전에 put 쓰기가 반영되었는지 알아야 하므로 먼저 look 도구로 조회합니다.",
    ),
    (
        RETRY,
        case(),
        "Sending get again in 0.2 s: the policy retry repeats whatever fails.",
        "retry 정책은 실패한 호출을 무조건 반복하므로 0.2초 뒤에 get 호출을 다시 보냅니다.",
    ),
    (
        BALANCED,
        case(NO_READER, unsettled=True),
        "Handing over: nobody knows whether send took effect, and it cannot be looked up.",
        "사람에게 넘깁니다: send 도구의 쓰기가 반영되었는지 알 수 없고, 조회할 방법도 없습니다.",
    ),
]


@pytest.mark.parametrize(("policy", "situation", "english", "korean"), PINNED, ids=range(len(PINNED)))
def test_pinned(policy: Policy, situation: Situation, english: str, korean: str) -> None:
    """The sentences say the move, its reason and the costs that it was weighed by."""
    directive = decide(policy, situation)
    assert explain(directive, situation, policy) == english
    assert explain(directive, situation, policy, "ko") == korean


def test_a_question_is_said() -> None:
    """A question to a person is shown as it is."""
    assert explain(Ask(question="Which account?"), case(), BALANCED) == "Asking a person: Which account?"
    assert explain(Ask(question="어느 계좌?"), case(), BALANCED, "ko") == "사람에게 묻습니다: 어느 계좌?"


def stopped(state: TaskState, answers: list[Reply]) -> str:
    """Drive a read of this task to its end and return why it was given up."""
    replies = iter(answers)

    def perform(want: Want) -> Reply:
        del want
        return next(replies)

    drive(call_flow(Call(id="c1", tool="get", arguments={}), state, 0.0), perform)
    return next(iter(state.stops.values()))


def test_reasons_of_the_flow_are_known() -> None:
    """What the call flow says when it sends nothing is known, too: a path known shut, and a storm."""

    def state() -> TaskState:
        return TaskState(tools={"get": READ}, policy=BALANCED, place=address(1), calls_left=9, deadline_s=9.0)

    shut, storm = state(), state()
    for _ in range(3):
        shut.breaker("get").failed(Failed(message="", kind=FaultKind.TIMEOUT), 0.0)
    storm.storms["get", "timeout"] = 99
    assert cause_of(stopped(shut, [])) is StopCause.SHUT
    assert cause_of(reason := stopped(storm, [])) is StopCause.STORM
    assert reason_in(reason, "ko") == "get 도구는 어떻게 호출해도 계속 실패합니다(응답 시간 초과)"


def test_other_reasons_stay() -> None:
    """A reason that an agent worded is not touched; one that wraps a known reason has that part translated."""
    assert reason_in("Kim must sign", "ko") == "Kim must sign"
    assert cause_of("Kim must sign") is None
    wrapped = "get failed: get is known to be shut and no other path is open"
    assert reason_in(wrapped, "ko") == "get 도구가 실패했습니다: get 도구는 막혀 있고, 대신할 경로도 없습니다"
    assert reason_in("nobody answered: Go on?", "ko") == "질문에 답한 사람이 없습니다: Go on?"


def test_every_kind_has_a_name() -> None:
    """Each of the nine kinds has a name in both languages; another class names itself."""
    for kind in FaultKind:
        assert kind_in(kind.value, "en") != kind.value
        assert re.search("[가-힣]", kind_in(kind.value, "ko"))
    assert kind_in("odd", "ko") == "odd"
