"""What the exceptions of known clients say, by name, so that none of them is a dependency.

A name is written ``package.Class`` (``httpx.ReadTimeout``, ``requests.ConnectTimeout``), a builtin as its bare name. A
code that the exception carries stands behind it in brackets: ``sqlite3.OperationalError[SQLITE_BUSY]``,
``psycopg.SerializationFailure[40001]``, ``ssl.SSLError[WRONG_VERSION_NUMBER]``, ``OSError[ENETUNREACH]``.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from breakfall.recovery import database
from breakfall.recovery.diagnosis import Diagnosis
from breakfall.vocab import FaultKind


class Group(Struct, frozen=True, kw_only=True):
    """Exceptions that say the same."""

    kind: FaultKind | None
    says: str
    names: tuple[str, ...]
    sent: bool = True
    in_doubt: bool = False


def _names(text: str) -> tuple[str, ...]:
    """Read ``package: Class Class`` lines; without a package the names are builtins."""
    found = []
    for line in text.strip().splitlines():
        package, _, classes = line.rpartition(":")
        prefix = f"{package.strip()}." if package else ""
        found += [prefix + name for name in classes.split()]
    return tuple(found)


GROUPS = (
    Group(
        kind=FaultKind.TIMEOUT,
        says="there was no connection in time, so nothing was sent",
        sent=False,
        names=_names("""
            httpx: ConnectTimeout PoolTimeout
            requests: ConnectTimeout
            urllib3: ConnectTimeoutError EmptyPoolError
            aiohttp: ConnectionTimeoutError
            botocore: ConnectTimeoutError
            psycopg: ConnectionTimeout
            psycopg_pool: PoolTimeout
            sqlalchemy: TimeoutError
        """),
    ),
    Group(
        kind=FaultKind.SERVER_ERROR,
        says="there was no connection, so nothing was sent",
        sent=False,
        names=_names("""
            ConnectionRefusedError
            socket: gaierror herror
            httpx: ConnectError ProxyError
            requests: ProxyError
            urllib3: NewConnectionError NameResolutionError ProxyError
            aiohttp: ClientConnectorError ClientConnectorDNSError ClientProxyConnectionError UnixClientConnectorError
            botocore: EndpointConnectionError ProxyConnectionError
            anyio: ConnectionFailed
            psycopg_pool: PoolClosed TooManyRequests
        """),
    ),
    Group(
        kind=FaultKind.SERVER_ERROR,
        says="the TLS handshake failed, so nothing was sent",
        sent=False,
        names=_names("""
            ssl: SSLCertVerificationError CertificateError
            ssl: SSLError[WRONG_VERSION_NUMBER] SSLError[CERTIFICATE_VERIFY_FAILED] SSLError[UNSUPPORTED_PROTOCOL]
            ssl: SSLError[UNKNOWN_PROTOCOL] SSLError[NO_PROTOCOLS_AVAILABLE] SSLError[HTTP_REQUEST]
            ssl: SSLError[SSLV3_ALERT_HANDSHAKE_FAILURE] SSLError[TLSV1_ALERT_PROTOCOL_VERSION]
            ssl: SSLError[TLSV1_UNRECOGNIZED_NAME]
            aiohttp: ClientConnectorSSLError ClientConnectorCertificateError ClientSSLError ServerFingerprintMismatch
        """),
    ),
    Group(
        kind=FaultKind.AUTH_ERROR,
        says="there are no valid credentials to send it with",
        sent=False,
        names=_names("""
            ssl: SSLError[TLSV13_ALERT_CERTIFICATE_REQUIRED]
            botocore: NoCredentialsError PartialCredentialsError CredentialRetrievalError NoAuthTokenError
            botocore: TokenRetrievalError SSOTokenLoadError UnauthorizedSSOTokenError LoginTokenLoadError
        """),
    ),
    Group(
        kind=None,
        says="the request is not valid, so nothing was sent",
        sent=False,
        names=_names("""
            httpx: UnsupportedProtocol InvalidURL LocalProtocolError
            requests: MissingSchema InvalidSchema InvalidURL InvalidProxyURL InvalidHeader InvalidJSONError URLRequired
            urllib3: LocationValueError LocationParseError URLSchemeUnknown
            aiohttp: InvalidURL InvalidUrlClientError NonHttpUrlClientError
            http: InvalidURL CannotSendRequest
            botocore: ParamValidationError
        """),
    ),
    Group(
        kind=FaultKind.TIMEOUT,
        says="no answer came in time",
        in_doubt=True,
        names=_names("""
            TimeoutError
            asyncio: CancelledError
            concurrent: CancelledError TimeoutError
            httpx: ReadTimeout WriteTimeout TimeoutException
            requests: ReadTimeout Timeout
            urllib3: ReadTimeoutError TimeoutError
            aiohttp: ServerTimeoutError SocketTimeoutError
            botocore: ReadTimeoutError
            openai: APITimeoutError
        """),
    ),
    Group(
        kind=FaultKind.SERVER_ERROR,
        says="the connection broke before the answer was there",
        in_doubt=True,
        names=_names("""
            ConnectionError ConnectionResetError ConnectionAbortedError BrokenPipeError EOFError
            OSError[ENETUNREACH] OSError[EHOSTUNREACH] OSError[ENETDOWN] OSError[EHOSTDOWN] OSError[ENETRESET]
            OSError[ENOTCONN]
            ssl: SSLError SSLEOFError SSLZeroReturnError SSLSyscallError
            http: RemoteDisconnected
            h11: RemoteProtocolError
            httpx: ReadError WriteError CloseError RemoteProtocolError NetworkError TransportError
            requests: ConnectionError SSLError RetryError
            urllib: URLError
            urllib3: ProtocolError MaxRetryError SSLError
            aiohttp: ServerDisconnectedError ServerConnectionError ClientOSError ClientConnectionError
            aiohttp: ClientConnectionResetError
            botocore: ConnectionClosedError HTTPClientError ConnectionError SSLError
            openai: APIConnectionError
            anyio: BrokenResourceError ClosedResourceError EndOfStream
            asyncio: IncompleteReadError
        """),
    ),
    Group(
        kind=FaultKind.SERVER_ERROR,
        says="it was redirected until the client gave up",
        in_doubt=True,
        names=_names("""
            httpx: TooManyRedirects
            requests: TooManyRedirects
            aiohttp: TooManyRedirects RedirectClientError
        """),
    ),
    Group(
        kind=FaultKind.SERVER_ERROR,
        says="the machine that ran it has a fault of its own",
        in_doubt=True,
        names=_names("OSError[EIO] OSError[ENOSPC] OSError[EDQUOT] OSError[EROFS] OSError[EMFILE] OSError[ENFILE]"),
    ),
    Group(
        kind=FaultKind.MALFORMED_RESPONSE,
        says="the answer breaks off or cannot be read",
        in_doubt=True,
        names=_names("""
            UnicodeDecodeError
            json: JSONDecodeError
            simplejson: JSONDecodeError
            msgspec: DecodeError ValidationError
            pydantic: ValidationError
            jsonschema: ValidationError
            jsonschema_rs: ValidationError
            zlib: error
            gzip: BadGzipFile
            xml: ParseError
            http: IncompleteRead BadStatusLine LineTooLong
            httpx: DecodingError
            requests: JSONDecodeError ChunkedEncodingError ContentDecodingError
            urllib3: DecodeError IncompleteRead InvalidChunkLength
            aiohttp: ClientPayloadError ContentTypeError HttpProcessingError
            anyio: IncompleteRead DelimiterNotFound
            botocore: IncompleteReadError ResponseStreamingError ResponseParserError ChecksumError
            botocore: FlexibleChecksumError
            openai: APIResponseValidationError
        """),
    ),
    Group(
        kind=FaultKind.SERVER_ERROR,
        says="the database connection failed, before or after the statement was sent",
        in_doubt=True,
        names=_names("""
            OperationalError InterfaceError
            sqlite3: OperationalError InterfaceError DatabaseError InternalError
            psycopg: OperationalError InterfaceError
            psycopg2: OperationalError InterfaceError
            asyncpg: InterfaceError
            pymysql: OperationalError InterfaceError InternalError
            sqlalchemy: OperationalError InterfaceError InternalError DatabaseError DBAPIError
        """),
    ),
    Group(
        kind=None,
        says="the database refused the statement",
        names=_names("""
            IntegrityError DataError ProgrammingError NotSupportedError
            sqlite3: IntegrityError DataError ProgrammingError NotSupportedError
            psycopg: IntegrityError DataError ProgrammingError NotSupportedError
            pymysql: IntegrityError DataError ProgrammingError NotSupportedError
            sqlalchemy: IntegrityError DataError ProgrammingError NotSupportedError StatementError
        """),
    ),
    Group(
        kind=None,
        says="the tool's own code failed, perhaps after it had sent something",
        in_doubt=True,
        names=_names("""
            Exception RuntimeError ValueError TypeError LookupError KeyError IndexError AttributeError NameError
            UnboundLocalError AssertionError ArithmeticError ZeroDivisionError OverflowError StopIteration
            StopAsyncIteration RecursionError MemoryError NotImplementedError ImportError ModuleNotFoundError
        """),
    ),
)

CRASHES = frozenset(GROUPS[-1].names)
"""Builtins that say nothing of a transport. Only they themselves count: a subclass is somebody's own refusal."""

VAGUE = frozenset(
    _names("""
        OperationalError InterfaceError DatabaseError InternalError
        ssl: SSLError
        requests: ConnectionError SSLError Timeout RetryError
        httpx: TimeoutException NetworkError TransportError
        urllib: URLError
        urllib3: MaxRetryError SSLError TimeoutError
        aiohttp: ClientOSError ClientConnectionError
        botocore: HTTPClientError ConnectionError SSLError
        openai: APIConnectionError APITimeoutError
        sqlalchemy: OperationalError InterfaceError InternalError DatabaseError DBAPIError StatementError
        sqlalchemy: IntegrityError DataError ProgrammingError NotSupportedError
    """)
)
"""Wrappers: what they were raised from tells more, where it is known."""

UNDERLYING = frozenset({"", "ssl", "socket", "http", "h11", "zlib", "asyncio", "anyio", "concurrent", "json"})
"""Packages that a client stands on ("": builtins): theirs is the same event as the client's own exception."""

_ALIASES = {"httpcore": "httpx", "httpx2": "httpx", "httpcore2": "httpx", "pydantic_core": "pydantic"}


_TOO_COMMON = frozenset({
    "ValidationError", "ParseError", "ChecksumError", "ProxyError", "TooManyRequests", "PoolClosed", "error",
})  # fmt: skip
"""Names that many packages use for something else: they count with their package only."""


def _table() -> dict[str, Diagnosis]:
    """Index the groups by qualified name, and by bare name the meaning that assumes least."""
    table: dict[str, Diagnosis] = {}
    for group in GROUPS:
        for name in group.names:
            table[name] = Diagnosis(group.kind, f"{name}: {group.says}", group.sent, group.in_doubt)
    builtins = frozenset(table)
    for group in (group for group in GROUPS if group.kind is not None):
        for name in group.names:
            bare = name.rpartition(".")[2]
            known = table.get(bare)
            if bare in _TOO_COMMON or bare in builtins or (known is not None and known.in_doubt >= group.in_doubt):
                continue
            table[bare] = Diagnosis(group.kind, f"{bare}: {group.says}", group.sent, group.in_doubt)
    return table


EXCEPTIONS = _table()
PACKAGES = frozenset(name.partition(".")[0] for group in GROUPS for name in group.names if "." in name)
"""Packages whose exceptions are known: a class of theirs that has no meaning has none by its bare name either."""


def qualified(module: str, name: str) -> str:
    """Name a class as the table does: ``requests.exceptions`` and ``Timeout`` make ``requests.Timeout``."""
    package = module.partition(".")[0].lstrip("_")
    if package == "builtins":
        return name
    return f"{_ALIASES.get(package, package)}.{name}"


def vague(name: str) -> bool:
    """Whether the exception is a wrapper, so that what it was raised from tells more."""
    return name in VAGUE or (name not in EXCEPTIONS and name.rpartition(".")[2] in VAGUE)


@lru_cache(maxsize=4096)
def meaning(name: str) -> Diagnosis | None:
    """Return what an exception of this name says, or None where the name is not known.

    An unknown package's class is read by its bare name: somebody's own ``ReadTimeout`` is one, too.
    """
    bare, _, code = name.partition("[")
    module, _, last = bare.rpartition(".")
    if code:
        found = EXCEPTIONS.get(name) or EXCEPTIONS.get(f"{last}[{code}") or database.by_code(bare, code.rstrip("]"))
        if found is not None:
            return found
    full = qualified(module, last) if module else last
    found = EXCEPTIONS.get(full)
    if found is not None or last in CRASHES or full.partition(".")[0] in PACKAGES:
        return found
    return EXCEPTIONS.get(last)
