"""Code with its own tools: every call becomes a Step, whatever happens in it."""

import threading
from dataclasses import dataclass

import anyio
import pytest

from breakfall.errors import UsageError
from breakfall.ledger.capture import Capture
from breakfall.ledger.draft import Draft
from breakfall.vocab import (
    Applied,
    Cost,
    Effect,
    Expected,
    Failed,
    Ok,
    Predicate,
    Response,
    Uncertainty,
    VerificationStatus,
)


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self):
        self.steps = []

    def step(self, step):
        self.steps.append(step)


class Ticks:
    """A clock that goes on by a quarter of a second whenever it is read."""

    def __init__(self):
        self.now_s = 1_700_000_000.0

    def __call__(self):
        self.now_s += 0.25
        return self.now_s


@pytest.fixture
def sink():
    return Kept()


@pytest.fixture
def log(sink):
    return Capture(sink, episode="invoice-17", run="chat-3", agent="billing", agent_version="2.1", now=Ticks())


def test_a_block_becomes_a_step(log, sink):
    """A step says who did what for what, with what, when, and what came of it."""
    with log.step(
        "refund",
        expected="the refund of order O7",
        effect=Effect.WRITE,
        arguments={"order": "O7"},
        key="k1",
        strategy=Response.RETRY,
        attempt=2,
    ) as step:
        step.observe({"refund": "R1"}, status=201, size_bytes=17)
        step.used(tokens_in=120, tokens_cached=100, tokens_out=8, usd=0.001, model_calls=1)
        step.model_said("Done.\nUNCERTAINTY: low")
    [made] = sink.steps
    assert (made.episode, made.run, made.agent, made.agent_version) == ("invoice-17", "chat-3", "billing", "2.1")
    assert (made.n, made.call, made.tool, made.arguments) == (0, "c0", "refund", {"order": "O7"})
    assert (made.key, made.strategy, made.attempt, made.effect) == ("k1", Response.RETRY, 2, Effect.WRITE)
    assert made.expected_outcome == "the refund of order O7"
    assert made.observed_outcome == Ok(value={"refund": "R1"}, status=201)
    assert made.size_bytes == 17
    assert made.verification.status is VerificationStatus.NOT_DONE
    assert made.uncertainty_signal is Uncertainty.LOW
    assert made.cost == Cost(model_calls=1, tokens_in=120, tokens_cached=100, tokens_out=8, usd=0.001)
    assert (made.unix_s, made.at_s, made.took_s) == (1_700_000_000.5, 0.25, 0.25)


def test_an_exception_is_recorded_and_raised_on(log, sink):
    """The caller sees its own exception; the step holds class, message and HTTP status, and a write is in doubt."""

    class GatewayError(Exception):
        status_code = 503

    with pytest.raises(GatewayError), log.step("refund", expected="the refund", effect=Effect.WRITE):
        raise GatewayError("upstream is away")
    [made] = sink.steps
    failed = made.observed_outcome
    assert (failed.message, failed.status, failed.applied) == ("upstream is away", 503, Applied.UNKNOWN)
    assert failed.exception.endswith("GatewayError")


def test_an_exception_after_the_answer_keeps_the_answer(log, sink):
    """What the tool had answered is not lost when the block fails over it."""

    def total():
        with log.step("get", expected="the order", effect=Effect.READ) as step:
            answer = {"id": "O7"}
            step.observe(answer, status=200)
            return answer["total"]

    with pytest.raises(KeyError):
        total()
    failed = sink.steps[0].observed_outcome
    assert (failed.exception, failed.body, failed.status, failed.applied) == ("KeyError", '{"id":"O7"}', 200, "no")


def test_what_does_not_stop_at_exception_is_recorded_too(log, sink):
    """An interrupt ends the step like any exception."""
    with pytest.raises(KeyboardInterrupt), log.step("wait", expected="an answer", effect=Effect.READ):
        raise KeyboardInterrupt
    assert sink.steps[0].observed_outcome == Failed(message="KeyboardInterrupt", exception="KeyboardInterrupt")


def test_ok_over_an_error_status_is_a_failure(log, sink):
    """A parsed body does not make a 401 a success."""
    with log.step("refund", expected="the refund", effect=Effect.WRITE) as step:
        step.observe({"ok": True}, status=401)
    assert sink.steps[0].observed_outcome == Failed(
        message="HTTP 401", status=401, body='{"ok":true}', applied=Applied.UNKNOWN
    )


def test_a_failure_without_an_exception(log, sink):
    """A tool that answers with an error is recorded as it said."""
    with log.step("refund", expected="the refund", effect=Effect.WRITE) as step:
        step.failed("no such order", status=404, body="{}", applied=Applied.NO)
    assert sink.steps[0].observed_outcome == Failed(message="no such order", status=404, body="{}", applied=Applied.NO)


def test_a_step_that_observed_nothing_is_refused(log, sink):
    """The refusal names the field and what to do; nothing is written."""
    with (
        pytest.raises(UsageError, match=r"^Step needs observed_outcome; call `observe\(value\)`.*'refund'$"),
        log.step("refund", expected="the refund", effect=Effect.WRITE),
    ):
        pass
    assert sink.steps == []


def test_a_step_for_nothing_is_refused_before_it_begins(log, sink):
    """Without an expected outcome the block does not run."""
    with (
        pytest.raises(UsageError, match=r"^Step needs expected_outcome; say what the step was for$"),
        log.step("refund", expected="", effect=Effect.WRITE),
    ):
        pytest.fail("the block ran")
    assert sink.steps == []


def test_nesting_gives_parents(log, sink):
    """A step made inside the block of another names it; evidence names a step by its number."""
    with log.step("close_issue", expected="issue 42 is closed", effect=Effect.WRITE) as outer:
        outer.observe("ok")
        with log.step("get_issue", expected="issue 42", effect=Effect.READ) as inner:
            inner.observe({"state": "closed"})
        outer.verified(True, method="get_issue", evidence=inner.n)
    with log.step("after", expected="x", effect=Effect.READ) as step:
        step.observe(1)
    inside, outside, after = sink.steps
    assert (outside.n, inside.n, after.n) == (0, 1, 2)
    assert (inside.parent, outside.parent, after.parent) == (0, None, None)
    assert outside.verification.status is VerificationStatus.PASSED
    assert (outside.verification.by, outside.verification.evidence) == ("agent", 1)


def test_a_sub_agent_names_the_step_that_called_it(log, sink):
    """A parent in another episode is named with its episode."""
    helper = Capture(sink, episode="helper-1")
    with log.step("ask_helper", expected="an answer", effect=Effect.READ) as outer:
        with helper.step("search", expected="pages", effect=Effect.READ) as step:
            step.observe([])
        outer.observe("none found")
    assert (sink.steps[0].parent, sink.steps[0].parent_episode) == (0, "invoice-17")
    assert sink.steps[1].parent_episode == ""


def test_tasks_do_not_become_each_others_parents(log, sink):
    """Concurrent tasks inside one step are its children, not each other's."""

    @log.tool(expected="a page", effect=Effect.READ)
    async def fetch(page: int) -> int:
        await anyio.lowlevel.checkpoint()
        return page

    async def crawl():
        with log.step("crawl", expected="all pages", effect=Effect.READ) as outer:
            async with anyio.create_task_group() as group:
                for page in range(3):
                    group.start_soon(fetch, page)
            outer.observe("done")

    anyio.run(crawl)
    assert [step.parent for step in sink.steps] == [0, 0, 0, None]
    assert sorted(step.arguments["page"] for step in sink.steps[:3]) == [0, 1, 2]
    assert sorted(step.n for step in sink.steps) == [0, 1, 2, 3]


def test_threads_number_their_steps_once(log, sink):
    """No two steps of an episode share a number, whatever the threads do."""

    def work():
        for _ in range(200):
            with log.step("read", expected="x", effect=Effect.READ) as step:
                step.observe(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(step.n for step in sink.steps) == list(range(800))


def test_the_decorator_records_every_call(log, sink):
    """Arguments by name with their defaults, the value whole, and the function unchanged for its caller."""

    @log.tool(expected="the invoice", effect=Effect.READ)
    def get_invoice(number: int, currency: str = "EUR") -> dict:
        """Get it."""
        return {"number": number, "currency": currency}

    assert get_invoice(7) == {"number": 7, "currency": "EUR"}
    assert get_invoice.__doc__ == "Get it."
    [made] = sink.steps
    assert (made.tool, made.arguments) == ("get_invoice", {"number": 7, "currency": "EUR"})
    assert made.observed_outcome == Ok(value={"number": 7, "currency": "EUR"})
    assert made.verification.status is VerificationStatus.NOT_APPLICABLE


def test_the_decorator_raises_what_the_function_raises(log, sink):
    """An exception of a read is recorded as not applied."""

    @log.tool(expected="the invoice", effect=Effect.READ, name="invoices.get")
    def get_invoice():
        raise TimeoutError("10 s")

    with pytest.raises(TimeoutError):
        get_invoice()
    assert sink.steps[0].tool == "invoices.get"
    assert sink.steps[0].observed_outcome == Failed(message="10 s", exception="TimeoutError")


def test_the_decorator_awaits_async_functions(log, sink):
    """An async tool stays async, and its exception is recorded."""

    @log.tool(expected="the mail is sent", effect=Effect.WRITE)
    async def send(to: str) -> str:
        await anyio.lowlevel.checkpoint()
        if to == "nobody":
            raise ValueError("no such address")
        return "sent"

    assert anyio.run(send, "ann") == "sent"
    with pytest.raises(ValueError, match="no such address"):
        anyio.run(lambda: send(to="nobody"))
    assert sink.steps[0].observed_outcome == Ok(value="sent")
    assert sink.steps[1].observed_outcome.exception == "ValueError"
    assert sink.steps[1].arguments == {"to": "nobody"}


def test_what_a_call_is_for_may_depend_on_its_arguments(log, sink):
    """An expectation in parts names the target, and its predicate is held against the answer."""

    def expected(number):
        closed = Predicate(at="/state", is_="==", value="closed")
        return Expected(intent="read the issue", target=f"issue:{number}", predicate=(closed,))

    @log.tool(expected=expected, effect=Effect.READ)
    def get_issue(number):
        return {"state": "closed" if number == 1 else "open"}

    get_issue(1)
    get_issue(2)
    assert [step.expected_outcome.target for step in sink.steps] == ["issue:1", "issue:2"]
    assert [step.verification.status for step in sink.steps] == [VerificationStatus.PASSED, VerificationStatus.FAILED]


def test_methods_do_not_record_their_object(log, sink):
    """`self` is no argument of the tool."""

    class Desk:
        @log.tool(expected="the room", effect=Effect.WRITE)
        def book(self, room):
            return room

    Desk().book("R1")
    assert sink.steps[0].arguments == {"room": "R1"}


def test_generators_are_refused(log):
    """A function whose answer is not there when it returns cannot be decorated."""

    def pages():
        yield 1

    with pytest.raises(UsageError, match="'pages' yields its answer bit by bit"):
        log.tool(expected="pages", effect=Effect.READ)(pages)


def test_what_was_recorded_cannot_be_changed_afterwards(log, sink):
    """The step holds what was there when the call ended."""
    found = {"items": [1]}
    with log.step("get", expected="items", effect=Effect.READ, arguments=found) as step:
        step.observe(found)
        found["items"].append(2)
    assert sink.steps[0].arguments == {"items": [1]}
    assert sink.steps[0].observed_outcome == Ok(value={"items": [1]})


def test_python_values_are_recorded_whole(log, sink):
    """Objects that JSON does not know are recorded in its form."""

    @dataclass
    class Invoice:
        number: int
        tags: frozenset

    with log.step("get", expected="x", effect=Effect.READ) as step:
        step.observe([Invoice(7, frozenset({"b", "a"})), float("nan"), 2**70, object])
    value = sink.steps[0].observed_outcome.value
    assert value == [{"number": 7, "tags": ["a", "b"]}, "nan", str(2**70), "<class 'object'>"]


def test_how_an_exception_reads_can_be_told(sink):
    """A reader of exceptions that knows more than class and message takes their place; doubt about writes stays."""

    def failed_from(error):
        return Failed(message="read by hand", exception="X", retry_after_s=3.0)

    log = Capture(sink, failed_from=failed_from)
    with pytest.raises(ValueError, match="x"), log.step("refund", expected="x", effect=Effect.WRITE):
        raise ValueError("x")
    assert sink.steps[0].observed_outcome == Failed(
        message="read by hand", exception="X", retry_after_s=3.0, applied=Applied.UNKNOWN
    )


def test_reports_of_what_happened_elsewhere(log, sink):
    """A draft becomes a step; it may name its parent and evidence by their calls."""
    looked = log.record(_draft(call="look-1"))
    made = log.record(_draft(call="write-1", parent="look-1", evidence="look-1", took_s=2.0))
    assert (made.parent, made.verification.evidence) == (looked.n, looked.n)
    assert made.took_s == 2.0
    assert made.agent == "billing"
    with pytest.raises(UsageError, match="evidence is 'look-2', which is no call among the last 10,000"):
        log.record(_draft(evidence="look-2"))
    assert len(sink.steps) == 2


def test_only_the_last_calls_can_be_named(log, sink):
    """A long episode does not fill the memory: calls long ago are forgotten."""
    for n in range(10_002):
        log.record(_draft(call=f"call-{n}"))
    assert log.record(_draft(parent="call-10001")).parent == 10_001
    with pytest.raises(UsageError, match="parent is 'call-1', which is no call among the last 10,000"):
        log.record(_draft(parent="call-1"))


def test_what_a_tool_refused_by_itself_is_not_put_in_doubt(sink):
    """A reader of exceptions that knows a refusal for one is believed."""
    log = Capture(sink, failed_from=lambda error: Failed(message=str(error), native=True))
    with pytest.raises(ValueError, match="x"), log.step("refund", expected="x", effect=Effect.WRITE):
        raise ValueError("x")
    assert sink.steps[0].observed_outcome == Failed(message="x", native=True)


def _draft(**more):
    return Draft(
        tool="refund",
        expected_outcome="the refund",
        observed_outcome="ok",
        verification=VerificationStatus.PASSED,
        uncertainty_signal=Uncertainty.NONE,
        **more,
    )


def test_an_episode_without_a_name_gets_its_own(sink):
    """Two captures without a name do not write into one episode."""
    assert Capture(sink).episode != Capture(sink).episode
