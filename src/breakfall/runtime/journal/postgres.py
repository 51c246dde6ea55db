"""The journal in PostgreSQL, where several machines share it."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Any

from breakfall.errors import StoreError, UsageError
from breakfall.runtime.journal.entry import Entry, Owner, State
from breakfall.runtime.journal.store import (
    FORMAT,
    HOST,
    Rule,
    T,
    check_usable,
    conditions,
    decode,
    encode,
    forget_in_children,
)

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError as missing:
    raise UsageError(
        f"a journal in PostgreSQL needs psycopg, which cannot be imported ({missing}); "
        "pip install 'breakfall[postgres]'"
    ) from None

_TABLES = f"""
    CREATE TABLE breakfall_journal (
        key text PRIMARY KEY, state text NOT NULL, run text NOT NULL, tool text NOT NULL,
        updated_s double precision NOT NULL, body text NOT NULL
    );
    CREATE INDEX breakfall_journal_open ON breakfall_journal (state)
        WHERE state IN ('in_flight', 'unknown', 'needs_person');
    COMMENT ON TABLE breakfall_journal IS 'breakfall write journal, version {FORMAT}';
"""
_COMMENT = "SELECT obj_description(to_regclass('breakfall_journal'), 'pg_class'), to_regclass('breakfall_journal')"
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
_SELECT = "SELECT body FROM breakfall_journal WHERE key = %s FOR UPDATE"
_INSERT = (
    "INSERT INTO breakfall_journal (key, state, run, tool, updated_s, body) VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (key) DO NOTHING"
)
_UPDATE = "UPDATE breakfall_journal SET state = %s, updated_s = %s, body = %s WHERE key = %s"
_MAKING = 0x42464A4C
"""Number of the advisory lock under which the table is made."""

_DEFAULTS: dict[str, Any] = {
    "application_name": "breakfall journal",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""How the client notices that the server is gone; the address may say otherwise."""

_SETTINGS = """
    SELECT set_config(name, wanted, false) FROM pg_settings JOIN (VALUES
        ('lock_timeout', %(busy_ms)s), ('idle_session_timeout', '0'),
        ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3')
    ) AS ours (name, wanted) USING (name)
    UNION ALL
    SELECT set_config(name, 'on', false) FROM pg_settings WHERE name = 'synchronous_commit' AND setting = 'off'
"""
"""How the server notices that a client is gone, and that a commit is durable even where its default is not."""


class PostgresStore:
    """A `Store` in one table of a PostgreSQL database, on the connection's search path.

    An owner lives as long as its session: it holds an advisory lock, which the server gives back when the session
    ends, or when its machine has not answered for about half a minute.

    Args:
        url: The database's address.
        busy_s: How long to wait for another writer, and for the server.
    """

    def __init__(self, url: str, *, busy_s: float = 10.0) -> None:
        """Connect, and make the table if it is not there.

        Raises:
            StoreError: The server cannot be reached, or the table is no journal of this version.
            UsageError: The address cannot be read.
        """
        self.name = _public_name(url)
        self._url = url
        self._busy_s = busy_s
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self._connection: psycopg.Connection | None = None
        self._me: Owner | None = None
        with self._explained():
            self._connected()
        forget_in_children(self)

    def change(self, key: str, rule: Rule[T]) -> T:
        """Read, decide and store as one step; see `Store`."""
        with self._used():
            tries = 0
            while True:
                connection, me = self._connected()
                try:
                    done, result = self._changed(connection, me, key, rule)
                except _LostBeforeCommit:
                    tries += 1
                    if tries > 1:
                        raise
                    continue  # a connection that broke while it was idle: nothing was stored, and a new one may do
                if done:
                    return result

    def get(self, key: str) -> Entry | None:
        """Read one entry."""
        with self._used():
            row = self._read("SELECT body FROM breakfall_journal WHERE key = %s", (key,)).fetchone()
            return None if row is None else decode(row[0], self.name, key)

    def held(self, entry: Entry) -> bool:
        """Whether the entry's owner lives."""
        with self._used():
            connection, me = self._connected()
            return _lives(connection, me, entry.owner)

    def entries(
        self, *, states: Sequence[State] = (), run: str | None = None, tool: str | None = None, prefix: str = ""
    ) -> list[Entry]:
        """List entries, the oldest change first; see `Store`."""
        where, values = conditions(states, run, tool, prefix, "%s")
        query = f"SELECT key, body FROM breakfall_journal WHERE {where} ORDER BY updated_s, key"  # noqa: S608 - fixed
        with self._used():
            return [decode(body, self.name, key) for key, body in self._read(query, values)]

    def prune(self, before_s: float, states: Sequence[State]) -> int:
        """Drop old entries; see `Store`."""
        where, values = conditions(states, None, None, "", "%s")
        query = f"DELETE FROM breakfall_journal WHERE {where} AND updated_s < %s"  # noqa: S608 - fixed texts
        with self._used():
            return self._read(query, [*values, before_s]).rowcount

    def close(self) -> None:
        """Close the session and with it the owner's lock; twice is allowed."""
        if self._pid != os.getpid():
            return  # a forked child's copy: the session is the parent's
        with self._lock:
            self._closed = True
            if self._connection is not None:
                with suppress(psycopg.Error):  # the server would see the end of the session only a moment later
                    self._connection.execute("SELECT pg_advisory_unlock_all()")
                self._connection.close()

    def forget(self) -> None:
        """Close a forked child's copy of the socket without a word to the server."""
        if self._connection is not None and not self._connection.closed:
            os.close(self._connection.fileno())

    @contextmanager
    def _used(self) -> Iterator[None]:
        """Hold the session for one thread, and explain what goes wrong meanwhile."""
        check_usable(self.name, self._pid, self._closed)
        with self._lock, self._explained():
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise StoreError(f"{self.name}: {_explain(error, self._busy_s)}") from error

    def _connected(self) -> tuple[psycopg.Connection, Owner]:
        """Return the session and its owner; a session that broke is replaced, and what it held is held by nobody."""
        if self._connection is None or self._me is None or self._connection.closed:
            owner = Owner(id=uuid.uuid4().hex, host=HOST, pid=os.getpid())
            address = make_conninfo(**_DEFAULTS | conninfo_to_dict(self._url))
            connection = psycopg.connect(address, autocommit=True)
            try:
                connection.execute(_SETTINGS, {"busy_ms": str(int(self._busy_s * 1000))})
                _prepare(connection, self.name)
                connection.execute("SELECT pg_advisory_lock(%s)", (_lock_number(owner),))
            except BaseException:
                connection.close()
                raise
            self._connection, self._me = connection, owner
        return self._connection, self._me

    def _read(self, query: str, values: Sequence[object]) -> psycopg.Cursor:
        """Run a statement that stands alone, again if the connection had broken while it was idle."""
        connection, _ = self._connected()
        try:
            return connection.execute(query.encode(), values)
        except psycopg.OperationalError:
            if not connection.closed:
                raise
        connection, _ = self._connected()
        return connection.execute(query.encode(), values)

    def _changed(self, connection: psycopg.Connection, me: Owner, key: str, rule: Rule[T]) -> tuple[bool, T]:
        """Try one transaction; it is not done where another one has made the entry meanwhile."""
        try:
            connection.execute(_BEGIN)
            row = connection.execute(_SELECT, (key,)).fetchone()
            before = None if row is None else decode(row[0], self.name, key)
            after, result = rule(before, before is not None and _lives(connection, me, before.owner), me)
            done = True
            if after is not None and after is not before:
                op, body = after.operation, encode(after)
                if before is None:
                    values = (key, after.state.value, op.run, op.tool, after.updated_s, body)
                    done = connection.execute(_INSERT, values).rowcount == 1
                else:
                    connection.execute(_UPDATE, (after.state.value, after.updated_s, body, key))
        except BaseException as error:
            if not connection.closed:
                connection.execute("ROLLBACK")
            elif isinstance(error, psycopg.OperationalError):
                raise _LostBeforeCommit(str(error)) from error
            raise
        connection.execute("COMMIT")
        return done, result


class _LostBeforeCommit(psycopg.OperationalError):
    """The session broke before anything could be stored."""


def _lives(connection: psycopg.Connection, me: Owner, owner: Owner | None) -> bool:
    if owner is None or owner.id == me.id:
        return owner is not None
    row = connection.execute("SELECT pg_try_advisory_xact_lock_shared(%s)", (_lock_number(owner),)).fetchone()
    return row is None or not row[0]


def _lock_number(owner: Owner) -> int:
    digest = blake2b(b"breakfall journal owner " + owner.id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _prepare(connection: psycopg.Connection, name: str) -> None:
    """Check that the table is a journal of this version, or make it."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
        comment, table = connection.execute(_COMMENT).fetchone() or (None, None)
        if table is None:
            connection.execute(_TABLES)
            return
    lead, _, version = (comment or "").rpartition(" ")
    if lead != "breakfall write journal, version":
        raise StoreError(f"{name}: table {table} is not a write journal; give the journal another database or schema")
    if version != str(FORMAT):
        raise StoreError(
            f"{name}: this journal is of version {version}, this breakfall writes version {FORMAT}; use the breakfall "
            "that made it until its entries are settled, then start a new journal in another schema"
        )


def _public_name(url: str) -> str:
    """Name the database without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # the driver's own message would repeat the address, and with it the password
        raise UsageError(
            "the journal's address cannot be read; write postgresql://user@host:port/database, with special characters "
            "in a password as %XX"
        ) from None
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


def _explain(error: psycopg.Error, busy_s: float) -> str:
    """Say what is wrong and what to do."""
    match error:
        case psycopg.errors.LockNotAvailable():
            advice = f"locked by another session for more than {busy_s:g} s; end what holds it, and try again"
        case psycopg.errors.DiskFull():
            advice = "the server's disk is full; nothing was stored. Make room, and try again"
        case psycopg.errors.ReadOnlySqlTransaction():
            advice = "the server is read-only (a standby?); give the address of the primary"
        case psycopg.errors.InsufficientPrivilege():
            advice = "this user may not use the journal; grant it the table, or CREATE on the schema"
        case psycopg.OperationalError():
            advice = "the server cannot be reached, or the connection broke; check the address and the server"
        case _:
            advice = "the journal cannot be used"
    return f"{advice} ({' '.join(str(error).split())})"
