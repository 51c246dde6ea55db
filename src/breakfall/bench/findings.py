"""The headline: a few sentences that the cells say by themselves, in English and Korean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from breakfall.bench.tally import Cell
from breakfall.vocab import Ending, Scenario, Text


class Finding(Struct, frozen=True, kw_only=True):
    """One sentence of the headline."""

    code: str
    world: str
    condition: str
    text: Text


def findings(cells: Sequence[Cell]) -> list[Finding]:
    """Say what stands out, world by world."""
    found = []
    for place in sorted({(cell.world, cell.condition) for cell in cells}):
        here = [cell for cell in cells if (cell.world, cell.condition) == place]
        texts = (
            ("pass_by_scenario", _passing(here)),
            ("correct_stop", _stopping(here)),
            ("never_handed_over", _keeping(here)),
            ("duplicate_effects", _duplicates(here)),
            ("silent_adoption", _fooled(here)),
            ("inconclusive", _inconclusive(here)),
        )
        found += [
            Finding(code=code, world=place[0], condition=place[1], text=text)
            for code, text in texts
            if text is not None
        ]
    return found


def percent(value: float) -> str:
    """Write a share for reading; its parts do not part at the end of a line."""
    return f"{100 * value:.1f}\N{NO-BREAK SPACE}%"


def _rates(cells: Iterable[Cell], scenario: Scenario, metric: str) -> dict[str, float]:
    return {
        cell.agent: value
        for cell in cells
        if cell.scenario is scenario and (value := cell.metrics[metric].value) is not None
    }


def _passing(cells: Sequence[Cell]) -> Text | None:
    """Say for each agent what it keeps when the original path does not come back."""
    before, after = (_rates(cells, scenario, "pass_rate") for scenario in (Scenario.S1, Scenario.S2))
    both = [agent for agent in before if agent in after]
    if not both:
        return None
    pairs = "; ".join(f"{agent} {percent(before[agent])} → {percent(after[agent])}" for agent in both)
    return Text(
        en=f"Tasks passed when the failed path comes back (S1) → when only another path is open (S2): {pairs}.",
        ko=f"과제 성공률, 실패한 경로가 되살아날 때(S1) → 다른 경로만 열려 있을 때(S2): {pairs}.",
    )


def _stopping(cells: Sequence[Cell]) -> Text | None:
    rates = _rates(cells, Scenario.S3, "correct_stop")
    if not rates:
        return None
    each = ", ".join(f"{agent} {percent(rate)}" for agent, rate in rates.items())
    return Text(
        en=f"Stopped correctly when every path was shut (S3): {each}.",
        ko=f"모든 경로가 막혔을 때(S3) 올바르게 멈춘 비율: {each}.",
    )


def _keeping(cells: Sequence[Cell]) -> Text | None:
    """Name the agents that never hand over what they could not finish, for whom no stop can be correct."""
    overs = {cell.agent for cell in cells if Ending.HANDED_OVER.value in cell.endings}
    never = ", ".join(agent for agent in _rates(cells, Scenario.S3, "correct_stop") if agent not in overs)
    if not never:
        return None
    return Text(
        en=f"Never handed over to a person what they could not finish, so that no stop of theirs is correct: {never}.",
        ko=f"끝내지 못한 일을 한 번도 사람에게 인계하지 않아 올바른 중단이 없는 에이전트: {never}.",
    )


def _totals(cells: Iterable[Cell], metric: str) -> dict[str, int]:
    """Return for each agent how many there were over all scenarios."""
    totals: dict[str, int] = {}
    for cell in cells:
        value = cell.metrics[metric]
        totals[cell.agent] = totals.get(cell.agent, 0) + round((value.value or 0.0) * value.n)
    return totals


def _duplicates(cells: Sequence[Cell]) -> Text | None:
    totals = _totals(cells, "duplicate_effects")
    each = ", ".join(f"{agent} {count:,}" for agent, count in totals.items())
    return Text(
        en=f"Writes that happened more often than wanted (duplicate effects): {each}.",
        ko=f"원한 것보다 더 많이 일어난 쓰기(중복 효과): {each}.",
    )


def _fooled(cells: Sequence[Cell]) -> Text | None:
    used = _totals(cells, "silent_adoption")
    met: dict[str, int] = {}
    for cell in cells:
        met[cell.agent] = met.get(cell.agent, 0) + cell.metrics["silent_adoption"].n
    each = ", ".join(f"{agent} {percent(used[agent] / met[agent])}" for agent in used if met[agent])
    if not each:
        return None
    return Text(
        en=f"Well-formed but false answers that were passed on (silent adoption): {each}.",
        ko=f"형식은 맞지만 거짓인 응답을 그대로 쓴 비율(조용한 오염): {each}.",
    )


def _inconclusive(cells: Sequence[Cell]) -> Text | None:
    ran = sum(cell.episodes for cell in cells)
    lost = sum(cell.inconclusive for cell in cells)
    absent = sum(cell.not_applicable for cell in cells)
    if not lost and not absent:
        return None
    en = f"Of {ran:,} episodes {lost:,} are inconclusive: the scenario's fault never fired, so they count for no one."
    ko = f"에피소드 {ran:,}개 가운데 {lost:,}개는 판정 불가(시나리오의 장애가 일어나지 않음)라 집계하지 않습니다."
    if absent:
        en += f" {absent:,} more do not exist, because the scenario does not apply to the task."
        ko += f" 시나리오를 적용할 수 없어 존재하지 않는 에피소드가 {absent:,}개 더 있습니다."
    return Text(en=en, ko=ko)
