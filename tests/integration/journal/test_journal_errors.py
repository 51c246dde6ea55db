"""What a journal says when it cannot go on, and that nothing is half stored."""

import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from breakfall.errors import StoreError, UsageError
from breakfall.runtime.journal import Fresh, InFlightElsewhere, Operation, Replayed, Send, State, open_journal
from breakfall.vocab import Ok


def begin(journal, key="k"):
    arguments = {"key": key, "padding": "x" * 200}
    return journal.begin(
        Operation(key=key, run="r", tool="order", arguments=arguments), Send(tool="order", arguments=arguments)
    )


def refused(where, **options):
    """What opening says."""
    with pytest.raises(StoreError) as caught:
        open_journal(where, **options).close()
    return str(caught.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


@pytest.fixture
def no_files_beyond():
    """Let no file of this process grow beyond a size: what a full disk does to writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    @contextmanager
    def limited(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


def test_missing_folders_are_made(tmp_path):
    """A journal may be opened in a folder that is not there yet, given as text or path."""
    for where in (tmp_path / "a" / "b" / "journal", str(tmp_path / "c" / "journal")):
        with open_journal(where) as journal:
            assert isinstance(begin(journal), Fresh)


def test_a_file_that_is_no_journal_is_refused_untouched(path):
    """Neither a text nor another program's database is changed, and the message says what it is."""
    path.write_text("dear diary" * 100)
    assert refused(path).startswith(
        f"{path}: this is not a write journal (not a SQLite file); give the journal another"
    )
    assert path.read_text() == "dear diary" * 100
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE t (a)")
    before = path.read_bytes()
    assert refused(path) == f"{path}: this is a SQLite file, but not a write journal; give the journal another path"
    assert path.read_bytes() == before


def test_another_version_is_refused(path):
    """The message names both versions and what to do."""
    open_journal(path).close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 9")
    assert "this journal is of version 9, this breakfall writes version 1; use the breakfall" in refused(path)


def test_a_folder_is_refused(path):
    """A path that cannot be a file is named."""
    path.mkdir()
    assert refused(path).startswith(f"{path}: cannot be opened; check that the path is a file")


def test_a_locked_journal_says_so(path):
    """A writer that never ends is waited for as long as asked, then named as the trouble; nothing was stored."""
    with open_journal(path, busy_s=0.05) as journal, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"locked by another process for more than 0.05 s; end what holds it"):
            begin(journal)
        other.execute("ROLLBACK")
        assert isinstance(begin(journal), Fresh)


def test_a_full_disk_leaves_no_half_entry(path, no_files_beyond):
    """When the disk is full, beginning fails before anything may be sent; what was stored before stays whole."""
    stored = []
    with open_journal(path) as journal:
        begin(journal, "first")

        def write():
            begun = begin(journal, f"k{len(stored)}")
            stored.append(begun.claim.key)
            journal.finish(begun.claim, Ok(value=1))

        with no_files_beyond(100_000), pytest.raises(StoreError, match=r"the disk .*nothing was stored"):
            deque(iter(write, 0), maxlen=0)
        assert stored
        kept = {entry.key: entry.state for entry in journal.entries()}
        assert set(kept) == {"first", *stored}
        assert isinstance(begin(journal, f"k{len(stored)}"), Fresh)
    with open_journal(path) as journal:
        done = [key for key in stored if journal.get(key).state is State.SUCCEEDED]
        assert done in (stored, stored[:-1])  # the last outcome may be what found the disk full
        assert all(isinstance(begin(journal, key), Replayed) for key in done)


def test_a_full_disk_while_the_owners_lock_is_made_says_so(tmp_path):
    """Where the folder of living owners cannot be made, nothing is begun."""
    path = tmp_path / "journal.sqlite"
    (tmp_path / "journal.sqlite-owners").write_text("in the way")
    with open_journal(path) as journal:
        with pytest.raises(StoreError, match="cannot keep the lock that shows who is alive"):
            begin(journal)
        assert journal.entries() == []


def test_a_damaged_file_is_an_error_not_an_answer(path):
    """A journal whose pages or entries are overwritten never says that an operation is new."""
    with open_journal(path) as journal:
        for n in range(100):
            begin(journal, f"k{n}")
    damaged = path.read_bytes()
    middle = damaged[:4096] + b"\xff" * (len(damaged) - 4096)
    path.write_bytes(middle)
    with pytest.raises(StoreError, match="the journal is damaged"), open_journal(path) as journal:
        begin(journal, "k50")


def test_a_damaged_entry_is_named(where):
    """An entry that cannot be read is an error with its key, in either store; its siblings are read."""
    with open_journal(where) as journal:
        begin(journal, "good")
        begin(journal, "bad")
        if where.startswith("postgresql"):
            with psycopg.connect(where, autocommit=True) as raw:
                raw.execute("UPDATE breakfall_journal SET body = '{}' WHERE key = 'bad'")
        else:
            with closing(sqlite3.connect(where, isolation_level=None)) as raw:
                raw.execute("UPDATE entries SET body = '{}' WHERE key = 'bad'")
        with pytest.raises(StoreError, match=r"entry 'bad' is damaged: .*operation.* Restore the journal"):
            begin(journal, "bad")
        assert journal.get("good") is not None


_READ_ONLY = """
import os, sys
import breakfall.runtime.journal.sqlite
from breakfall.errors import StoreError
from breakfall.runtime.journal import Operation, Send, open_journal
if os.geteuid() == 0:  # root may write everything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    journal = open_journal(sys.argv[1])
    journal.begin(Operation(key="k2", run="r", tool="t", arguments={}), Send(tool="t", arguments={}))
except StoreError as error:
    print(error)
"""


def test_a_journal_that_may_not_be_written_says_so():
    """A user without the right to write is told, and nothing is begun."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "journal.sqlite"
        with open_journal(path) as journal:
            begin(journal)
        for each in (path, Path(folder)):
            each.chmod(0o555 if each.is_dir() else 0o444)
        command = [sys.executable, "-c", _READ_ONLY, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        Path(folder).chmod(0o755)
        assert done.stdout.startswith(f"{path}: ")
        assert "writable" in done.stdout or "may be read and written" in done.stdout


def test_another_kind_of_address_is_refused():
    """Only files and PostgreSQL can hold a journal."""
    with pytest.raises(UsageError, match=r"a journal is a file's path or a postgresql:// address, not mysql://"):
        open_journal("mysql://host/db")


def test_without_psycopg_the_message_says_what_to_install(monkeypatch):
    """PostgreSQL is an extra: only opening such a journal needs it."""
    monkeypatch.delitem(sys.modules, "breakfall.runtime.journal.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        UsageError, match=r"needs psycopg, which cannot be imported .*pip install 'breakfall\[postgres\]'"
    ):
        open_journal("postgresql://host/db")


def test_no_message_shows_the_password(server):
    """Neither an address that cannot be read nor a server that cannot be reached gives the password away."""
    for where, error in (
        ("postgresql://me:s3cret@127.0.0.1:1/db", StoreError),
        ("postgresql://me:s3cret@[broken/db", UsageError),
        ("postgresql://me:s3cret@127.0.0.1/db?nonsense=1", UsageError),
    ):
        with pytest.raises(error) as caught:
            open_journal(where)
        assert "s3cret" not in str(caught.value)
    assert "postgresql://me@127.0.0.1:1/db: the server cannot be reached" in refused(
        "postgresql://me:s3cret@127.0.0.1:1/db"
    )


def test_another_table_of_that_name_is_refused(postgres):
    """A table that is no journal, or one of another version, is neither used nor changed."""
    with psycopg.connect(postgres, autocommit=True) as raw:
        raw.execute("CREATE TABLE breakfall_journal (a int)")
    assert "table breakfall_journal is not a write journal" in refused(postgres)
    with psycopg.connect(postgres, autocommit=True) as raw:
        raw.execute("DROP TABLE breakfall_journal")
        open_journal(postgres).close()
        raw.execute("COMMENT ON TABLE breakfall_journal IS 'breakfall write journal, version 9'")
    assert "this journal is of version 9, this breakfall writes version 1" in refused(postgres)


def test_a_locked_row_says_so(postgres):
    """Another session that holds an entry is waited for as long as asked."""
    with open_journal(postgres, busy_s=0.1) as journal:
        begin(journal)
        with psycopg.connect(postgres) as other:
            other.execute("SELECT * FROM breakfall_journal FOR UPDATE")
            with pytest.raises(StoreError, match=r"locked by another session for more than 0.1 s"):
                begin(journal)
        assert journal.get("k") is not None


def test_a_new_key_that_another_session_is_just_storing_is_not_new(postgres):
    """Beginning waits for the other session's commit and then sees its entry."""
    with open_journal(postgres) as other, open_journal(postgres) as journal, ThreadPoolExecutor(1) as thread:
        begin(other)
        with psycopg.connect(postgres, autocommit=True) as raw:
            row = raw.execute("DELETE FROM breakfall_journal RETURNING *").fetchone()
            with raw.transaction():
                raw.execute("INSERT INTO breakfall_journal VALUES (%s, %s, %s, %s, %s, %s)", row)
                begun = thread.submit(begin, journal)
                while not begun.done() and not raw.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                    time.sleep(0.005)
        assert isinstance(begun.result(), InFlightElsewhere)


def test_a_read_only_server_says_so(postgres):
    """A standby is named as such."""
    assert "the server is read-only (a standby?)" in refused(postgres + "%20-cdefault_transaction_read_only%3Don")


def test_a_broken_session_is_replaced_and_what_it_held_is_free(postgres):
    """After the server ended the session the journal goes on in a new one; another may take what the old one held."""
    with open_journal(postgres) as journal, open_journal(postgres) as other:
        claim = begin(journal).claim
        with psycopg.connect(postgres, autocommit=True) as raw:
            raw.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE application_name = 'breakfall journal' AND pid <> pg_backend_pid()"
            )
        assert journal.get("k").state is State.IN_FLIGHT
        assert other.finish(begin(other, "k2").claim, Ok(value=1)).state is State.SUCCEEDED
        assert [entry.key for entry in other.entries((State.IN_FLIGHT,))] == ["k"]
        assert other.reconcile(lambda entry, send: None).needs_person == ("k",)
        assert journal.finish(claim, Ok(value=7)).notes[-1].text == "says applied: yes (7)"


def test_commits_are_durable_where_the_database_does_not_wait(postgres):
    """A session whose default is not to wait for the disk is told to wait."""
    with open_journal(postgres + "%20-csynchronous_commit%3Doff") as journal:
        begin(journal)
        shown = journal._store._connection.execute("SHOW synchronous_commit").fetchone()
    assert shown == ("on",)
