"""Signs in what a server says: error codes and wording that tell a fault from the tool's own refusal.

Codes are compared by their letters and digits alone, in lower case and without a trailing "error", "exception" or
"failure": ``RATE_LIMIT_EXCEEDED``, ``rateLimitExceeded`` and ``RateLimitExceededException`` are one code.
"""

from __future__ import annotations

import re
from functools import lru_cache

from breakfall.recovery.diagnosis import Diagnosis
from breakfall.vocab import FaultKind

_CODES = (
    (FaultKind.RATE_LIMIT, False, """
        ratelimit ratelimited ratelimitexceeded userratelimitexceeded toomanyrequests throttling throttled throttle
        requestthrottled requestlimitexceeded resourceexhausted quotaexceeded insufficientquota dailylimitexceeded
        provisionedthroughputexceeded bandwidthlimitexceeded requestrateexceeded priorrequestnotcomplete slowdown
        overloaded"""),
    (FaultKind.AUTH_ERROR, False, """
        unauthenticated unauthorized authentication authenticationfailed authenticationrequired authorization
        authfailure permission permissiondenied accessdenied insufficientscope insufficientpermissions
        missingscope notauthorized
        notauthed invalidauth invalidtoken tokenexpired expiredtoken expiredauthenticationtoken tokenrevoked
        missingauthenticationtoken invalidapikey apikeyinvalid invalidaccesskeyid invalidclienttokenid
        invalidcredentials badcredentials invalidgrant invalidclient unauthorizedclient unrecognizedclient
        signaturedoesnotmatch
        invalidsignature incompletesignature requestexpired unauthorizedoperation optinrequired accountinactive
        sessionexpired loginrequired"""),
    (FaultKind.TIMEOUT, True, """
        timeout timedout requesttimeout requesttimedout deadlineexceeded gatewaytimeout upstreamtimeout"""),
    (FaultKind.SERVER_ERROR, True, """
        internal internalserver server serviceunavailable unavailable temporarilyunavailable backend badgateway"""),
    (FaultKind.SERVER_ERROR, False, """
        aborted operationaborted deadlock deadlockdetected serialization transactionconflict transactioninprogress"""),
    (FaultKind.SCHEMA_DRIFT, False, """
        schemachanged schemamismatch schemaversionmismatch unknownparameter unknownargument unknownfield
        unrecognizedparameter unrecognizedfield unsupportedparameter unexpectedparameter parameterunknown
        parametermissing missingparameter missingrequiredparameter missingrequiredfield missingargument deprecated
        endpointdeprecated unsupportedversion unsupportedapiversion apiversionnotsupported invalidapiversion
        versionnotsupported methodnotfound unknownmethod unknownoperation unknownendpoint endpointnotfound routenotfound
        unknowntool unimplemented notimplemented methodnotallowed graphqlvalidationfailed graphqlparsefailed"""),
)  # fmt: skip
"""Kind, whether a write stays in doubt, codes."""

CODES = {code: (kind, in_doubt) for kind, in_doubt, codes in _CODES for code in codes.split()}

RPC = {
    -32700: (FaultKind.SERVER_ERROR, "the request arrived garbled", False),
    -32600: (FaultKind.SCHEMA_DRIFT, "the server does not take requests of this form", False),
    -32601: (FaultKind.SCHEMA_DRIFT, "there is no such method", False),
    -32602: (None, "the server refused the arguments", False),
    -32603: (FaultKind.SERVER_ERROR, "internal error", True),
    -32000: (FaultKind.SERVER_ERROR, "the connection was closed or the server failed", True),
    -32001: (FaultKind.TIMEOUT, "no answer came in time", True),
    -32002: (None, "there is no such resource", False),
    -32020: (FaultKind.SCHEMA_DRIFT, "headers and request do not agree", False),
    -32021: (FaultKind.SCHEMA_DRIFT, "the server asks for a capability that the client lacks", False),
    -32022: (FaultKind.SCHEMA_DRIFT, "the protocol version is not supported", False),
    -32042: (FaultKind.AUTH_ERROR, "a person must grant access first", False),
}
"""JSON-RPC and MCP error codes. -32002 to -32099 otherwise belong to the server, so its wording decides."""

INVALID_PARAMS = -32602


def by_rpc(code: int) -> Diagnosis | None:
    """Read a JSON-RPC error code."""
    found = RPC.get(code)
    return None if found is None else Diagnosis(found[0], f"JSON-RPC {code}: {found[1]}", in_doubt=found[2])


_SUFFIX = re.compile(r"(?:exception|error|failure|fault)$")


@lru_cache(maxsize=4096)
def by_code(code: str) -> Diagnosis | None:
    """Read an error code of a body, such as "rate_limited" or "com.amazonaws#ThrottlingException"."""
    plain = re.sub(r"[^a-z0-9]", "", code.rpartition("#")[2].lower())
    found = CODES.get(plain) or CODES.get(_SUFFIX.sub("", plain))
    return None if found is None else Diagnosis(found[0], f"the error code is {code!r}", in_doubt=found[1])


_NAME = r"(?:arguments?|parameters?|params?|fields?|attributes?|columns?|inputs?)"

RATE = re.compile(
    r"rate[ _-]?limit|too many requests|throttl|quota (?:has been |was )?exceeded|exceeded your current quota"
)
AUTH = re.compile(
    r"unauthenticated|unauthori[sz]ed|not authenticated|authentication (?:failed|required|error)|access denied"
    r"|permission denied|insufficient[ _](?:scopes?|permissions?|privileges?|rights)"
    r"|(?:token|session|credentials?|api[ _-]?key|signature)s? (?:\w+ )?(?:is |are |has |have |was )?(?:been )?"
    r"(?:expired|invalid|revoked|missing|malformed)"
    r"|(?:invalid|incorrect|expired|missing|revoked|bad) (?:\w+ ){0,2}"
    r"(?:tokens?|credentials?|api[ _-]?key|session|signature)"
)
FORBIDDEN = re.compile(
    r"permissions?\b|not (?:authori[sz]ed|permitted)|not allowed to access|\bscopes?\b|log ?in\b|sign ?in\b"
)
"""On a 403 these, too, speak of credentials."""
_DRIFT = re.compile(
    r"\brenamed\b|schema[ _-](?:has |was )?(?:changed?|drift|mismatch|outdated|version)|no longer (?:accept|support)"
    r"|now required|deprecated|api[ _-]?version|version[^.;\n]{0,40}(?:not supported|unsupported|retired|sunset)"
    r"|unsupported (?:api )?version"
    rf"|(?:unknown|unrecogni[sz]ed|unexpected|extra|undefined|unsupported|additional|no such) (?:\w+ ){{0,2}}{_NAME}\b"
    rf"|\b{_NAME}\b[^.:;,\n]{{0,40}}?\b(?:unknown|unexpected|unrecogni[sz]ed|not recogni[sz]ed|does ?n[o']t exist"
    r"|not (?:supported|permitted|allowed)(?! to))\b"
    rf"|missing (?:\w+ ){{0,3}}{_NAME}\b|required {_NAME}\b"
    rf"|\b{_NAME}\b[^.;,\n]{{0,60}}?\b(?:is|are|was) (?:now )?(?:required|missing)\b"
    r"|\bfield required\b|extra inputs? (?:is|are) not permitted|unexpected keyword argument"
    r"|cannot query field|cannot find field|is not defined by type"
    r"|cannot (?:get|post|put|patch|delete) /|(?:unknown|no such) (?:endpoint|method|operation|action|tool)\b"
    r"|(?:endpoint|operation)\b[^.;\n]{0,40}(?:not found|does not exist|removed|retired|discontinued)"
)
"""The form of the call has changed: names, versions, endpoints. A wrong *value*, and a
JSON Schema validator's verdict on arguments, is the tool's own refusal: whoever called can mend it."""
OWN_ARGUMENTS = re.compile(
    r"validation errors? for \w*(?:arguments|args|params|input|request)\b|missing_argument|unexpected_keyword_argument"
)
"""A model of a tool's arguments refused them."""
_DRIFT_HINTS = (
    "renamed", "schema", "no longer", "required", "deprecated", "version", "unknown", "unexpected", "recogni", "extra ",
    "undefined", "support", "additional ", "no such", "exist", "permitted", "allowed", "missing", "cannot ", "defined",
    "not found", "removed", "retired", "discontinued",
)  # fmt: skip
"""Every sign of drift holds one of these; looking for them first is ten times as fast."""


def drift(text: str) -> str | None:
    """Find a sign that the form of the call has changed, in lower-case text."""
    if not any(hint in text for hint in _DRIFT_HINTS):
        return None
    found = None if OWN_ARGUMENTS.search(text) else _DRIFT.search(text)
    return None if found is None else found[0]


IN_PROGRESS = re.compile(r"in[ -]progress|being processed|still processing|concurrent|another request|in[ -]flight")
IDEMPOTENCY = re.compile(r"idempoten")
LOGIN_PAGE = re.compile(r"type=[\"']?password|sign[ -]?in|log[ -]?in")

_TIMEOUT = re.compile(
    r"\btimed out\b|deadline exceeded|\b(?:request|read|gateway|upstream|operation|execution|connection) time-?out\b"
    r"|\btime-?out (?:error|exceeded|expired|reached|after|while|waiting)\b"
)
_REFUSED = re.compile(
    r"connection refused|name or service not known|could not resolve|no route to host|failed to connect"
)
_BROKEN = re.compile(
    r"connection (?:was )?(?:reset|closed|aborted|lost)|broken pipe|server disconnected|internal server error"
    r"|service (?:is )?(?:temporarily )?unavailable|bad gateway|temporarily unavailable"
    r"|^error executing tool \S+$"
)
_STATUS = re.compile(
    r"\b(?:http(?:/\d(?:\.\d)?)?|status(?:[ _]code)?|response code|error(?: code)?|server error|client error)"
    r"[ :=(\['\"]*([45]\d\d)\b"
)


def status_in(text: str) -> int | None:
    """Find an HTTP status in an error's text, such as "HTTP 503" or "status code: 429"."""
    found = _STATUS.search(text)
    return None if found is None else int(found[1])


def by_refusal(text: str) -> Diagnosis | None:
    """Read a refusal's text, in lower case; None: it gives a reason of its own."""
    rate = RATE.search(text)
    if rate is not None:
        return Diagnosis(FaultKind.RATE_LIMIT, f"the body says {rate[0]!r}")
    word = drift(text)
    if word is not None:
        return Diagnosis(FaultKind.SCHEMA_DRIFT, f"the body says {word!r}")
    auth = AUTH.search(text)
    return None if auth is None else Diagnosis(FaultKind.AUTH_ERROR, f"the body says {auth[0]!r}")


_WORDING = (
    (RATE, FaultKind.RATE_LIMIT, True, False),
    (AUTH, FaultKind.AUTH_ERROR, True, False),
    (_REFUSED, FaultKind.SERVER_ERROR, False, False),
    (_TIMEOUT, FaultKind.TIMEOUT, True, True),
    (_BROKEN, FaultKind.SERVER_ERROR, True, True),
)


def by_wording(text: str) -> Diagnosis | None:
    """Read an error's text, in lower case, where nothing else tells; None: it speaks of no fault."""
    for pattern, kind, sent, in_doubt in _WORDING:
        found = pattern.search(text)
        if found is not None:
            return Diagnosis(kind, f"the error says {found[0]!r}", sent, in_doubt)
    word = drift(text)
    return None if word is None else Diagnosis(FaultKind.SCHEMA_DRIFT, f"the error says {word!r}")
