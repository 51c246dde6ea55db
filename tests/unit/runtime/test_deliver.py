"""A hand-over reaches its file or function, and what fails is kept in a file and told as a value."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from breakfall.errors import UsageError
from breakfall.recovery.handoff import render
from breakfall.runtime.deliver import Callback, File, Webhook, adeliver, body, deliver
from breakfall.vocab import Applied, Fact, Handoff

HANDOFF = Handoff(
    goal="Order <!channel> & pay",
    reason="put failed",
    unknown=(Fact(call="c1", tool="put", arguments={"sku": "MUG"}),),
)


class Line(msgspec.Struct):
    text: str
    handoff: Handoff


def lines(path: Path) -> list[Line]:
    return [msgspec.json.decode(line, type=Line) for line in path.read_bytes().splitlines()]


def test_file(tmp_path: Path) -> None:
    """Each packet is one line with the text for a person and the whole packet; folders are made."""
    path, fallback = tmp_path / "deep" / "handoffs.jsonl", tmp_path / "fallback.jsonl"
    for _ in range(2):
        delivery = deliver(HANDOFF, File(path), fallback=fallback, language="ko")
        assert delivery.safe
        assert delivery.where == f"file {path}"
        assert delivery.failures == ()
    assert [line.handoff for line in lines(path)] == [HANDOFF, HANDOFF]
    assert lines(path)[0].text == render(HANDOFF, "ko")
    assert not fallback.exists()


def test_a_cut_line_is_ended_first(tmp_path: Path) -> None:
    """After a crash in the middle of a line the next packet still stands on a line of its own."""
    path = tmp_path / "handoffs.jsonl"
    path.write_bytes(b'{"text": "cut')
    deliver(HANDOFF, File(path), fallback=tmp_path / "fallback.jsonl")
    assert path.read_bytes().startswith(b'{"text": "cut\n')
    assert msgspec.json.decode(path.read_bytes().splitlines()[1], type=Line).handoff == HANDOFF


def test_many_writers_keep_their_lines(tmp_path: Path) -> None:
    """Writers that append at the same time do not break each other's lines."""
    path = tmp_path / "handoffs.jsonl"

    def write() -> None:
        for _ in range(10):
            deliver(HANDOFF, File(path), fallback=tmp_path / "fallback.jsonl")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line.handoff for line in lines(path)] == [HANDOFF] * 40


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """A target that fails is told, and the packet lies in the fallback."""
    fallback = tmp_path / "fallback.jsonl"
    delivery = deliver(HANDOFF, File(tmp_path), fallback=fallback)
    assert delivery.where == f"file {fallback}"
    [failed] = delivery.failures
    assert failed.target == f"file {tmp_path}"
    assert failed.message.startswith("IsADirectoryError: ")
    assert failed.arrived is Applied.NO
    assert lines(fallback)[0].handoff == HANDOFF


def test_nothing_takes_it(tmp_path: Path) -> None:
    """Where even the fallback fails, the value says that nothing has the packet, and why, twice."""
    delivery = deliver(HANDOFF, File(tmp_path), fallback=tmp_path)
    assert not delivery.safe
    assert [failed.target for failed in delivery.failures] == [f"file {tmp_path}"] * 2


def test_callback(tmp_path: Path) -> None:
    """A function gets the packet itself."""
    seen: list[Handoff] = []
    delivery = deliver(HANDOFF, Callback(seen.append), fallback=tmp_path / "f.jsonl")
    assert seen == [HANDOFF]
    assert delivery.where == "function list.append"


def broken(handoff: Handoff) -> None:
    raise RuntimeError(f"no pager for {handoff.reason}")


async def broken_later(handoff: Handoff) -> None:
    await asyncio.sleep(0)
    broken(handoff)


def test_a_callback_that_raises(tmp_path: Path) -> None:
    """A function that raises may have told somebody before it did; the packet is kept all the same."""
    fallback = tmp_path / "f.jsonl"
    for delivery in (
        deliver(HANDOFF, Callback(broken), fallback=fallback),
        asyncio.run(adeliver(HANDOFF, Callback(broken), fallback=fallback)),
        asyncio.run(adeliver(HANDOFF, Callback(broken_later), fallback=fallback)),
    ):
        assert delivery.where == f"file {fallback}"
        assert delivery.failures[0].message == "RuntimeError: no pager for put failed"
        assert delivery.failures[0].arrived is Applied.UNKNOWN
    assert len(lines(fallback)) == 3


def test_async_callback(tmp_path: Path) -> None:
    """An async function is awaited in the caller's loop and thread."""
    seen: list[tuple[Handoff, int]] = []

    async def page(handoff: Handoff) -> None:
        await asyncio.sleep(0)
        seen.append((handoff, threading.get_ident()))

    delivery = asyncio.run(adeliver(HANDOFF, Callback(page), fallback=tmp_path / "f.jsonl"))
    assert delivery.failures == ()
    assert seen == [(HANDOFF, threading.get_ident())]


def test_async_file(tmp_path: Path) -> None:
    """The other targets give the same when awaited."""
    path = tmp_path / "h.jsonl"
    assert asyncio.run(adeliver(HANDOFF, File(path), fallback=tmp_path / "f.jsonl")).where == f"file {path}"
    assert lines(path)[0].handoff == HANDOFF


def test_async_callback_from_sync_code(tmp_path: Path) -> None:
    """An async function cannot be awaited by `deliver`: it is not run, and the packet is kept."""
    fallback = tmp_path / "f.jsonl"
    delivery = deliver(HANDOFF, Callback(broken_later), fallback=fallback)
    assert delivery.where == f"file {fallback}"
    assert "adeliver" in delivery.failures[0].message
    assert delivery.failures[0].arrived is Applied.NO


@pytest.mark.parametrize(
    "arguments", [{"x": "\ud800"}, {"x": 2**80}, {"x": float("nan")}, {"x": {1, 2}}, {"x": {(1, 2): 3}}, {"x": object}]
)
def test_any_arguments_can_be_delivered(tmp_path: Path, arguments: dict[str, Any]) -> None:
    """What JSON cannot hold does not lose the packet: each is written as one valid JSON line."""
    odd = Handoff(goal="g", reason="r", unknown=(Fact(call="c1", tool="put", arguments=arguments),))
    path = tmp_path / "h.jsonl"
    assert deliver(odd, File(path), fallback=tmp_path / "f.jsonl").failures == ()
    assert len([msgspec.json.decode(line) for line in path.read_bytes().splitlines()]) == 1


def test_slack_text_mentions_nobody() -> None:
    """Arguments and goals cannot ping a channel or forge a link; the packet keeps them as they are."""
    sent = msgspec.json.decode(body(HANDOFF, "en"), type=Line)
    assert "Order &lt;!channel&gt; &amp; pay" in sent.text
    assert sent.handoff == HANDOFF


@pytest.mark.parametrize(
    "url", ["ftp://example.com/x", "file:///etc/passwd", "https://", "hooks", "https://e.com/a b", "http://e.com:x/"]
)
def test_a_webhook_needs_a_web_address(url: str) -> None:
    """Other schemes and broken addresses are refused when the webhook is made, with what would be right."""
    with pytest.raises(UsageError, match=r"must be like https://hooks\.example\.com/…, in ASCII without blanks"):
        Webhook(url=url)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_webhook_needs_time(seconds: float) -> None:
    """A time-out of nothing is refused."""
    with pytest.raises(UsageError, match=r"a webhook's timeout_s is (0|-1|nan), must be above 0"):
        Webhook(url="https://example.com", timeout_s=seconds)


def test_secrets_are_not_shown() -> None:
    """A webhook's address and headers are secrets: its forms show only the host."""
    hook = Webhook(url="https://user:pass@hooks.example.com/T0/secret", headers={"Authorization": "Bearer token"})
    assert str(hook) == repr(hook) == "webhook at hooks.example.com"
    assert os.fspath(File(Path("x")).path) == "x"
