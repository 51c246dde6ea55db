"""JUnit: one test case per agent, scenario and task, over its seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree  # we write, and read nothing

from breakfall.bench.score import EpisodeScore
from breakfall.vocab import NotApplicable, Scenario

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_Case = tuple[str, str, str, Scenario, str]


def document(scores: Sequence[EpisodeScore], missing: Sequence[NotApplicable]) -> bytes:
    """Write the test cases: failed where a conclusive seed failed, skipped where no seed is conclusive.

    Under S3 an episode is good when it stopped correctly, elsewhere when the world's checker passed it.
    """
    cases: dict[_Case, tuple[list[EpisodeScore], list[NotApplicable]]] = {}
    for score in scores:
        cases.setdefault(_case(score), ([], []))[0].append(score)
    for line in missing:
        cases.setdefault(_case(line), ([], []))[1].append(line)
    root = ElementTree.Element("testsuites", name="breakfall")
    suites: dict[tuple[str, ...], ElementTree.Element] = {}
    for case in sorted(cases):
        suite = suites.get(case[:4])
        if suite is None:
            name = "/".join((case[0], case[1], case[3], case[2]))
            suite = suites[case[:4]] = ElementTree.SubElement(root, "testsuite", name=name)
        _add(suite, case, *cases[case])
    for element in (*suites.values(), root):
        found = list(element.iter("testcase"))
        element.set("tests", str(len(found)))
        element.set("failures", str(sum(one.find("failure") is not None for one in found)))
        element.set("skipped", str(sum(one.find("skipped") is not None for one in found)))
        element.set("errors", "0")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _case(line: EpisodeScore | NotApplicable) -> _Case:
    key = line.key
    return key.world, key.condition, key.agent, key.scenario, key.task


def _add(
    suite: ElementTree.Element, case: _Case, scores: Sequence[EpisodeScore], missing: Sequence[NotApplicable]
) -> None:
    element = ElementTree.SubElement(
        suite,
        "testcase",
        classname=clean(f"{case[0]}.{case[1]}.{case[3]}.{case[2]}"),
        name=clean(case[4]),
        time=f"{sum(score.cost.seconds for score in scores):.6f}",
    )
    conclusive = [score for score in scores if score.conclusive]
    failed = [score for score in conclusive if not good(score)]
    if failed:
        message = f"{len(failed)} of {len(conclusive)} conclusive seeds failed"
        failure = ElementTree.SubElement(element, "failure", message=message, type="recovery")
        failure.text = clean("\n".join(f"seed {score.key.seed}: {reason(score)}" for score in failed))
    elif not conclusive:
        why = missing[0].reason if missing else "inconclusive: the scenario's fault never fired"
        ElementTree.SubElement(element, "skipped", message=clean(why))


def good(score: EpisodeScore) -> bool:
    """Whether an episode is what its scenario asks for."""
    return bool(score.correct_stop) if score.key.scenario is Scenario.S3 else score.passed


def reason(score: EpisodeScore) -> str:
    """Say in one line why an episode is not good."""
    counts = (
        ("forbidden effects", score.forbidden_effects),
        ("duplicate effects", score.duplicate_effects),
        ("wrong effects", score.wrong_effects),
        ("false values used", sum(bool(met.adopted) for met in score.faults)),
        ("futile calls", score.futile_calls),
    )
    parts = [f"{count} {name}" for name, count in counts if count]
    if score.key.scenario is Scenario.S3 and score.stop_flaw:
        parts.insert(0, score.stop_flaw.text)
    if score.error:
        parts.append(score.error)
    return f"{score.ending}; " + ("; ".join(parts) or "the task was not done")


def clean(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
