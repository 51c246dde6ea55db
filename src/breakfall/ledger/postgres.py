"""A ledger in PostgreSQL, where several machines share one: the lines in one table, the index in others beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from breakfall.errors import StoreError, UsageError
from breakfall.ledger.follow import Matching
from breakfall.ledger.line import FORMAT
from breakfall.ledger.retention import Pruned
from breakfall.ledger.schema import DERIVED, TABLES, VERSION, VIEWS
from breakfall.ledger.source import Raw

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as missing:
    raise UsageError(
        f"a ledger in PostgreSQL needs psycopg, which cannot be imported ({missing}); pip install 'breakfall[postgres]'"
    ) from None

_RECORD = f"""
    CREATE TABLE bf_written (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, begun timestamptz NOT NULL
    );
    CREATE TABLE bf_lines (
        segment bigint NOT NULL REFERENCES bf_written, seq bigint NOT NULL, line text NOT NULL,
        PRIMARY KEY (segment, seq)
    );
    CREATE TABLE bf_pruned (segment text PRIMARY KEY, told text NOT NULL);
    COMMENT ON TABLE bf_lines IS 'breakfall ledger, format {FORMAT}';
"""
_INDEX = f"""
    {TABLES.format(id="bigint PRIMARY KEY")}
    CREATE TABLE bf_words (step bigint PRIMARY KEY, words tsvector NOT NULL);
    CREATE INDEX bf_words_found ON bf_words USING gin (words);
    COMMENT ON TABLE bf_steps IS 'breakfall ledger index, version {VERSION}';
"""
_COMMENT = "SELECT obj_description(to_regclass(%s), 'pg_class'), to_regclass(%s)"
_MAKING, _FOLLOWING = 0x42464C4D, 0x42464C46
"""Numbers of the advisory locks under which tables are made and the index is brought up."""

_DEFAULTS: dict[str, Any] = {
    "application_name": "breakfall ledger",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_AT_ONCE = 5000


def public_name(url: str) -> str:
    """Name the database without its password.

    Raises:
        UsageError: The address cannot be read.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # the driver's own message would repeat the address, and with it the password
        raise UsageError(
            "the ledger's address cannot be read; write postgresql://user@host:port/database, with special characters "
            "in a password as %XX"
        ) from None
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


def connect(url: str) -> psycopg.Connection:
    """Connect, and make the tables of the record if they are not there.

    Raises:
        StoreError: The server cannot be reached, or holds another version.
        UsageError: The address cannot be read.
    """
    name = public_name(url)
    with explained(name):
        connection = psycopg.connect(make_conninfo(**_DEFAULTS | conninfo_to_dict(url)), autocommit=True)
        try:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                comment, table = _described(connection, "bf_lines")
                if table is None:
                    connection.execute(_RECORD)
                elif comment != f"breakfall ledger, format {FORMAT}":
                    raise StoreError(
                        f"{name}: table bf_lines is {comment or 'of no breakfall ledger'!r}, this breakfall writes "
                        f"'breakfall ledger, format {FORMAT}'; use the breakfall that made it, or another schema"
                    )
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn what goes wrong at the server into a `StoreError` that says what to do."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"{name}: {_advice(error)} ({' '.join(str(error).split())})") from error


def _advice(error: psycopg.Error) -> str:
    match error:
        case psycopg.errors.DiskFull():
            return "the server's disk is full; the step was not stored. Make room, and try again"
        case psycopg.errors.ReadOnlySqlTransaction():
            return "the server is read-only (a standby?); give the address of the primary"
        case psycopg.errors.InsufficientPrivilege():
            return "this user may not use the ledger; grant it the tables, or CREATE on the schema"
        case psycopg.OperationalError():
            return "the server cannot be reached, or the connection broke; check the address and the server"
        case _:
            return "the ledger cannot be used"


def lock_number(segment: str) -> int:
    """Return the number of the advisory lock that a segment's writer holds while it lives."""
    return int.from_bytes(blake2b(b"breakfall ledger " + segment.encode(), digest_size=8).digest(), signed=True)


def _described(connection: psycopg.Connection, table: str) -> tuple[str | None, str | None]:
    return connection.execute(_COMMENT, (table, table)).fetchone() or (None, None)


class PostgresSource:
    """The lines in PostgreSQL; implements `breakfall.ledger.source.Source`. Large values stand in their lines."""

    def __init__(self, connection: psycopg.Connection, name: str) -> None:
        self.name = name
        self._connection = connection

    def segments(self) -> dict[str, int]:
        """Return the segments by name, each with the number of its next line."""
        query = """
            SELECT g.name, COALESCE((SELECT max(seq) + 1 FROM bf_lines l WHERE l.segment = g.id), 0)
            FROM bf_written g ORDER BY g.name
        """
        with explained(self.name):
            return dict(self._connection.execute(query).fetchall())

    def place(self, segment: str) -> str:
        """Return where a segment is, for messages."""
        return f"{self.name} segment {segment}"

    def lines(self, segment: str, start: int = 0) -> Iterator[Raw]:
        """Yield whole lines; places are their numbers."""
        query = """
            SELECT seq, line FROM bf_lines WHERE segment = (SELECT id FROM bf_written WHERE name = %s) AND seq >= %s
            ORDER BY seq LIMIT %s
        """
        while True:
            with explained(self.name):
                rows = self._connection.execute(query, (segment, start, _AT_ONCE)).fetchall()
            for seq, line in rows:
                yield Raw(seq, seq + 1, f"{line}\n".encode())
            if len(rows) < _AT_ONCE:
                return
            start = rows[-1][0] + 1

    def pick(self, segment: str, places: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of these numbers."""
        query = """
            SELECT seq, line FROM bf_lines WHERE segment = (SELECT id FROM bf_written WHERE name = %s)
                AND seq = ANY (%s) ORDER BY seq
        """
        with explained(self.name):
            rows = self._connection.execute(query, (segment, list(places))).fetchall()
        for seq, line in rows:
            yield seq, f"{line}\n".encode()

    def pruned(self) -> dict[str, Pruned]:
        """Return the segments that were dropped on purpose, by name."""
        with explained(self.name):
            rows = self._connection.execute("SELECT told FROM bf_pruned").fetchall()
        return {row.segment: row for row in (msgspec.json.decode(told, type=Pruned) for (told,) in rows)}

    def torn(self, segment: str) -> bytes:
        """Return nothing: the server keeps whole lines only."""
        return b""

    def value(self, segment: str, at: int, digest: str) -> bytes:
        """Refuse: large values stand in their lines."""
        raise StoreError(f"{self.place(segment)}: no value stands beside a line")


class PostgresDatabase:
    """The index in PostgreSQL; implements `breakfall.ledger.follow.Database`."""

    def __init__(self, connection: psycopg.Connection, name: str) -> None:
        """Make the tables if they are not there; those of another version are thrown away.

        Raises:
            StoreError: They cannot be made.
        """
        self.name = name
        self.connection = connection
        with explained(name):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                comment, table = _described(connection, "bf_steps")
                if table is not None and comment != f"breakfall ledger index, version {VERSION}":
                    self._drop()
                    table = None
                if table is None:
                    connection.execute(_INDEX)
            connection.execute(VIEWS)

    def _drop(self) -> None:
        for table in (*DERIVED, "bf_words"):
            self.connection.execute(f"DROP TABLE IF EXISTS {table} CASCADE".encode())

    def rows(self, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return what it finds."""
        with explained(self.name):
            cursor = self.connection.execute(_translated(statement), values)
            return cursor.fetchall() if cursor.description is not None else []

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once per row of values."""
        if rows:
            with explained(self.name), self.connection.cursor() as cursor:
                cursor.executemany(_translated(statement), rows)

    @contextmanager
    def change(self) -> Iterator[None]:
        """Change the index as one step, alone."""
        with explained(self.name), self.connection.transaction():
            self.connection.execute("SELECT pg_advisory_xact_lock(%s)", (_FOLLOWING,))
            yield

    @property
    def matching(self) -> Matching:
        """How the text index is asked."""
        return Matching("bf_words", "bf_words.step", "bf_words.words @@ CAST(:terms AS tsquery)", _terms)

    def add_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add the words of steps to the text index."""
        self.many("INSERT INTO bf_words (step, words) VALUES (?, array_to_tsvector(?::text[]))", rows)

    def read_only(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run SQL of someone's own, which may change nothing; return the columns' names and the rows.

        Raises:
            UsageError: It cannot be run.
        """
        self.connection.execute("BEGIN READ ONLY")
        try:
            cursor = self.connection.execute(statement.encode())
            names = [column.name for column in cursor.description or ()]
            return names, cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            raise UsageError(f"this SQL cannot be run: {error}") from None
        finally:
            self.connection.execute("ROLLBACK")

    def throw_away(self) -> None:
        """Empty the index; it is derived."""
        with self.change():
            for table in (*DERIVED, "bf_words"):
                self.connection.execute(f"TRUNCATE {table}".encode())

    def close(self) -> None:
        """Close the session."""
        self.connection.close()


_NAME = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")


@lru_cache(maxsize=512)
def _translated(statement: str) -> bytes:
    """Write values as the driver does."""
    escaped = statement.replace("%", "%%").replace("?", "%s")
    return _NAME.sub(r"%(\1)s", escaped).encode()


def _terms(words: Sequence[str]) -> str:
    return " & ".join(f"'{word}':*" for word in words)
