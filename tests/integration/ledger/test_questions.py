"""The questions, asked of a folder and of a PostgreSQL database: the same answers from both."""

import pytest
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.ledger.questions import By, Filter, counts, known_run, runs
from breakfall.ledger.questions_cost import outliers, spending
from breakfall.ledger.questions_run import Change, compare, timeline
from breakfall.ledger.questions_search import search
from breakfall.ledger.questions_trouble import drift, grave, retries, unverified, verdicts
from breakfall.ledger.verdict import Incident, Judgement, Rule, StepVerdict, Trouble
from breakfall.vocab import (
    Cost,
    Effect,
    Expected,
    Failed,
    FaultKind,
    Ok,
    Response,
    Uncertainty,
    Verification,
    VerificationStatus,
)

ALL = Filter()
NOT_DONE = Verification(status=VerificationStatus.NOT_DONE)
FAILED = Verification(status=VerificationStatus.FAILED, method="get_order", by="runtime", evidence=3)
PASSED = Verification(status=VerificationStatus.PASSED, method="get_order", by="runtime", evidence=3)
BUSY = Failed(message="busy", kind=FaultKind.SERVER_ERROR, status=503)


@pytest.fixture
def story(make):
    """Two runs of `shop`, one of `desk`: one error, three warnings, a chain of three tries, tokens."""
    tokens = [Cost(tokens_in=100 + n, tokens_cached=50, tokens_out=10, usd=0.001) for n in range(9)]
    return [
        make("run-a", 0, cost=tokens[0]),
        make("run-a", 1, cost=tokens[1], observed_outcome=BUSY),
        make("run-a", 2, cost=tokens[2], call="c1", attempt=2, strategy=Response.RETRY, observed_outcome=BUSY),
        make("run-a", 3, call="c1", tool="get_order_copy", path_of="get_order", strategy=Response.SWITCH),
        make("run-a", 4, call="c4", tool="refund", effect=Effect.WRITE, verification=FAILED,
             expected_outcome="refund O1"),
        make("run-a", 5, call="c4", purpose="probe", strategy=Response.VERIFY),
        make("run-b", 0, cost=tokens[3], agent_version="2.0", unix_s=1_700_010_000.0),
        make("run-b", 1, cost=Cost(tokens_in=5000, tokens_out=10), agent_version="2.0", unix_s=1_700_010_001.0),
        make("run-b", 2, cost=tokens[4], agent_version="2.0", unix_s=1_700_010_002.0),
        make("run-b", 3, tool="refund", effect=Effect.WRITE, verification=NOT_DONE, expected_outcome="refund O2",
             agent_version="2.0", unix_s=1_700_010_003.0),
        make("run-b", 4, tool="refund", effect=Effect.WRITE, verification=PASSED, expected_outcome="refund O3",
             agent_version="2.0", uncertainty_signal=Uncertainty.HIGH, unix_s=1_700_010_004.0),
        make("call-1", 0, run="talk", agent="desk", agent_version="", unix_s=1_700_020_000.0,
             expected_outcome=Expected(intent="close the issue", target="issue:42"), tool="close", effect=Effect.WRITE,
             verification=NOT_DONE, incomplete=("uncertainty_signal",), uncertainty_signal=Uncertainty.MISSING),
    ]  # fmt: skip


def test_runs(told, story):
    """Every run is listed with what it did, the latest first; episodes of one conversation are one run."""
    with told(story) as ledger:
        found = runs(ledger, ALL)
        assert [(run.run, run.agent, run.version) for run in found] == [
            ("talk", "desk", ""),
            ("run-b", "shop", "2.0"),
            ("run-a", "shop", "1.0"),
        ]
        assert [(run.steps, run.errors, run.warnings, run.unverified, run.incomplete) for run in found] == [
            (1, 0, 1, 1, 1),
            (5, 0, 2, 1, 0),
            (6, 1, 0, 0, 0),
        ]
        assert [run.tokens for run in found] == [0, 113 + 5010 + 114, 110 + 111 + 112]
        assert found[1].usd == pytest.approx(0.002)
        assert found[1].lasted_s == pytest.approx(4.5)
        assert [run.run for run in runs(ledger, Filter(agent="shop", version="1.0"))] == ["run-a"]
        assert [run.run for run in runs(ledger, Filter(since_s=1_700_010_000.0), limit=5)] == ["talk", "run-b"]
        assert [run.run for run in runs(ledger, Filter(until_s=1_700_010_000.0))] == ["run-a"]
        assert len(runs(ledger, ALL, limit=1)) == 1
        assert [run.run for run in runs(ledger, ALL, grave=True)] == ["talk", "run-b", "run-a"]


def test_a_run_is_found_by_a_part_of_its_name(told, story):
    """A part that one run alone has is enough, in any case; otherwise the error shows what fits."""
    with told(story) as ledger:
        assert known_run(ledger, "run-a") == "run-a"
        assert known_run(ledger, "ALK") == "talk"
        with pytest.raises(UsageError, match="'run' names more than one run \\(run-a, run-b, …\\)"):
            known_run(ledger, "run")
        for name in ("nothing", "r%a", "run_a"):
            with pytest.raises(UsageError, match=f"no run '{name}'"):
                known_run(ledger, name)


def test_a_timeline_holds_every_step_whole(told, story):
    """The steps come back as they were written, in order, each with the reason for its severity."""
    with told(story) as ledger:
        found = timeline(ledger, "run-a")
        assert [moment.step for moment in found] == story[:6]
        assert [moment.line.severity for moment in found] == ["info"] * 4 + ["error", "info"]
        assert found[4].reason == "verification failed by get_order"
        assert [moment.step.n for moment in timeline(ledger, "run-a", limit=2)] == [4, 5]


def test_a_timeline_is_in_the_order_of_time_whoever_wrote_when(where, write, make):
    """Steps of one run that several processes wrote, and a parent that is written after its child, stand in order."""
    from breakfall.ledger.store import open_ledger

    write([make("run", 2), make("run", 5)])
    write([make("run", 4, parent=3), make("run", 3), make("run", 0)])
    with open_ledger(where) as ledger:
        assert [moment.step.n for moment in timeline(ledger, "run")] == [0, 2, 3, 4, 5]
        assert [moment.step.n for moment in timeline(ledger, "run", limit=2)] == [4, 5]


def test_large_values_come_back_in_a_timeline(told, make):
    """A value of 300 KB is whole wherever it was kept."""
    page = "".join(f"word{n}, " for n in range(30_000))
    with told([make("run", 0, observed_outcome=Ok(value={"page": page}))]) as ledger:
        (moment,) = timeline(ledger, "run")
        assert moment.step.observed_outcome == Ok(value={"page": page})


def test_counts_by_tool(told, story):
    """Errors first: how many steps, errors, warnings, failed calls each tool has, with intervals of the rates."""
    with told(story) as ledger:
        found = counts(ledger, By.TOOL, ALL)
        assert [(one.name, one.steps, one.errors, one.warnings, one.failed) for one in found] == [
            ("refund", 3, 1, 2, 0),
            ("close", 1, 0, 1, 0),
            ("get_order", 7, 0, 0, 2),
            ("get_order_copy", 1, 0, 0, 0),
        ]
        assert found[0].error_rate.low < 1 / 3 < found[0].error_rate.high
        assert found[0].warning_rate.low < 2 / 3 < found[0].warning_rate.high


def test_counts_by_the_rest(told, story):
    """The same by intent, agent, agent version, and hour; the sums agree."""
    with told(story) as ledger:
        assert [one.name for one in counts(ledger, By.INTENT, ALL)] == ["refund #", "close the issue", "the order #"]
        assert [(one.name, one.steps) for one in counts(ledger, By.AGENT, ALL)] == [("shop", 11), ("desk", 1)]
        assert [(one.name, one.steps) for one in counts(ledger, By.VERSION, ALL)] == [
            ("shop 1.0", 6),
            ("shop 2.0", 5),
            ("desk", 1),
        ]
        hours = counts(ledger, By.HOUR, ALL)
        assert [(int(one.name) - 1_700_000_000 + 1_700_000_000 % 3600, one.steps) for one in hours] == [
            (0, 6),
            (3 * 3600, 5),
            (5 * 3600, 1),
        ]
        for by in By:
            assert sum(one.steps for one in counts(ledger, by, ALL)) == 12
        assert [one.name for one in counts(ledger, By.TOOL, Filter(version="2.0"), limit=1)] == ["refund"]
        assert counts(ledger, By.TOOL, Filter(tool="nothing")) == []


def test_sums_of_hours_agree_with_the_steps(told, story, make):
    """Whether a question is answered from the sums of whole hours or from single steps makes no difference."""
    timeless = make("run-t", 0, unix_s=None)
    with told([*story, replace(timeless, unix_s=1_700_030_000.0)]) as ledger:
        for by in By:
            for since_s, until_s in (
                (0.0, 1_700_010_000.0),
                (1_700_010_000.0, 2e9),
                (1_699_999_200.0, 1_700_006_400.0),
            ):
                near = 3600.0 * (since_s // 3600)
                whole = Filter(since_s=near, until_s=3600.0 * (until_s // 3600), agent="shop")
                split = [
                    counts(ledger, by, replace(whole, until_s=near + 0.5)),
                    counts(ledger, by, replace(whole, since_s=near + 0.5)),
                ]
                sums = (
                    sum(one.steps for part in split for one in part),
                    sum(one.errors for part in split for one in part),
                )
                found = counts(ledger, by, whole)
                assert (sum(one.steps for one in found), sum(one.errors for one in found)) == sums
        assert [one.intent for one in spending(ledger, Filter(since_s=1_700_000_001.5))] == ["the order #"]
        assert spending(ledger, Filter(agent="shop"))[0] == spending(ledger, ALL)[0]


def test_spending_by_intent(told, story, make):
    """Tokens and dollars by intent with median, 95th percentile and the highest over the median."""
    many = [make("run-c", n, cost=Cost(tokens_in=n + 1, usd=0.5), expected_outcome="sum up") for n in range(100)]
    with told([*story, *many]) as ledger:
        first, second = spending(ledger, ALL)
        assert (first.intent, first.steps, first.counted) == ("the order #", 8, 6)
        assert (first.tokens, first.tokens_cached, first.median, first.highest) == (5570, 250, 112, 5010)
        assert (first.ratio, first.outliers) == (44.73, 1)
        assert (second.intent, second.median, second.p95, second.highest, second.usd) == ("sum up", 50, 95, 100, 50.0)
        assert second.outliers == 0
        assert spending(ledger, ALL, times=1.8)[1].outliers == 11
        assert [one.intent for one in spending(ledger, Filter(run="run-c"))] == ["sum up"]


def test_outliers_are_named(told, story):
    """The step that cost far more than its intent usually does is shown with its run and the ratio."""
    with told(story) as ledger:
        (one,) = outliers(ledger, ALL)
        assert (one.step.run, one.step.n, one.step.tokens, one.median, one.ratio) == ("run-b", 1, 5010, 112, 44.73)
        assert len(outliers(ledger, ALL, times=1.0)) == 4
        assert outliers(ledger, Filter(run="run-a")) == []


def test_unverified_writes_and_grave_steps(told, story):
    """The writes nobody verified, the errors and the warnings are listed, the latest first."""
    with told(story) as ledger:
        assert [(line.run, line.n) for line in unverified(ledger, ALL)] == [("talk", 0), ("run-b", 3)]
        assert [(line.run, line.n) for line in unverified(ledger, Filter(tool="refund"))] == [("run-b", 3)]
        assert [(line.run, line.n) for line in grave(ledger, ALL, "error")] == [("run-a", 4)]
        assert [(line.run, line.n) for line in grave(ledger, ALL, "warning")] == [
            ("talk", 0),
            ("run-b", 4),
            ("run-b", 3),
        ]


def test_verdicts(told, story):
    """What the watchdog said is listed, counted by run, and stands at its step in the timeline; each once."""

    def verdict(name, judgement, n, **more):
        return StepVerdict(
            id=name, judgement=judgement, rule=Rule.REREAD, why=f"why {name}", episode="run-b", n=n, tool="refund",
            agent="shop", unix_s=1_700_010_010.0 + (n or 0), **more
        )  # fmt: skip

    lines = [
        verdict("v1", Judgement.CONTRADICTED, 3),
        verdict("v1", Judgement.CONTRADICTED, 3),
        verdict("v2", Judgement.CONFIRMED, 4),
        verdict("v3", Judgement.FABRICATED_STEP, None),
        Incident(id="i1", trouble=Trouble.LOOP, why="the same call again", episode="call-1", run="talk", unix_s=1.7e9),
    ]
    with told([*story, *lines]) as ledger:
        found = verdicts(ledger, ALL)
        assert [(one.judgement, one.run, one.n) for one in found] == [
            ("contradicted", "run-b", 3),
            ("fabricated_step", "run-b", None),
            ("incident", "talk", None),
        ]
        assert [one.rule for one in found] == ["reread", "reread", "loop"]
        assert len(verdicts(ledger, ALL, every=True)) == 4
        assert len(verdicts(ledger, Filter(agent="shop", since_s=1_700_010_013.0))) == 1
        assert {run.run: run.alarms for run in runs(ledger, ALL)} == {"run-a": 0, "run-b": 2, "talk": 1}
        told_of = {moment.step.n: [one.why for one in moment.verdicts] for moment in timeline(ledger, "run-b")}
        assert told_of == {0: [], 1: [], 2: [], 3: ["why v1"], 4: ["why v2"]}
        assert ledger.db.read_only("SELECT count(*) FROM verdicts WHERE alarming = 1")[1] == [(3,)]


def test_retry_chains(told, story):
    """A call's tries are counted over paths; look-ups are no tries."""
    with told(story) as ledger:
        (chain,) = retries(ledger, ALL)
        assert (chain.run, chain.call, chain.attempts) == ("run-a", "c1", 3)
        assert chain.tools == ("get_order", "get_order", "get_order_copy")
        assert chain.outcomes == ("server_error", "server_error", "ok")
        assert chain.recovered
        assert chain.lasted_s == 2.5
        assert retries(ledger, Filter(agent="desk")) == []


def test_certainty_over_the_length_of_a_task(told, make):
    """Tasks of any length are cut into the same number of parts, and what the model said is counted in each."""
    low, none, missing = Uncertainty.LOW, Uncertainty.NONE, Uncertainty.MISSING
    steps = [make("long", n, uncertainty_signal=low if n >= 8 else none) for n in range(10)]
    steps += [make("short", 0, uncertainty_signal=none), make("short", 1, uncertainty_signal=missing)]
    with told(steps) as ledger:
        found = drift(ledger, ALL, parts=5)
        assert [(one.part, one.steps, one.none, one.low, one.missing) for one in found] == [
            (0, 3, 3, 0, 0),
            (1, 2, 2, 0, 0),
            (2, 3, 2, 0, 1),
            (3, 2, 2, 0, 0),
            (4, 2, 0, 2, 0),
        ]
        assert [one.uncertain for one in found] == [0.0, 0.0, 0.0, 0.0, 1.0]
        assert drift(ledger, Filter(run="short"), parts=2)[1].uncertain is None


def test_two_runs_are_held_against_each_other(told, story, make):
    """Steps of the same tool and intent are paired; what differs, and what only one run has, is told."""
    other = [
        make("run-z", 0),
        make("run-z", 1, observed_outcome=Ok(value=1)),
        make("run-z", 2, tool="refund", effect=Effect.WRITE, verification=PASSED, expected_outcome="refund O9"),
        make("run-z", 3, tool="message", effect=Effect.WRITE, verification=PASSED),
    ]
    with told([*story, *other]) as ledger:
        found = compare(ledger, "run-a", "run-z")
        assert [(pair.change, pair.a and pair.a.n, pair.b and pair.b.n) for pair in found.pairs] == [
            (Change.SAME, 0, 0),
            (Change.CHANGED, 1, 1),
            (Change.ONLY_A, 2, None),
            (Change.ONLY_A, 3, None),
            (Change.CHANGED, 4, 2),
            (Change.ONLY_A, 5, None),
            (Change.ONLY_B, None, 3),
        ]
        assert [pair.fields for pair in found.pairs if pair.change is Change.CHANGED] == [
            ("outcome",),
            ("severity", "verification"),
        ]
        assert len(found.differences) == 6
        assert (found.a.errors, found.b.errors) == (1, 0)


def test_a_run_is_the_same_as_itself(told, story):
    """Held against itself a run has no difference."""
    with told(story) as ledger:
        assert compare(ledger, "run-a", "run-a").differences == ()


def test_search(told, story, make):
    """Every word must begin a word of the step, in any case, order and script; the latest steps come first."""
    korean = make("run-k", 0, observed_outcome=Ok(value={"메모": "주문을 취소했습니다"}), expected_outcome="주문 취소")
    broken = make("run-k", 1, observed_outcome=Failed(message="Card declined (insufficient_funds)", status=402))
    with told([*story, korean, broken]) as ledger:

        def found(text, which=ALL):
            return [(hit.line.run, hit.line.n) for hit in search(ledger, text, which)]

        assert found("주문을") == [("run-k", 0)]
        assert found("주문 취소했") == [("run-k", 0)]
        assert found("메모") == [("run-k", 0)]
        assert found("DECLINED card") == [("run-k", 1)]
        assert found("insufficient funds 402") == [("run-k", 1)]
        assert found("declined refund") == []
        assert found("refund", Filter(run="run-a")) == [("run-a", 4)]
        assert found("refund") == [("run-b", 4), ("run-b", 3), ("run-a", 4)]
        assert found("issue:42") == [("talk", 0)]
        assert found("order", Filter(run="run-b")) == [("run-b", n) for n in (4, 3, 2, 1, 0)]
        (hit,) = search(ledger, "funds", ALL)
        assert "Card declined (insufficient_funds)" in hit.excerpt
        with pytest.raises(UsageError, match="holds no word"):
            search(ledger, "!?", ALL)


def test_search_follows_what_is_added(where, write, told, make):
    """Steps that come after a search are found by the next one."""
    from breakfall.ledger.store import open_ledger

    with told([make("run", 0, arguments={"note": "alpha"})]) as ledger:
        assert len(search(ledger, "alpha", ALL)) == 1
    write([make("run", 1, arguments={"note": "alpha beta"})])
    with open_ledger(where) as ledger:
        assert len(search(ledger, "alpha", ALL)) == 2
        assert len(search(ledger, "beta", ALL)) == 1


def test_sql_of_ones_own(told, story):
    """The views hold names, the same in both; nothing can be changed, and an error is told."""
    with told(story) as ledger:
        names, rows = ledger.db.read_only(
            "SELECT tool, count(*) AS steps FROM steps WHERE severity <> 'info' GROUP BY tool ORDER BY tool"
        )
        assert names == ["tool", "steps"]
        assert rows == [("close", 1), ("refund", 3)]
        assert ledger.db.read_only("SELECT run FROM runs ORDER BY run")[1] == [("run-a",), ("run-b",), ("talk",)]
        assert ledger.db.read_only("SELECT episode, run FROM episodes WHERE run <> episode")[1] == [("call-1", "talk")]
        for wrong in ("SELEKT 1", "DELETE FROM bf_steps", "SELECT nothing FROM steps"):
            with pytest.raises(UsageError, match="this SQL cannot be run"):
                ledger.db.read_only(wrong)
        assert ledger.db.read_only("SELECT count(*) FROM steps")[1] == [(12,)]


def test_names_of_any_length_and_content(told, make):
    """Very long and strange names are grouped by their beginning and lose nothing in the line."""
    long = "x" * 5000
    odd = replace(make("run\0\n'; DROP TABLE bf_steps; --", 0), tool=long, expected_outcome=long)
    with told([odd]) as ledger:
        (one,) = counts(ledger, By.TOOL, ALL)
        assert one.name == "x" * 499 + "…"
        (run,) = runs(ledger, ALL)
        (moment,) = timeline(ledger, run.run)
        assert moment.step == odd
