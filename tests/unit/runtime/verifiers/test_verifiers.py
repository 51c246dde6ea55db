"""Verifiers tell an applied write from one that is not, and say so where they cannot tell."""

from __future__ import annotations

import mailbox
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from breakfall.errors import UsageError
from breakfall.runtime.verifiers import (
    Claim,
    Look,
    by_reader,
    file_content,
    function,
    http_json,
    look_of,
    maildir,
    mbox,
    sqlite_row,
)
from breakfall.vocab import (
    Applied,
    Failed,
    Ok,
    Outcome,
    Predicate,
    Reader,
    Settlement,
    Verification,
    VerificationStatus,
    same_arguments,
)

YES, NO, UNKNOWN = Applied.YES, Applied.NO, Applied.UNKNOWN


def claim(value: Any = None, **arguments: Any) -> Claim:
    return Claim(tool="write", arguments=arguments, value=value, sent_s=100.0)


class TestFile:
    def test_content(self, tmp_path: Path) -> None:
        """A file with the claimed text confirms; another text or no file contradicts; its removal is the reverse."""
        (tmp_path / "a.txt").write_text("paid 5")
        holds = Predicate(at="/text", is_="contains", value="{note}")
        verify = file_content("{path}", root=tmp_path, predicates=[holds])
        assert verify(claim(path="a.txt", note="paid 5")).applied is YES
        other = verify(claim(path="a.txt", note="paid 6"))
        assert (other.applied, other.found) == (NO, {"/text": "paid 5"})
        assert other.why == "not so: /text contains 'paid 6'"
        assert verify(claim(path="b.txt", note="")).applied is NO
        gone = file_content("{path}", root=tmp_path, absent=True)
        assert [gone(claim(path=name)).applied for name in ("a.txt", "b.txt")] == [NO, YES]

    def test_json_and_digest(self, tmp_path: Path) -> None:
        """Predicates reach into JSON, and a file of other bytes is no text but has a digest."""
        (tmp_path / "a.json").write_text('{"total": 5}')
        (tmp_path / "b.bin").write_bytes(b"\xff\xfe")
        total = file_content(
            "{path}", root=tmp_path, predicates=[Predicate(at="/json/total", is_="==", value="{total}")]
        )
        assert total(claim(path="a.json", total=5)).applied is YES
        assert total(claim(path="a.json", total="5")).applied is NO
        seen = file_content("{path}", root=tmp_path)(claim(path="b.bin")).outcome
        assert isinstance(seen, Ok)
        assert (seen.value["text"], seen.value["size_bytes"], len(seen.value["sha256"])) == (None, 2, 64)

    @pytest.mark.parametrize("path", ["../secret", "/etc/hostname", "link", "folder", "a\0b"])
    def test_stays_in_its_folder(self, tmp_path: Path, path: str) -> None:
        """What the agent chose outside of the folder, through a link, or that is no file, is not looked at."""
        root = tmp_path / "root"
        (root / "folder").mkdir(parents=True)
        (tmp_path / "secret").write_text("s3cr3t")
        (root / "link").symlink_to(tmp_path / "secret")
        look = file_content("{path}", root=root)(claim(path=path))
        assert look.applied is UNKNOWN
        assert isinstance(look.outcome, Failed)
        assert "s3cr3t" not in str(look)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER, status TEXT)")
        connection.execute("INSERT INTO orders VALUES (7, 'paid'), (8, 'open')")
    return path


class TestSqlite:
    QUERY = "SELECT status FROM orders WHERE id = :id"

    def test_row(self, database: Path) -> None:
        """The row that the arguments name confirms or contradicts; no row contradicts, and confirms a removal."""
        paid = sqlite_row(database, self.QUERY, predicates=[Predicate(at="/0/status", is_="==", value="paid")])
        assert [paid(claim(id=number, note="unused")).applied for number in (7, 8, 9)] == [YES, NO, NO]
        gone = sqlite_row(database, self.QUERY, absent=True)
        assert [gone(claim(id=number)).applied for number in (7, 9)] == [NO, YES]

    def test_the_answer_names_the_row(self, database: Path) -> None:
        """A parameter may come from what the write answered."""
        verify = sqlite_row(database, self.QUERY, parameters={"id": "{/order/id}"})
        assert verify(claim({"order": {"id": 7}})).applied is YES
        assert verify(claim({"order": {}})).why == "the answer of write has nothing at /order/id"

    def test_cannot_tell(self, database: Path, tmp_path: Path) -> None:
        """Broken queries, missing databases and arguments tell nothing, and nothing can be written or made."""
        write = sqlite_row(database, "DELETE FROM orders WHERE id = :id")
        assert write(claim(id=7)).applied is UNKNOWN
        assert sqlite_row(database, self.QUERY)(claim(id=7)).applied is YES
        missing = sqlite_row(tmp_path / "none.db", self.QUERY)
        assert missing(claim(id=7)).applied is UNKNOWN
        assert not (tmp_path / "none.db").exists()
        assert sqlite_row(database, self.QUERY)(claim()).why == "write was called without 'id'"
        assert sqlite_row(database, self.QUERY)(claim(id=[7])).applied is UNKNOWN
        everything = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n"
        assert "more than 1,000 rows" in sqlite_row(database, everything)(claim()).why


def message(**headers: str) -> str:
    body = headers.pop("body", "hello")
    return "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items()) + f"\n{body}\n"


MATCH = {"to": "{to}", "subject": "{subject}"}


class TestMail:
    @pytest.fixture(params=["maildir", "mbox"])
    def box(self, request: pytest.FixtureRequest, tmp_path: Path) -> tuple[mailbox.Mailbox[Any], Callable[..., Any]]:
        where = tmp_path / "box"
        if request.param == "maildir":
            return mailbox.Maildir(where), lambda **more: maildir(where, match=MATCH, **more)
        return mailbox.mbox(where), lambda **more: mbox(where, match=MATCH, **more)

    def test_message(self, box: Any) -> None:
        """A message to this address with this subject confirms; a like one does not; predicates see the body."""
        inbox, make = box
        inbox.add(message(To="Ann <ANN@shop.example>, bob@shop.example", Subject="Invoice\n O7", Message_Id="<m1>"))
        inbox.flush()
        said = make(predicates=[Predicate(at="/0/body", is_="contains", value="hello")])
        assert said(claim(to="ann@shop.example", subject="Invoice O7")).applied is YES
        for to, subject in (("shop.example", "Invoice O7"), ("ann@shop.example", "Invoice")):
            look = said(claim(to=to, subject=subject))
            assert (look.applied, look.why) == (NO, "no such message")
        gone = make(absent=True)
        assert gone(claim(to="ann@shop.example", subject="Invoice O7")).applied is NO
        inbox.close()

    def test_no_mailbox(self, tmp_path: Path) -> None:
        """A mailbox that is not there tells nothing, and none is made."""
        for make in (maildir, mbox):
            assert make(tmp_path / "none", match=MATCH)(claim(to="a", subject="b")).applied is UNKNOWN
        assert list(tmp_path.iterdir()) == []

    def test_odd_messages(self, tmp_path: Path) -> None:
        """Messages without headers, with unknown character sets, or in HTML alone do not stop the search."""
        inbox = mailbox.Maildir(tmp_path / "box")
        for raw in ("", "\n\n", message(Content_Type="text/plain; charset=nope", To="a@b.c", Subject="s")):
            inbox.add(raw)
        inbox.add(message(Content_Type="text/html", To="a@b.c", Subject="s", body="<b>hi</b>"))
        look = maildir(tmp_path / "box", match=MATCH)(claim(to="a@b.c", subject="s"))
        assert look.applied is YES
        assert isinstance(look.outcome, Ok)
        assert sorted(one["body"] for one in look.outcome.value) == ["", "<b>hi</b>\n"]


class TestFunctionAndReader:
    def test_function(self) -> None:
        """A function's value is held against the predicates; None is nothing; an exception tells nothing."""
        orders = {7: {"status": "paid"}}

        def get_order(number: int) -> dict[str, str] | None:
            if number < 0:
                raise ConnectionError("down")
            return orders.get(number)

        paid = [Predicate(at="/status", is_="==", value="paid")]
        verify = function(get_order, arguments={"number": "{id}"}, predicates=paid)
        assert [verify(claim(id=number)).applied for number in (7, 8, -1)] == [YES, NO, UNKNOWN]
        assert verify(claim(id=-1)).why == "get_order raised ConnectionError: down"

    def test_reader(self) -> None:
        """A write's own reader is asked and its judge decides; a failed look-up tells nothing."""

        def judge(value: Any, arguments: Any, sent_s: float) -> Settlement:
            assert sent_s == 100.0
            return Settlement(applied=YES if value == arguments["id"] else NO, evidence=f"saw {value}")

        def call(tool: str, arguments: dict[str, Any]) -> Outcome:
            assert tool == "get"
            return Ok(value=arguments["id"]) if arguments["id"] < 9 else Failed(message="HTTP 500", status=500)

        reader = Reader(tool="get", arguments=same_arguments, judge=judge)
        verify = by_reader(reader, call)
        assert verify(claim(id=7)) == Look(applied=YES, tool="get", asked={"id": 7}, outcome=Ok(value=7), why="saw 7")
        assert verify(claim(id=9)).why == "the look-up failed: HTTP 500"
        assert look_of(reader, claim(id=7), {"id": 7}, Ok(value=8)).applied is NO
        unknown = Reader(tool="get", arguments=lambda arguments, context: None, judge=judge)
        assert by_reader(unknown, call)(claim(id=7)).applied is UNKNOWN


class TestLook:
    def test_verification(self, tmp_path: Path) -> None:
        """What a verifier saw becomes a step's verification: passed, failed or not done, by whom, with the evidence."""
        (tmp_path / "a").write_text("x")
        verify = file_content("{path}", root=tmp_path)
        assert verify(claim(path="a")).verification(by="runtime", evidence=4) == Verification(
            status=VerificationStatus.PASSED, method="file: the file is there", by="runtime", evidence=4
        )
        assert verify(claim(path="b")).verification(by="watchdog").status is VerificationStatus.FAILED
        assert verify(claim()).verification(by="runtime").status is VerificationStatus.NOT_DONE

    def test_the_same_place(self, tmp_path: Path) -> None:
        """Writes about the same thing look at the same place, whatever else they say."""
        verify = file_content("{path}", root=tmp_path)
        places = [verify(claim(path=name, note=name)).place for name in ("a", "a", "b")]
        assert places[0] == places[1] != places[2]
        assert verify.place(claim({"v": 1}, note=1, path="a")) == places[0]
        assert verify.place(claim()) is None


class TestUrls:
    @pytest.mark.parametrize("url", ["ftp://a/{x}", "http://{x}/a", "issues/{x}", "http://a/{x", "http://a/{x y}"])
    def test_refused(self, url: str) -> None:
        """A URL whose scheme or host an agent could choose, or with a brace that is no gap, is refused at once."""
        with pytest.raises(UsageError, match="url is"):
            http_json(url)

    @pytest.mark.parametrize("value", ["..", ".", "", None, {"a": 1}])
    def test_no_steps_through_folders(self, value: Any) -> None:
        """A value that would lead to another place of the service is not put into the URL."""
        look = http_json("http://127.0.0.1:1/issues/{n}")(claim(n=value))
        assert look.applied is UNKNOWN
        assert look.asked == {}

    def test_nobody_answers(self) -> None:
        """A refused connection tells nothing; user and password of the URL are not shown."""
        look = http_json("http://ann:hunter2@127.0.0.1:1/issues/{n}")(claim(n="a/b?c"))
        assert (look.applied, look.asked) == (UNKNOWN, {"url": "http://127.0.0.1:1/issues/a%2Fb%3Fc"})
        assert "hunter2" not in str(look)
