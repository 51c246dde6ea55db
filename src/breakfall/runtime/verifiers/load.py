"""Verifiers from a TOML file: which tool is looked after how, with whose credentials."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from breakfall.errors import UsageError
from breakfall.runtime.verifiers.claim import Verifier
from breakfall.runtime.verifiers.file_content import file_content
from breakfall.runtime.verifiers.function import function
from breakfall.runtime.verifiers.http_json import http_json
from breakfall.runtime.verifiers.mail import imap, maildir, mbox
from breakfall.runtime.verifiers.row import postgres_row, sqlite_row
from breakfall.vocab import Predicate

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class PredicateTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One predicate: ``{ at = "/state", is = "==", value = "closed" }``."""

    at: str = ""
    is_: Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "contains", "exists"] = field(
        default="exists", name="is"
    )
    value: Any = None

    def predicate(self) -> Predicate:
        """Make the predicate.

        Raises:
            UsageError: `at` is no pointer.
        """
        try:
            return Predicate(at=self.at, is_=self.is_, value=self.value)
        except ValueError as error:
            raise UsageError(f"predicates: {error}") from None


class _Common(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    predicates: tuple[PredicateTable, ...] = ()
    absent: bool = False
    settle_s: float = 2.0
    """How long after the write its effect may take to be seen."""

    @property
    def must(self) -> list[Predicate]:
        return [one.predicate() for one in self.predicates]


class HttpTable(_Common, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="http"):
    """``kind = "http"``."""

    url: str
    headers: dict[str, str] = {}
    missing: Literal["not_applied", "unknown"] = "not_applied"
    timeout_s: float = 10.0


class FileTable(_Common, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="file"):
    """``kind = "file"``."""

    path: str
    root: str


class SqlTable(_Common, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="sql"):
    """``kind = "sql"``: `database` is a SQLite file or a ``postgresql://`` address."""

    database: str
    query: str
    parameters: dict[str, Any] | None = None


class MailTable(_Common, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="mail"):
    """``kind = "mail"``: one of `maildir`, `mbox` and `imap`, the host of a server."""

    match: dict[str, str]
    maildir: str = ""
    mbox: str = ""
    imap: str = ""
    user: str = ""
    password: str = ""
    folder: str = "INBOX"
    port: int | None = None
    tls: bool = True
    timeout_s: float = 10.0


class FunctionTable(_Common, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="function"):
    """``kind = "function"``."""

    call: str
    arguments: dict[str, Any] | None = None


Table: TypeAlias = HttpTable | FileTable | SqlTable | MailTable | FunctionTable
_KINDS = ("http", "file", "sql", "mail", "function")


class Registered(Struct, frozen=True, kw_only=True):
    """One tool's verifier, and when to ask it."""

    verify: Verifier
    settle_s: float = 0.0


def load(path: Path, environment: Mapping[str, str] = os.environ) -> dict[str, Registered]:
    """Read the verifiers of a file: its ``[tools.NAME]`` tables. Other tables are not looked at.

    Args:
        path: The file; paths in it are relative to its folder.
        environment: Where ``${NAME}`` is looked up.

    Raises:
        UsageError: The file cannot be read, or a table is wrong; the message has the place and what would be right.
    """
    table = toml(path)
    return read(table.get("tools", {}), str(path), path.parent, environment)


def toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        UsageError: It cannot be read, or is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot read it: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from None


def read(tables: Any, source: str, folder: Path, environment: Mapping[str, str] = os.environ) -> dict[str, Registered]:
    """Make verifiers of the tables of a file.

    Args:
        tables: Tool -> its table.
        source: Where they come from, as messages name it.
        folder: What relative paths in them start from.
        environment: Where ``${NAME}`` is looked up.

    Raises:
        UsageError: A table is wrong.
    """
    if not isinstance(tables, dict):
        raise UsageError(f"{source}: tools is {type(tables).__name__}, must be tables such as [tools.close_issue]")
    made = {}
    for tool, raw in tables.items():
        where = f"{source}: tools.{tool}"
        table = convert(raw, Table, where, _hint(raw))
        if table.settle_s < 0:
            raise UsageError(f"{where}.settle_s is {table.settle_s:g}, must be at least 0")
        try:
            made[tool] = Registered(verify=_verifier(table, folder, where, environment), settle_s=table.settle_s)
        except UsageError as error:
            text = str(error)
            raise UsageError(text if text.startswith(source) else f"{where}: {text}") from None
    return made


def convert(raw: Any, kind: Any, where: str, hint: str = "") -> Any:
    """Convert a table to a Struct, strictly.

    Raises:
        UsageError: It does not fit.
    """
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {str(error).replace('`$', '`').replace('`.', '`')}{hint}") from None


def secret(text: str, where: str, environment: Mapping[str, str]) -> str:
    """Put environment variables where ``${NAME}`` stands.

    Raises:
        UsageError: One is not set.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in environment:
            raise UsageError(f"{where} needs the environment variable {name}, which is not set")
        return environment[name]

    return _VARIABLE.sub(value, text)


def _hint(raw: Any) -> str:
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if kind in _KINDS:
        return ""
    near = difflib.get_close_matches(str(kind), _KINDS, n=1)
    return f"; did you mean kind = {near[0]!r}?" if near else f"; kind is one of: {', '.join(_KINDS)}"


def _verifier(table: Table, folder: Path, where: str, environment: Mapping[str, str]) -> Verifier:
    match table:
        case HttpTable():
            headers = {
                name: secret(text, f"{where}.headers.{name}", environment) for name, text in table.headers.items()
            }
            return http_json(
                secret(table.url, f"{where}.url", environment),
                predicates=table.must,
                headers=headers,
                absent=table.absent,
                missing=table.missing,
                timeout_s=table.timeout_s,
            )
        case FileTable():
            return file_content(table.path, root=folder / table.root, predicates=table.must, absent=table.absent)
        case SqlTable():
            return _sql(table, folder, where, environment)
        case MailTable():
            return _mail(table, folder, where, environment)
        case FunctionTable():
            return function(table.call, arguments=table.arguments, predicates=table.must, absent=table.absent)


def _sql(table: SqlTable, folder: Path, where: str, environment: Mapping[str, str]) -> Verifier:
    database = secret(table.database, f"{where}.database", environment)
    if database.startswith(("postgresql://", "postgres://")):
        return postgres_row(
            database, table.query, parameters=table.parameters, predicates=table.must, absent=table.absent
        )
    if "://" in database:
        raise UsageError(f"database is a {database.partition('://')[0]}:// address, must be a file or postgresql://")
    return sqlite_row(
        folder / database, table.query, parameters=table.parameters, predicates=table.must, absent=table.absent
    )


def _mail(table: MailTable, folder: Path, where: str, environment: Mapping[str, str]) -> Verifier:
    given = [name for name in ("maildir", "mbox", "imap") if getattr(table, name)]
    if len(given) != 1:
        raise UsageError(f"has {' and '.join(given) or 'no place'}, must have one of: maildir, mbox, imap")
    if table.maildir:
        return maildir(folder / table.maildir, match=table.match, predicates=table.must, absent=table.absent)
    if table.mbox:
        return mbox(folder / table.mbox, match=table.match, predicates=table.must, absent=table.absent)
    if not table.user or not table.password:
        raise UsageError('needs user and password for imap, such as password = "${MAIL_PASSWORD}"')
    return imap(
        table.imap,
        user=secret(table.user, f"{where}.user", environment),
        password=secret(table.password, f"{where}.password", environment),
        match=table.match,
        folder=table.folder,
        port=table.port,
        tls=table.tls,
        predicates=table.must,
        absent=table.absent,
        timeout_s=table.timeout_s,
    )
