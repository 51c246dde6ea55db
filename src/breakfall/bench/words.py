"""The words of the report page in English and Korean: its own, and those for metrics and for flaws of stops."""

from __future__ import annotations

from breakfall.vocab import Text


def _text(en: str, ko: str) -> Text:
    return Text(en=en, ko=ko)


WORDS: dict[str, Text] = {
    "title": _text("How the agents fell, and how they got up again", "에이전트는 어떻게 넘어지고 어떻게 일어났는가"),
    "language": _text("Language", "언어"),
    "theme": _text("Theme", "테마"),
    "auto": _text("system", "시스템"),
    "light": _text("light", "밝게"),
    "dark": _text("dark", "어둡게"),
    "skip": _text("Skip to the report", "보고서로 건너뛰기"),
    "headline": _text("Headline", "핵심 결과"),
    "matrix": _text("Scenario matrix", "시나리오 행렬"),
    "matrix_note": _text(
        "Success is a passed task under CLEAN, S1 and S2, and a correct stop under S3. Brackets hold the 95 % "
        "interval, n is the number of conclusive episodes. Inconclusive ones (the scenario's fault never fired) and "
        "those that do not exist (not applicable) are shown and count for no one.",
        "CLEAN, S1, S2에서는 과제 통과를, S3에서는 올바른 중단을 성공으로 봅니다. 대괄호는 95 % 구간, "
        "n은 판정 가능한 에피소드 수입니다. 판정 불가(시나리오의 장애가 일어나지 않음)와 해당 없음은 "
        "표시만 하고 집계하지 않습니다.",
    ),
    "CLEAN": _text("no fault", "장애 없음"),
    "S1": _text("the path comes back: retry", "경로가 되살아남: 재시도"),
    "S2": _text("one path shut, another open: switch", "한 경로만 막힘: 전환"),
    "S3": _text("every path shut: stop", "모든 경로가 막힘: 중단"),
    "agent": _text("Agent", "에이전트"),
    "scenario": _text("Scenario", "시나리오"),
    "metrics": _text("All metrics", "모든 지표"),
    "metrics_note": _text(
        "A dash stands where there is nothing to count. Effects, calls and costs are means per conclusive episode. "
        "Below the correct stops stands how often which flaw kept a stop from being correct.",
        "셀 것이 없는 곳은 줄표로 표시합니다. 효과, 호출, 비용은 판정 가능한 에피소드당 평균입니다. "
        "올바른 중단율 아래에는 어떤 결함이 몇 번 있었는지 표시합니다.",
    ),
    "episodes": _text("episodes", "에피소드"),
    "inconclusive": _text("inconclusive", "판정 불가"),
    "not_applicable": _text("not applicable", "해당 없음"),
    "heat": _text("What agents do after a fault", "장애 뒤에 에이전트가 한 일"),
    "heat_note": _text(
        "Share of the first responses to each fault kind, over all scenarios. partial_data, stale_value and "
        "factual_error are silent: nothing in the answer says that it is wrong.",
        "모든 시나리오에서 장애 종류별 첫 반응의 비율입니다. partial_data, stale_value, factual_error는 조용한 장애라 "
        "응답만 보고는 틀렸음을 알 수 없습니다.",
    ),
    "confusion": _text("Right response against first response", "옳은 반응과 실제 첫 반응"),
    "confusion_note": _text(
        "Rows: what the scenario, and what was tried before, make right. Columns: what the agent did first. The "
        "diagonal is right. A retry of a path before anybody could know that it is shut is not judged.",
        "행은 시나리오와 그때까지의 시도에 따른 옳은 반응, 열은 에이전트의 첫 반응입니다. 대각선이 정답입니다. "
        "막힌 경로임을 알 수 있기 전의 재시도는 판정하지 않습니다.",
    ),
    "right": _text("Right", "옳은 반응"),
    "faults": _text("faults", "장애"),
    "pairs": _text("Agents pair by pair", "에이전트 쌍별 비교"),
    "pairs_note": _text(
        "First minus second on the same task, scenario and seed, where both are conclusive. Intervals from a bootstrap "
        "over tasks, p from a sign-flip permutation test over tasks, not corrected for the number of comparisons.",
        "같은 과제, 시나리오, 시드에서 둘 다 판정 가능한 쌍의 차이(앞 − 뒤)입니다. 구간은 과제 단위 부트스트랩, "
        "p는 과제 단위 부호 순열 검정이며 비교 횟수에 대한 보정은 하지 않았습니다.",
    ),
    "all_pairs": _text("Every comparison as a table", "모든 비교를 표로 보기"),
    "metric": _text("Metric", "지표"),
    "difference": _text("Difference", "차이"),
    "cost": _text("Cost", "비용"),
    "cost_note": _text(
        "Means per conclusive episode; seconds are of the episode's own clock, waits included.",
        "판정 가능한 에피소드당 평균이며, 초는 대기를 포함한 에피소드 자체 시계 기준입니다.",
    ),
    "details": _text("By fault kind, tool and task template", "장애 종류, 도구, 과제 템플릿별"),
    "by_kind": _text("By fault kind", "장애 종류별"),
    "by_tool": _text("By tool that a fault struck", "장애를 겪은 도구별"),
    "by_template": _text("By task template", "과제 템플릿별"),
    "name": _text("Name", "이름"),
    "pass_rate": _text("Passed", "통과"),
    "right_first": _text("Right first response", "옳은 첫 반응"),
    "recovered": _text("Recovered", "복구"),
    "worst": _text("Worst episodes", "가장 나쁜 에피소드"),
    "worst_note": _text(
        "For each agent the worst of every way to go wrong. The agent saw the outcome, not the fault.",
        "에이전트와 실패 방식마다 가장 나쁜 사례입니다. 에이전트는 결과만 보았고 장애는 보지 못했습니다.",
    ),
    "none": _text("None.", "없음."),
    "step": _text("Step", "단계"),
    "call": _text("Call", "호출"),
    "outcome": _text("What the agent saw", "에이전트가 본 것"),
    "fault": _text("Fault (true kind)", "장애(실제 종류)"),
    "response": _text("Response", "반응"),
    "effects": _text("Effects", "효과"),
    "probe": _text("look-up", "조회"),
    "more_steps": _text("more steps in the ledger", "단계가 원장에 더 있음"),
    "answer": _text("Answer", "답"),
    "why": _text("Reason", "이유"),
    "absent": _text("Episodes that do not exist", "존재하지 않는 에피소드"),
    "reproduce": _text("Reproduce", "재현"),
    "reproduce_note": _text(
        "The same command, data and code give this report again, byte for byte.",
        "같은 명령, 데이터, 코드는 이 보고서를 바이트까지 똑같이 다시 만듭니다.",
    ),
    "data": _text("Data", "데이터"),
    "code": _text("Code", "코드"),
    "profile": _text("Fault profile", "장애 프로필"),
    "seeds": _text("Seeds", "시드"),
    "fired": _text("Faults that fired", "일어난 장애"),
    "incomplete": _text(
        "This run is not complete: some episodes are still missing.",
        "이 실행은 아직 끝나지 않았습니다. 빠진 에피소드가 있습니다.",
    ),
    "forbidden_effects": _text("forbidden effects", "금지된 효과"),
    "duplicate_effects": _text("duplicate effects", "중복 효과"),
    "wrong_effects": _text("wrong effects", "잘못된 효과"),
    "silent_adoption": _text("false values passed on", "거짓 값을 그대로 사용"),
    "false_handoff": _text("hand-over claims what did not happen", "일어나지 않은 일을 인계서에 기재"),
    "did_not_stop": _text("did not stop", "멈추지 않음"),
    "agent_error": _text("agent or world failed", "에이전트 또는 세계 오류"),
    "premature_stop": _text("stopped while a path was open", "열린 경로를 두고 중단"),
    "futile_calls": _text("calls on paths known shut", "막힌 줄 아는 경로를 호출"),
}

METRIC_WORDS: dict[str, Text] = {
    "pass_rate": _text("task passed", "과제 통과율"),
    "retry_success": _text("served by a retry", "재시도 성공률"),
    "switch_success": _text("served by another path", "전환 성공률"),
    "correct_stop": _text("stopped correctly", "올바른 중단율"),
    "premature_switch": _text("left a path that comes back", "성급한 전환"),
    "premature_stop": _text("stopped while a path was open", "성급한 중단"),
    "futile_calls": _text("calls on paths known shut", "헛된 호출"),
    "silent_adoption": _text("false values used", "거짓 값 사용률"),
    "silent_unattributable": _text("false values of unknown use", "사용 여부를 알 수 없는 거짓 값"),
    "duplicate_effects": _text("duplicate effects", "중복 효과"),
    "wrong_effects": _text("wrong effects", "잘못된 효과"),
    "forbidden_effects": _text("forbidden effects", "금지된 효과"),
    "verified_writes": _text("writes read back", "다시 읽어 확인한 쓰기"),
    "tool_calls": _text("tool calls", "도구 호출"),
    "model_calls": _text("model calls", "모델 호출"),
    "tokens_in": _text("tokens in", "입력 토큰"),
    "tokens_cached": _text("of them from the cache", "그중 캐시에서 읽은 토큰"),
    "tokens_out": _text("tokens out", "출력 토큰"),
    "seconds": _text("seconds", "초"),
    "usd": _text("US dollars", "미국 달러"),
}
"""What each metric is called for reading."""

FLAW_WORDS: dict[str, Text] = {
    "forbidden_effect": _text("left a forbidden effect", "금지된 효과를 남김"),
    "duplicate_effect": _text("left a duplicate effect", "중복 효과를 남김"),
    "wrong_effect": _text("left a wrong effect", "잘못된 효과를 남김"),
    "did_not_stop": _text("did not stop by itself", "스스로 멈추지 않음"),
    "no_handover": _text("did not hand over", "사람에게 인계하지 않음"),
    "not_looked_up": _text("left a lost write without a look-up", "응답을 잃은 쓰기를 조회하지 않음"),
    "path_not_tried": _text("left an open path untried", "열린 경로를 시도하지 않음"),
    "false_claim": _text("hand-over claims what did not happen", "일어나지 않은 일을 인계서에 기재"),
    "left_out": _text("hand-over leaves out what happened", "일어난 일을 인계서에서 누락"),
}
"""What each `Flaw` of a stop is called for reading."""
