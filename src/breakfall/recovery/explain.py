"""Say in one sentence why a directive was chosen, with the numbers that it was weighed by."""

from __future__ import annotations

from typing import assert_never

from breakfall.recovery.decide import Situation, beyond_repeating, weigh
from breakfall.recovery.expect import Expected
from breakfall.recovery.policy import Policy
from breakfall.recovery.wording import Language, StopCause, cause_of, kind_in, reason_in, said
from breakfall.vocab import Ask, Directive, Retry, Stop, Switch, Text, Verify

_SENTENCES = {
    "blind": Text(
        en="Sending {tool} again in {after_s} s: the policy {policy} repeats whatever fails.",
        ko="{policy} 정책은 실패한 호출을 무조건 반복하므로 {after_s}초 뒤에 {tool} 호출을 다시 보냅니다.",
    ),
    "told": Text(
        en="Sending {tool} again in {after_s} s: the scenario leaves its path open.",
        ko="시나리오가 이 경로를 열어 두었으므로 {after_s}초 뒤에 {tool} 호출을 다시 보냅니다.",
    ),
    "again": Text(
        en="Sending {tool} again in {after_s} s ({kind}): it answers with probability {comes_back}, so a try is "
        "expected to cost {retry} calls, and {leaving} {best}.",
        ko="{kind} 뒤에 {tool} 도구가 응답할 확률이 {comes_back}이고 재시도의 예상 비용(호출 {retry}회)이 "
        "{leaving}({best}회)보다 크지 않으므로 {after_s}초 뒤에 다시 보냅니다.",
    ),
    "again_keyed": Text(
        en="Sending {tool} again in {after_s} s: its key keeps a repeat from happening twice, and a try is expected to "
        "cost {retry} calls, and {leaving} {best}.",
        ko="키 덕분에 같은 쓰기가 두 번 반영되지 않고 재시도의 예상 비용(호출 {retry}회)이 {leaving}({best}회)보다 "
        "크지 않으므로 {after_s}초 뒤에 {tool} 호출을 다시 보냅니다.",
    ),
    "switch": Text(
        en="Switching from {tool} to {path}: {why_not}.", ko="{why_not} {tool} 대신 {path} 경로로 전환합니다."
    ),
    "verify": Text(
        en="Looking up with {reader} first: {tool} may have taken effect although its answer was lost.",
        ko="응답은 받지 못했지만 {tool} 쓰기가 반영되었을 수 있으므로 먼저 {reader} 도구로 조회합니다.",
    ),
    "verify_before_switch": Text(
        en="Looking up with {reader} first: what {tool} did must be known before another path is taken.",
        ko="다른 경로로 보내기 전에 {tool} 쓰기가 반영되었는지 알아야 하므로 먼저 {reader} 도구로 조회합니다.",
    ),
    "ask": Text(en="Asking a person: {question}", ko="사람에게 묻습니다: {question}"),
    "stop": Text(en="Handing over: {reason}.", ko="사람에게 넘깁니다: {reason}."),
    "stop_failed": Text(en="Handing over: {reason}; {why_not}.", ko="{why_not} 사람에게 넘깁니다({reason})."),
    "stop_no_path": Text(
        en="Handing over: {reason}; {why_not}, and no other path is open.",
        ko="열린 다른 경로가 없고 {why_not} 사람에게 넘깁니다({reason}).",
    ),
}
_WHY_NOT_AGAIN = {
    "shut": Text(en="the scenario shuts {tool}", ko="시나리오가 {tool} 도구를 막았으므로"),
    "attempts": Text(
        en="{tool} was tried as often as the policy {policy} allows ({tries})",
        ko="{tool} 도구를 {policy} 정책이 허용한 만큼({tries}번) 호출했으므로",
    ),
    "budget": Text(en="the retries that tasks share are used up", ko="작업들이 함께 쓰는 재시도 한도를 다 썼으므로"),
    "persistent": Text(
        en="sending the same again mends nothing ({kind})", ko="{kind} 문제는 같은 호출을 다시 보내도 풀리지 않으므로"
    ),
    "native": Text(en="the refusal is the tool's own", ko="도구 자체의 거절이므로"),
    "cost": Text(
        en="another try is expected to cost {retry} calls, and {leaving} {best}",
        ko="재시도의 예상 비용(호출 {retry}회)이 {leaving}({best}회)보다 크므로",
    ),
}
_LEAVING = {
    True: Text(en="another path", ko="다른 경로로 가는 비용"),
    False: Text(en="a person's time", ko="사람에게 넘기는 비용"),
}


def explain(directive: Directive, case: Situation, policy: Policy, language: Language = "en") -> str:
    """Say in one sentence why `decide` answered this.

    Args:
        directive: What `decide(policy, case)` returned.
        case: The failed call.
        policy: The policy that it was decided by.
        language: The language of the sentence.
    """
    # The oracle goes by the scenario and a blind policy by nothing: neither weighed anything.
    cost = None if policy.blind or case.shut is not None else weigh(policy, case)
    parts = _parts(case, policy, cost, language)
    match directive:
        case Retry(after_s=after_s):
            parts["after_s"] = f"{after_s:.1f}"
            key = _again(case, policy)
        case Switch(path=path):
            parts["path"], key = path.tool, "switch"
        case Verify(reader=reader):
            parts["reader"], key = reader.tool, "verify" if case.unsettled else "verify_before_switch"
        case Ask(question=question):
            parts["question"], key = question, "ask"
        case Stop(reason=reason):
            parts["reason"], key = reason_in(reason, language), _stop(reason, case)
        case _:
            assert_never(directive)
    parts["why_not"] = said(_WHY_NOT_AGAIN[_why_not_again(case, policy)], language).format(**parts)
    return said(_SENTENCES[key], language).format(**parts)


def _parts(case: Situation, policy: Policy, cost: Expected | None, language: Language) -> dict[str, str]:
    parts = {
        "tool": case.tool.name,
        "kind": kind_in(case.failed.failure_class, language),
        "policy": policy.name,
        "tries": str(case.tries),
        "retry": "",
        "leaving": "",
        "best": "",
        "comes_back": "",
    }
    if cost is not None:
        parts["retry"] = f"{cost.retry:.1f}"
        parts["best"] = f"{min(cost.switch, cost.stop):.1f}"
        parts["leaving"] = said(_LEAVING[cost.switch < cost.stop], language)
        parts["comes_back"] = f"{cost.comes_back:.2f}"
    return parts


def _again(case: Situation, policy: Policy) -> str:
    if policy.blind:
        return "blind"
    if case.shut is not None:
        return "told"
    return "again_keyed" if case.unsettled else "again"


def _stop(reason: str, case: Situation) -> str:
    if cause_of(reason) is not StopCause.FAILED:
        return "stop"
    return "stop_failed" if case.paths else "stop_no_path"


def _why_not_again(case: Situation, policy: Policy) -> str:
    """Name what kept `decide` from sending the call again."""
    if case.shut is not None:
        return "shut"
    if case.failed.kind is None:
        return "native"
    if case.tries >= policy.attempts:
        return "attempts"
    if not case.retry_allowed:
        return "budget"
    return "persistent" if beyond_repeating(case) else "cost"
