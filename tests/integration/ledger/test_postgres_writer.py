"""Writing into PostgreSQL: nothing acknowledged is lost, and nothing can be changed unnoticed."""

import os
import signal
import threading
import time

import psycopg
import pytest

from breakfall.errors import StoreError, UsageError
from breakfall.ledger import check
from breakfall.ledger.postgres import PostgresSource, connect
from breakfall.ledger.postgres_retention import prune
from breakfall.ledger.postgres_writer import PostgresWriter
from breakfall.ledger.source import read_steps
from breakfall.ledger.store import open_ledger
from breakfall.vocab import EpisodeEnd, Ok, Verification, VerificationStatus

DAY_S = 24 * 3600.0


def stored(address):
    """Every step that is there, in order."""
    connection = connect(address)
    try:
        return list(read_steps(PostgresSource(connection, "test")))
    finally:
        connection.close()


def said(address):
    """What a check finds."""
    return [(finding.flaw.value, finding.what) for finding in check.check(address).findings]


def sql(address, statement, *values):
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(statement, values)


def test_what_is_written_is_read_back(postgres, make):
    """Steps come back whole, a large value included, and the chain is sound."""
    steps = [make("run", n) for n in range(5)] + [make("run", 5, observed_outcome=Ok(value="word " * 60_000))]
    with PostgresWriter(postgres) as writer:
        for step in steps:
            writer.step(step)
        assert stored(postgres) == steps
        writer.sync()
    assert stored(postgres) == steps
    assert said(postgres) == []


def test_segments_are_rotated_and_linked(postgres, make):
    """By number of lines and by age the next segment is begun, which names the end of the one before."""
    with PostgresWriter(postgres, rotate_lines=3) as writer:
        for n in range(7):
            writer.step(make("run", n))
    with PostgresWriter(postgres, rotate_s=0.0) as writer:
        writer.step(make("run", 7))
    connection = connect(postgres)
    names = list(PostgresSource(connection, "test").segments())
    connection.close()
    assert len(names) == 5
    assert sorted(step.n for step in stored(postgres)) == list(range(8))
    assert said(postgres) == []
    sql(postgres, "DELETE FROM bf_lines WHERE segment = (SELECT id FROM bf_written WHERE name = %s)", names[0])
    sql(postgres, "DELETE FROM bf_written WHERE name = %s", names[0])
    assert said(postgres) == [("removed", "the whole segment")]


def test_threads_share_a_writer(postgres, make):
    """Steps of many threads are chained, each thread's in its own order."""
    with PostgresWriter(postgres) as writer:

        def work(worker: int) -> None:
            for n in range(20):
                writer.step(make(f"run-{worker}", n))

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found: dict[str, list[int]] = {}
    for step in stored(postgres):
        found.setdefault(step.episode, []).append(step.n)
    assert found == {f"run-{worker}": list(range(20)) for worker in range(4)}
    assert said(postgres) == []


def test_a_forked_child_goes_on_in_a_segment_of_its_own(postgres, make):
    """After a fork parent and child both write, each in its own session."""
    with PostgresWriter(postgres) as writer:
        writer.step(make("run", 0))
        child = os.fork()
        if child == 0:
            try:
                writer.step(make("run", 1))
                writer.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        writer.step(make("run", 2))
    assert sorted(step.n for step in stored(postgres)) == [0, 1, 2]
    assert said(postgres) == []


def test_a_broken_session_is_replaced(postgres, make):
    """When the server ends a session between two steps, the next step is stored once, in the same chain."""
    with PostgresWriter(postgres) as writer:
        for n in range(3):
            writer.step(make("run", n))
            sql(postgres, "SELECT pg_terminate_backend(%s)", writer._connection.info.backend_pid)
    assert [step.n for step in stored(postgres)] == [0, 1, 2]
    assert said(postgres) == []


def test_acknowledged_steps_survive_kill(postgres, make):
    """Writers are killed at any moment: each step that one of them acknowledged is there, and no chain is broken."""
    acknowledged: set[tuple[str, int]] = set()
    for life in range(12):
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                writer = PostgresWriter(postgres)
                for n in range(1_000_000):
                    writer.step(make(f"run-{life}", n))
                    os.write(into, b"%d\n" % n)
            finally:
                os._exit(1)
        os.close(into)
        os.read(out, 100)
        time.sleep(0.003 * (life % 5))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raw = b"0\n"
        while part := os.read(out, 65536):
            raw += part
        os.close(out)
        acknowledged |= {(f"run-{life}", int(n)) for n in raw.decode().split("\n")[:-1] if n}
    there = [(step.episode, step.n) for step in stored(postgres)]
    assert acknowledged <= set(there)
    assert len(there) == len(set(there))
    assert said(postgres) == []


def test_tampering_is_named(postgres, make):
    """A changed, a removed and a swapped line are named, the removed one by what the index remembers."""
    with PostgresWriter(postgres) as writer:
        for n in range(6):
            writer.step(make("run", n))
    with open_ledger(postgres):
        pass
    sql(postgres, "UPDATE bf_lines SET line = replace(line, 'paid', 'open') WHERE seq = 2")
    assert said(postgres) == [("changed", "step 1 of run (get_order)")]
    sql(postgres, "UPDATE bf_lines SET line = replace(line, 'open', 'paid') WHERE seq = 2")
    assert said(postgres) == []
    sql(postgres, "UPDATE bf_lines SET seq = 99 WHERE seq = 4")
    assert said(postgres) == [("reordered", "step 3 of run (get_order)")]
    sql(postgres, "DELETE FROM bf_lines WHERE seq = 99")
    assert said(postgres) == [("removed", "step 3 of run (get_order)")]


def test_what_must_be_durable_is(postgres, make):
    """A step that blocks commits durably, others do not wait for the disk; the setting holds for its own commit."""
    with PostgresWriter(postgres) as writer:
        watched: list[str] = []
        execute = writer._connection.execute

        def spy(statement, values=None, **more):
            watched.append("durable" if "set_config" in str(statement) else "plain")
            return execute(statement, values, **more)

        writer._connection.execute = spy
        writer.step(make("run", 0))
        writer.step(make("run", 1, verification=Verification(status=VerificationStatus.PASSED)))
        assert watched == ["plain", "durable"]
        (setting,) = execute("SHOW synchronous_commit").fetchone()
        assert setting == "off"


def test_a_closed_writer_takes_nothing(postgres, make):
    """A step after the end is refused."""
    writer = PostgresWriter(postgres)
    writer.close()
    writer.close()
    with pytest.raises(StoreError, match="this writer was closed"):
        writer.step(make("run", 0))


def test_secrets_never_reach_the_server(postgres, make):
    """What a rule knows is taken out first."""
    with PostgresWriter(postgres) as writer:
        writer.step(make("run", 0, arguments={"password": "correct horse battery"}))
    (step,) = stored(postgres)
    assert step.arguments == {"password": "[scrubbed]"}
    assert step.scrubbed == ("/arguments/password",)


def test_old_segments_go(postgres, make):
    """What is old and left by its writer goes and is accounted for; what a session still writes stays."""
    now_s = 1_700_000_000.0 + 100 * DAY_S
    with PostgresWriter(postgres) as writer:
        writer.step(make("old", 0))
    with PostgresWriter(postgres) as writer:
        writer.step(make("young", 0, unix_s=now_s - 5))
    with open_ledger(postgres):
        pass
    with PostgresWriter(postgres) as writer:
        writer.step(make("open", 0))
        trial = prune(postgres, older_s=DAY_S, dry=True, now=lambda: now_s)
        done = prune(postgres, older_s=DAY_S, now=lambda: now_s)
        assert (len(done.dropped), done.kept) == (1, 2)
        assert trial == done
    assert {step.episode for step in stored(postgres)} == {"young", "open"}
    assert said(postgres) == []
    with open_ledger(postgres) as ledger:
        assert ledger.db.rows("SELECT count(*) FROM steps") == [(2,)]
    with pytest.raises(UsageError, match="is compressed by the server"):
        check.prune(postgres, older_s=None, pack_older_s=1.0)


def test_tables_of_another_version(postgres, make):
    """An index of another version is built anew; lines of another format are refused with what is there."""
    with PostgresWriter(postgres) as writer:
        writer.step(make("run", 0))
    with open_ledger(postgres) as ledger:
        assert ledger.db.rows("SELECT count(*) FROM steps") == [(1,)]
    sql(postgres, "COMMENT ON TABLE bf_steps IS 'breakfall ledger index, version 1'")
    with open_ledger(postgres) as ledger:
        assert ledger.db.rows("SELECT count(*) FROM steps") == [(1,)]
    sql(postgres, "COMMENT ON TABLE bf_lines IS 'breakfall ledger, format 9'")
    with pytest.raises(StoreError, match="table bf_lines is 'breakfall ledger, format 9', this breakfall writes"):
        PostgresWriter(postgres)


def test_the_end_of_an_episode_is_a_line(postgres, make):
    """How an episode ended is indexed with its run."""
    from breakfall.vocab import Answer, Ending, EpisodeKey, Scenario, Verdict

    key = EpisodeKey(world="shop", condition="native", agent="a", scenario=Scenario.CLEAN, task="t", seed=0)
    end = EpisodeEnd(
        episode="run",
        key=key,
        steps=1,
        ending=Ending.ANSWERED,
        answer=Answer(text="done"),
        verdict=Verdict(passed=True, state_ok=True, answer_ok=True),
    )
    with PostgresWriter(postgres) as writer:
        writer.step(make("run", 0))
        writer.end(end)
    with open_ledger(postgres) as ledger:
        assert ledger.db.rows("SELECT episode, steps, ending, passed FROM episodes") == [("run", 1, "answered", 1)]


def test_an_address_that_cannot_be_used(postgres):
    """Each error names the database without its password."""
    with pytest.raises(UsageError, match="the ledger's address cannot be read"):
        PostgresWriter("postgresql://user:pa%ss@host/db")
    with pytest.raises(StoreError, match=r"postgresql://x@127.0.0.1:1/y: the server cannot be reached"):
        PostgresWriter("postgresql://x:secret@127.0.0.1:1/y")
