"""Several watchdogs share a ledger in PostgreSQL: every claim is looked at by one of them, also while others die."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from breakfall.ledger.check import check
from breakfall.ledger.postgres import PostgresSource, connect
from breakfall.ledger.postgres_writer import PostgresWriter
from breakfall.ledger.source import decode
from breakfall.ledger.verdict import StepVerdict
from breakfall.runtime.clock import SystemClock
from breakfall.runtime.verifiers import Claim, Look, Looking, Registered, Verifier, postgres_row
from breakfall.runtime.watch import Settings, Watch
from breakfall.runtime.watch.place import watched
from breakfall.vocab import Applied, Effect, Ok, Predicate, Step, Uncertainty, Verification, VerificationStatus

NOW = SystemClock().now


def step(n: int) -> Step:
    return Step(
        episode="e",
        n=n,
        call=f"c{n}",
        tool="put",
        arguments={"id": n},
        at_s=float(n),
        expected_outcome="it is there",
        observed_outcome=Ok(value={}),
        verification=Verification(status=VerificationStatus.NOT_DONE),
        uncertainty_signal=Uncertainty.NONE,
        effect=Effect.WRITE,
    )


def verdicts(url: str) -> list[StepVerdict]:
    with connect(url) as connection:
        source = PostgresSource(connection, "ledger")
        lines = (decode(source, name, raw.line) for name in source.segments() for raw in source.lines(name))
        return [line for line in lines if isinstance(line, StepVerdict)]


class Counting:
    """Counts how often each claim was looked at, and takes its time."""

    def __init__(self) -> None:
        self.looked: Counter[int] = Counter()
        self._lock = threading.Lock()

    def settings(self) -> Settings:
        def look(claim: Claim, looking: Looking) -> Look:
            with self._lock:
                self.looked[claim.arguments["id"]] += 1
            return looking.there({}, (), absent=bool(claim.arguments["id"] % 2))

        return Settings(tools={"put": Registered(verify=Verifier("count", dict_of, look))}, agreeing=1)


def dict_of(claim: Claim) -> dict[str, Any]:
    return dict(claim.arguments)


def test_no_work_twice(postgres: str, tmp_path: Path) -> None:
    """Three watchdogs at the same time look at every claim once, and their verdicts stand there once."""
    counting, told, problems = Counting(), [], []
    with PostgresWriter(postgres) as writer:

        def watch(number: int) -> None:
            try:
                place = watched(postgres)
                with Watch(place, tmp_path / f"{number}.db", counting.settings(), now=NOW, tell=told.append) as one:
                    while not ended.is_set():
                        one.tick()
                    one.tick()
            except BaseException as error:
                problems.append(error)
                raise

        ended = threading.Event()
        threads = [threading.Thread(target=watch, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for n in range(300):
            writer.step(step(n))
        while len(counting.looked) < 300 and not problems:
            ended.wait(0.05)
        ended.set()
        for thread in threads:
            thread.join()
    assert problems == []
    assert set(counting.looked.values()) == {1}
    said = verdicts(postgres)
    assert Counter(one.n for one in said) == Counter(range(300))
    assert {one.judgement for one in said if one.n is not None and one.n % 2} == {"contradicted"}
    assert 1 <= len(told) <= 3  # they are equal, and each watchdog mutes its own
    assert check(postgres).sound


def test_a_dead_one_is_replaced(postgres: str, tmp_path: Path) -> None:
    """What a watchdog held when its connection broke, another one judges."""
    counting = Counting()
    with PostgresWriter(postgres) as writer:
        writer.step(step(0))
    dead, alive = watched(postgres), watched(postgres)
    with Watch(alive, tmp_path / "alive.db", counting.settings(), now=NOW) as one:
        one._intake.read(NOW())
        ids = [claim.id for claim in one._state.due(NOW(), 10)]
        assert dead.hold(ids) == set(ids)
        one.tick()
        assert verdicts(postgres) == []
        dead.close()
        while not counting.looked:
            one.tick()
    assert [said.n for said in verdicts(postgres)] == [0]


def test_postgres_row(postgres: str) -> None:
    """A row is looked at with bound values and for reading only; quoted colons and casts are no values."""
    with connect(postgres) as connection:
        connection.execute("CREATE TABLE orders (id int, status text, at timestamptz DEFAULT now())")
        connection.execute("INSERT INTO orders VALUES (7, 'paid:ok')")

    def look(query: str, **arguments: Any) -> Look:
        paid = [Predicate(at="/0/status", is_="==", value="paid:ok")]
        return postgres_row(postgres, query, predicates=paid)(Claim(tool="pay", arguments=arguments))

    query = "SELECT status, at FROM orders WHERE id = :id::int AND status LIKE 'paid:%'"
    assert look(query, id=7).applied is Applied.YES
    assert look(query, id=8).applied is Applied.NO
    assert look("DELETE FROM orders WHERE id = :id RETURNING status", id=7).applied is Applied.UNKNOWN
    assert look(query, id=7).applied is Applied.YES
    wrong = postgres_row("postgresql://nobody:hunter2@127.0.0.1:1/x", query)(Claim(tool="pay", arguments={"id": 7}))
    assert wrong.applied is Applied.UNKNOWN
    assert "hunter2" not in str(wrong)


def test_begun_anew(postgres: str, tmp_path: Path) -> None:
    """Begun again and again, also without its memory, a watchdog says nothing twice."""
    counting = Counting()
    with PostgresWriter(postgres) as writer:
        for n in range(3):
            writer.step(step(n))
    for number in range(3):
        with Watch(watched(postgres), tmp_path / f"{number}.db", counting.settings(), now=NOW) as one:
            one.tick()
            one.tick()
    assert sum(counting.looked.values()) == 3
    assert len(verdicts(postgres)) == 3
