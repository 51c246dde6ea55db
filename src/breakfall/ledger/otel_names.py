"""Names of span attributes: OpenTelemetry's for generative AI, which are still in development, and our own."""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
EXECUTE_TOOL: Final = "execute_tool"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
TOKENS_IN: Final = "gen_ai.usage.input_tokens"
TOKENS_CACHED: Final = "gen_ai.usage.cache_read.input_tokens"
TOKENS_OUT: Final = "gen_ai.usage.output_tokens"
ERROR_TYPE: Final = "error.type"
HTTP_STATUS: Final = "http.response.status_code"
EXCEPTION_EVENT: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
SERVICE_NAME: Final = "service.name"
SERVICE_VERSION: Final = "service.version"

OPENINFERENCE_KIND: Final = "openinference.span.kind"
OPENINFERENCE_TOOL: Final = "TOOL"
INPUT_VALUE: Final = "input.value"
OUTPUT_VALUE: Final = "output.value"
OPENINFERENCE_TOOL_NAME: Final = "tool.name"

EXPECTED_OUTCOME: Final = "breakfall.step.expected_outcome"
VERIFICATION_STATUS: Final = "breakfall.step.verification.status"
VERIFICATION_BY: Final = "breakfall.step.verification.by"
UNCERTAINTY: Final = "breakfall.step.uncertainty"
