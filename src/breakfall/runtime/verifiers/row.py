"""Look into a database: rows that a query finds, read-only."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from breakfall.errors import UsageError
from breakfall.runtime.verifiers import template
from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Unfilled, Verifier
from breakfall.vocab import Ok, Predicate

_MOST_ROWS = 1_000
_BUSY_S = 5.0
_NAMED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|(?<!:):(?P<name>[A-Za-z_]\w*)")

Rows = list[dict[str, Any]]
Query = Callable[[dict[str, Any]], Rows]
"""Runs the query with these parameters. It may raise what its driver raises."""


def sqlite_row(
    database: str | Path,
    query: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    predicates: Sequence[Predicate] = (),
    absent: bool = False,
) -> Verifier:
    """Make a verifier that asks a SQLite file.

    Predicates are held against the list of rows, each an object: ``/0/status``. Without predicates there must be a row.

    Args:
        database: The file; it is opened read-only.
        query: A SELECT with ``:name`` for values.
        parameters: Values by name, with gaps; the arguments of the write, if left out.
        predicates: What must hold of the rows.
        absent: The write was to remove what the query finds.
    """
    address = f"file:{quote(str(database))}?mode=ro"

    def run(values: dict[str, Any]) -> Rows:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, values).fetchmany(_MOST_ROWS + 1)]

    return _verifier(run, query, parameters, predicates, absent)


def postgres_row(
    url: str,
    query: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    predicates: Sequence[Predicate] = (),
    absent: bool = False,
    timeout_s: float = 10.0,
) -> Verifier:
    """Make a verifier that asks PostgreSQL, as `sqlite_row` does; needs ``breakfall[postgres]``.

    Args:
        url: Where, with the verifier's own user; it is in no evidence.
        query: As in `sqlite_row`.
        parameters: As in `sqlite_row`.
        predicates: As in `sqlite_row`.
        absent: As in `sqlite_row`.
        timeout_s: For connecting, and for the query.

    Raises:
        UsageError: psycopg is not installed.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.rows import dict_row
    except ImportError:
        raise UsageError("looking into PostgreSQL needs psycopg: pip install 'breakfall[postgres]'") from None
    statement = _NAMED.sub(_psycopg_form, query.replace("%", "%%"))
    careful = f"-c default_transaction_read_only=on -c statement_timeout={int(timeout_s * 1000)}"

    def run(values: dict[str, Any]) -> Rows:
        options = f"{conninfo_to_dict(url).get('options', '')} {careful}"
        with (
            psycopg.connect(url, options=options, connect_timeout=max(2, int(timeout_s))) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            cursor.execute(statement.encode(), values)
            return cursor.fetchmany(_MOST_ROWS + 1)

    return _verifier(run, query, parameters, predicates, absent)


def _verifier(
    run: Query, query: str, parameters: Mapping[str, Any] | None, predicates: Sequence[Predicate], absent: bool
) -> Verifier:
    named = {found["name"] for found in _NAMED.finditer(query) if found["name"]}

    def ask(claim: Claim) -> dict[str, Any]:
        return {"query": query, "parameters": _values(parameters, named, claim)}

    def look(claim: Claim, looking: Looking) -> Look:
        wanted = template.fill_predicates(predicates, claim)
        try:
            rows = run(looking.asked["parameters"])
        except Exception as error:  # whatever the driver raises: a look that fails tells nothing
            return looking.cannot_tell(f"the query failed: {type(error).__name__}: {error}", name=type(error).__name__)
        if len(rows) > _MOST_ROWS:
            return looking.cannot_tell(f"the query finds more than {_MOST_ROWS:,} rows; narrow it")
        if not rows:
            return looking.nothing("no such row", absent=absent, outcome=Ok(value=[]))
        return looking.there(rows, wanted, absent=absent, what="the row")

    return Verifier("sql", ask, look)


def _values(parameters: Mapping[str, Any] | None, named: set[str], claim: Claim) -> dict[str, Any]:
    wanted = {name: f"{{{name}}}" for name in sorted(named)} if parameters is None else dict(parameters)
    values: dict[str, Any] = template.fill_value(wanted, claim)
    for name, value in values.items():
        if isinstance(value, dict | list):
            raise Unfilled(f"{name!r} is {type(value).__name__}, which is no value of a column")
    return values


def _psycopg_form(found: re.Match[str]) -> str:
    """Write a value's name as psycopg does; quoted texts stay as they are."""
    return f"%({found['name']})s" if found["name"] else found[0]
