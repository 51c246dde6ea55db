"""Export to OpenTelemetry over OTLP/HTTP: a span a step, under a span of its agent, sent and answered batch by batch.

The exporter is called directly and its answer awaited: a batch processor would drop spans under load. The same ledger
gives the same trace and span ids, so what is sent again is recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from breakfall.errors import StoreError, UsageError
from breakfall.ledger import otel_names as names
from breakfall.ledger.export import Count, Part, as_json, counted, lines
from breakfall.ledger.severity import Ruling, Severity, rule
from breakfall.ledger.source import Source
from breakfall.ledger.verdict import StepVerdict
from breakfall.vocab import Ok, Step, VerificationStatus

try:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExportResult
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, TraceFlags
    from opentelemetry.trace.status import Status, StatusCode
except ImportError as missing:
    raise UsageError(
        f"OTLP needs the OpenTelemetry SDK and its OTLP exporter, which cannot be imported ({missing}); "
        "pip install 'breakfall[otel]'"
    ) from None

BATCH_BYTES = 4 * 1024 * 1024
"""About how many bytes of values are sent at once."""
BATCH_SPANS = 500

_JSON = "application/json"
_LEVELS = {
    Severity.INFO: ("DEFAULT", 9),
    Severity.WARNING: ("WARNING", 13),
    Severity.ERROR: ("ERROR", 17),
}
"""What Langfuse and Logfire call each severity."""
_LOOKED = frozenset({VerificationStatus.PASSED, VerificationStatus.FAILED})
_SCOPE = InstrumentationScope("breakfall.ledger")
_FLAGS = TraceFlags(TraceFlags.SAMPLED)

Attributes = dict[str, str | int | float | bool]
Send = Callable[[Sequence[ReadableSpan]], None]


def to_otlp(
    source: Source, endpoint: str, part: Part, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0
) -> Count:
    """Send steps to an OTLP/HTTP receiver, each acknowledged before the next batch goes.

    Args:
        source: The ledger's lines.
        endpoint: Where spans are taken, such as ``http://127.0.0.1:4318/v1/traces``.
        part: Which steps.
        headers: What the receiver asks for, such as its key.
        timeout_s: How long one batch may take, further tries included.

    Raises:
        StoreError: The receiver did not take a batch; what came before it is there.
    """
    exporter = OTLPSpanExporter(endpoint=endpoint, headers=dict(headers or {}), timeout=timeout_s)

    def send(spans: Sequence[ReadableSpan]) -> None:
        if exporter.export(spans) is not SpanExportResult.SUCCESS:
            raise StoreError(
                f"{endpoint}: did not take {len(spans)} spans, from {spans[0].name} on; those before were taken. Check "
                "the address, its headers and the receiver's limit of size, then export again: ids stay the same"
            )

    count = Count()
    shipment = Shipment(send)
    try:
        verdicts = _verdicts(source, part)
        for line in lines(source, part):
            counted(line, count)
            if isinstance(line, Step):
                shipment.add(line, verdicts.get((line.episode, line.n), []))
        shipment.end()
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]
    return count


def _verdicts(source: Source, part: Part) -> dict[tuple[str, int | None], list[StepVerdict]]:
    """Collect what the watchdog said, by the step that it is about."""
    found: dict[tuple[str, int | None], list[StepVerdict]] = {}
    for line in lines(source, Part(run=part.run)):
        if isinstance(line, StepVerdict):
            found.setdefault((line.episode, line.n), []).append(line)
    return found


class _Agent(Struct):
    """The span of an episode while its steps come."""

    trace: str
    run: str
    episode: str
    agent: str
    version: str
    begun_ns: int
    ended_ns: int


class Shipment:
    """Builds spans and hands them on in batches.

    Args:
        send: Takes a batch, or raises.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._batch: list[ReadableSpan] = []
        self._bytes = 0
        self._agents: dict[str, _Agent] = {}
        self._seen: set[tuple[str, int]] = set()

    def add(self, step: Step, verdicts: Sequence[StepVerdict]) -> None:
        """Add the span of a step, with what the watchdog said of it."""
        agent = self._agent(step)
        again = (step.episode, step.n) in self._seen  # a task that came back after a restart numbers its steps anew
        self._seen.add((step.episode, step.n))
        salt = f" {step.call} {step.attempt} {step.unix_s}" if again else ""
        context = _context(agent.trace, f"step {step.episode} {step.n}{salt}")
        parent = f"agent {step.episode}" if step.parent is None else f"step {_caller(step)} {step.parent}"
        begun_ns, ended_ns = _times(step)
        ruling = rule(step)
        span = ReadableSpan(
            name=f"{names.EXECUTE_TOOL} {step.tool}",
            context=context,
            parent=_context(agent.trace, parent),
            resource=_resource(step),
            attributes=attributes(step, ruling),
            events=_events(step, verdicts, ended_ns),
            status=_status(step, ruling),
            start_time=begun_ns,
            end_time=ended_ns,
            instrumentation_scope=_SCOPE,
        )
        self._take(span)

    def end(self) -> None:
        """Add the spans of the agents, and send what is left."""
        for agent in self._agents.values():
            self._take(_agent_span(agent))
        self._agents.clear()
        self._ship()

    def _agent(self, step: Step) -> _Agent:
        begun_ns, ended_ns = _times(step)
        agent = self._agents.get(step.episode)
        if agent is None:
            trace = step.run or step.episode
            agent = _Agent(trace, trace, step.episode, step.agent, step.agent_version, begun_ns, ended_ns)
            self._agents[step.episode] = agent
        agent.begun_ns, agent.ended_ns = min(agent.begun_ns, begun_ns), max(agent.ended_ns, ended_ns)
        return agent

    def _take(self, span: ReadableSpan) -> None:
        size = sum(len(value) for value in (span.attributes or {}).values() if isinstance(value, str))
        if self._batch and (self._bytes + size > BATCH_BYTES or len(self._batch) >= BATCH_SPANS):
            self._ship()
        self._batch.append(span)
        self._bytes += size

    def _ship(self) -> None:
        if self._batch:
            self._send(self._batch)
        self._batch, self._bytes = [], 0


def attributes(step: Step, ruling: Ruling) -> Attributes:
    """Return the attributes of a step's span."""
    level, number = _LEVELS[ruling.severity]
    arguments, outcome = as_json(step.arguments), step.observed_outcome
    found: dict[str, str | int | float | bool | None] = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: step.tool,
        names.TOOL_TYPE: "function",
        names.CALL_ID: step.call,
        names.CONVERSATION: step.run or step.episode,
        names.AGENT_NAME: step.agent or None,
        names.AGENT_VERSION: step.agent_version or None,
        names.TOOL_ARGUMENTS: arguments,
        names.INPUT_VALUE: arguments,
        names.INPUT_MIME: _JSON,
        names.OUTPUT_MIME: _JSON,
        names.HTTP_STATUS: outcome.status,
        names.OPENINFERENCE_KIND: names.OPENINFERENCE_TOOL,
        names.OPENINFERENCE_TOOL_NAME: step.tool,
        names.INTENT: step.intent,
        names.EXPECTED_OUTCOME: str(step.expected_outcome),
        names.VERIFICATION_STATUS: step.verification.status.value,
        names.VERIFICATION_EVIDENCE: step.verification.evidence,
        names.VERIFICATION_BY: step.verification.by or None,
        names.UNCERTAINTY: step.uncertainty_signal.value,
        names.SEVERITY: ruling.severity.value,
        names.LANGFUSE_LEVEL: level,
        names.LOGFIRE_LEVEL: number,
        names.LANGSMITH_KIND: "tool",
        names.METADATA: as_json(_metadata(step, ruling)),
    }
    if isinstance(outcome, Ok):
        found[names.TOOL_RESULT] = found[names.OUTPUT_VALUE] = as_json(outcome.value)
    else:
        found[names.ERROR_TYPE] = outcome.exception or outcome.failure_class
        found[names.OUTPUT_VALUE] = as_json(outcome)
    if step.cost is not None:
        found[names.TOKENS_IN] = step.cost.tokens_in
        found[names.TOKENS_CACHED] = step.cost.tokens_cached
        found[names.TOKENS_OUT] = step.cost.tokens_out
    return {name: value for name, value in found.items() if value is not None}


def _metadata(step: Step, ruling: Ruling) -> dict[str, Any]:
    """Return what is worth filtering by where only `metadata` can be: the small facts of a step."""
    found = {
        "severity": ruling.severity.value,
        "reason": ruling.reason,
        "intent": step.intent,
        "verification": step.verification.status.value,
        "uncertainty": step.uncertainty_signal.value,
        "effect": step.effect,
        "attempt": step.attempt,
        "strategy": step.strategy,
        "episode": step.episode,
        "n": step.n,
        "incomplete": step.incomplete,
    }
    return {name: value for name, value in found.items() if value not in (None, "", ())}


def _events(step: Step, verdicts: Sequence[StepVerdict], at_ns: int) -> list[Event]:
    events = []
    outcome, looked = step.observed_outcome, step.verification
    if not isinstance(outcome, Ok):
        told = {
            names.EXCEPTION_TYPE: outcome.exception or outcome.failure_class,
            names.EXCEPTION_MESSAGE: outcome.message,
        }
        events.append(Event(names.EXCEPTION_EVENT, told, at_ns))
    if looked.status in _LOOKED:
        events.append(_evaluation("verification", looked.status.value, f"{looked.by} {looked.method}".strip(), at_ns))
    for verdict in verdicts:
        at = max(at_ns, round(verdict.unix_s * 1e9))
        events.append(_evaluation("watchdog", verdict.judgement.value, verdict.why, at))
    return events


def _evaluation(name: str, label: str, why: str, at_ns: int) -> Event:
    told = {names.EVALUATION_NAME: name, names.EVALUATION_LABEL: label, names.EVALUATION_EXPLANATION: why}
    return Event(names.EVALUATION_EVENT, {key: value for key, value in told.items() if value}, at_ns)


def _status(step: Step, ruling: Ruling) -> Status:
    outcome = step.observed_outcome
    if ruling.severity is Severity.ERROR:
        return Status(StatusCode.ERROR, ruling.reason)
    return Status(StatusCode.OK) if isinstance(outcome, Ok) else Status(StatusCode.ERROR, outcome.message)


def _agent_span(agent: _Agent) -> ReadableSpan:
    found: Attributes = {
        names.OPERATION: names.INVOKE_AGENT,
        names.CONVERSATION: agent.run,
        names.OPENINFERENCE_KIND: names.OPENINFERENCE_AGENT,
        names.LANGSMITH_KIND: "chain",
    }
    found |= {names.AGENT_NAME: agent.agent} if agent.agent else {}
    found |= {names.AGENT_VERSION: agent.version} if agent.version else {}
    return ReadableSpan(
        name=f"{names.INVOKE_AGENT} {agent.agent}".strip(),
        context=_context(agent.trace, f"agent {agent.episode}"),
        resource=_named_resource(agent.agent, agent.version),
        attributes=found,
        start_time=agent.begun_ns,
        end_time=agent.ended_ns,
        instrumentation_scope=_SCOPE,
    )


def _resource(step: Step) -> Resource:
    return _named_resource(step.agent, step.agent_version)


def _named_resource(agent: str, version: str) -> Resource:
    return Resource({names.SERVICE_NAME: agent or "breakfall", names.SERVICE_VERSION: version})


def _caller(step: Step) -> str:
    return step.parent_episode or step.episode


def _times(step: Step) -> tuple[int, int]:
    """Return when a step began and ended, in ns since 1970; a bench has no such time, and begins there."""
    begun_s = step.at_s if step.unix_s is None else step.unix_s
    return round(begun_s * 1e9), round((begun_s + step.took_s) * 1e9)


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(
        _number(f"trace {trace}", 16), _number(f"{trace} {span}", 8), is_remote=False, trace_flags=_FLAGS
    )


def _number(name: str, size: int) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=size).digest()) or 1
