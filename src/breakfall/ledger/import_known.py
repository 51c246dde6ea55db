"""The mappings that come along: OpenTelemetry GenAI spans, LangSmith runs, Langfuse observations, plain JSON lines."""

from __future__ import annotations

from breakfall.ledger import otel_names as otel
from breakfall.ledger.draft import FIELDS
from breakfall.ledger.import_mapping import Mapping, Shape, Source


def _attribute(*names: str) -> tuple[str, ...]:
    return tuple(f"/attributes/{name}" for name in names)


def _metadata(holder: str) -> dict[str, Source]:
    """Return where the fields stand that only breakfall asks for: under their own names in the metadata."""
    own = ("expected_outcome", "verification", "uncertainty_signal", "effect", "agent", "method", "by")
    return {name: Source(at=f"{holder}/{name}") for name in own}


_OTLP = Mapping(
    shape=Shape.OTLP,
    only=(
        {f"/attributes/{otel.OPERATION}": (otel.EXECUTE_TOOL,)},
        {f"/attributes/{otel.OPENINFERENCE_KIND}": (otel.OPENINFERENCE_TOOL,)},
    ),
    fields={
        "tool": Source(at=(*_attribute(otel.TOOL_NAME, otel.OPENINFERENCE_TOOL_NAME), "/name")),
        "episode": Source(at="/traceId"),
        "run": Source(at=_attribute(otel.CONVERSATION)),
        "call": Source(at="/spanId"),
        "parent": Source(at="/parentSpanId"),
        "agent": Source(at=(*_attribute(otel.AGENT_NAME), f"/resource/{otel.SERVICE_NAME}")),
        "agent_version": Source(at=(*_attribute(otel.AGENT_VERSION), f"/resource/{otel.SERVICE_VERSION}")),
        "arguments": Source(at=_attribute(otel.TOOL_ARGUMENTS, otel.INPUT_VALUE), json=True),
        "observed_outcome": Source(at=_attribute(otel.TOOL_RESULT, otel.OUTPUT_VALUE), json=True),
        "error": Source(at="/error"),
        "exception": Source(at=(f"/exception/{otel.EXCEPTION_TYPE}", *_attribute(otel.ERROR_TYPE))),
        "status": Source(at=_attribute(otel.HTTP_STATUS)),
        "expected_outcome": Source(at=_attribute(otel.EXPECTED_OUTCOME)),
        "verification": Source(at=_attribute(otel.VERIFICATION_STATUS)),
        "by": Source(at=_attribute(otel.VERIFICATION_BY)),
        "uncertainty_signal": Source(at=_attribute(otel.UNCERTAINTY)),
        "unix_s": Source(at="/startTimeUnixNano", unit="ns"),
        "ended_unix_s": Source(at="/endTimeUnixNano", unit="ns"),
        "tokens_in": Source(at=_attribute(otel.TOKENS_IN)),
        "tokens_cached": Source(at=_attribute(otel.TOKENS_CACHED)),
        "tokens_out": Source(at=_attribute(otel.TOKENS_OUT)),
    },
)

_LANGSMITH = Mapping(
    shape=Shape.LANGSMITH,
    only=({"/run_type": ("tool",)},),
    fields={
        "tool": Source(at="/name"),
        "episode": Source(at="/trace_id"),
        "run": Source(
            at=("/extra/metadata/thread_id", "/extra/metadata/session_id", "/extra/metadata/conversation_id")
        ),
        "call": Source(at="/id"),
        "parent": Source(at="/parent_run_id"),
        "agent_version": Source(at="/extra/metadata/revision_id"),
        "arguments": Source(at="/inputs", json=True),
        "observed_outcome": Source(at="/outputs", json=True),
        "error": Source(at="/error"),
        "unix_s": Source(at="/start_time", unit="iso"),
        "ended_unix_s": Source(at="/end_time", unit="iso"),
        "tokens_in": Source(at="/prompt_tokens"),
        "tokens_out": Source(at="/completion_tokens"),
        "usd": Source(at="/total_cost", json=True),
        **_metadata("/extra/metadata"),
    },
)

_LANGFUSE = Mapping(
    shape=Shape.LANGFUSE,
    only=({"/type": ("TOOL",)},),
    fields={
        "tool": Source(at="/name"),
        "episode": Source(at="/traceId"),
        "run": Source(at="/sessionId"),
        "call": Source(at="/id"),
        "parent": Source(at="/parentObservationId"),
        "agent_version": Source(at="/version"),
        "arguments": Source(at="/input", json=True),
        "observed_outcome": Source(at="/output", json=True),
        "error": Source(at="/error"),
        "unix_s": Source(at="/startTime", unit="iso"),
        "ended_unix_s": Source(at="/endTime", unit="iso"),
        "tokens_in": Source(at=("/usageDetails/input", "/usage/input")),
        "tokens_cached": Source(at=("/usageDetails/input_cached_tokens", "/usageDetails/cache_read_input_tokens")),
        "tokens_out": Source(at=("/usageDetails/output", "/usage/output")),
        "usd": Source(at=("/costDetails/total", "/calculatedTotalCost"), json=True),
        **_metadata("/metadata"),
    },
)

_JSONL = Mapping(fields={name: Source(at=f"/{name}") for name in sorted(FIELDS)})

KNOWN: dict[str, Mapping] = {"jsonl": _JSONL, "otlp": _OTLP, "langsmith": _LANGSMITH, "langfuse": _LANGFUSE}
"""By name. ``jsonl`` takes lines that name the fields as we do."""
