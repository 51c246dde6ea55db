"""Look into a mailbox: that a message is there, in a maildir, an mbox file, or on an IMAP server."""

from __future__ import annotations

import imaplib
import mailbox
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from email.utils import getaddresses
from pathlib import Path
from typing import Any

from breakfall.errors import UsageError
from breakfall.runtime.verifiers import template
from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Verifier
from breakfall.vocab import Ok, Predicate

_ADDRESSES = ("to", "cc", "bcc", "from", "reply_to")
_MATCHED = (*_ADDRESSES, "subject", "message_id")
_PORT, _TLS_PORT = 143, 993
_MOST_SEARCHED = 200
"""Messages that an IMAP server's search may find; the newest are read."""

Messages = Callable[[Mapping[str, str]], Iterable[bytes]]
"""Gives the messages that may match, as they came. It may raise what it meets."""


def maildir(
    folder: str | Path, *, match: Mapping[str, str], predicates: Sequence[Predicate] = (), absent: bool = False
) -> Verifier:
    """Make a verifier that looks into a maildir.

    Predicates are held against the list of messages that match, each an object with ``from``, ``to``,
    ``cc``, ``subject``, ``message_id``, ``date`` and ``body``. Without predicates there must be a message.

    Args:
        folder: The maildir.
        match: What a message must have, with gaps: ``to``, ``cc``, ``bcc``, ``from`` and ``reply_to`` hold that
            address; ``subject`` and ``message_id`` are equal.
        predicates: What must hold of the messages.
        absent: The write was to remove them.

    Raises:
        UsageError: Something else is to be matched.
    """
    return _stored(lambda: mailbox.Maildir(folder, create=False), match, predicates, absent, str(folder))


def mbox(
    path: str | Path, *, match: Mapping[str, str], predicates: Sequence[Predicate] = (), absent: bool = False
) -> Verifier:
    """Make a verifier that looks into an mbox file; see `maildir`."""
    return _stored(lambda: mailbox.mbox(path, create=False), match, predicates, absent, str(path))


def imap(
    host: str,
    *,
    user: str,
    password: str,
    match: Mapping[str, str],
    folder: str = "INBOX",
    port: int | None = None,
    tls: bool = True,
    predicates: Sequence[Predicate] = (),
    absent: bool = False,
    timeout_s: float = 10.0,
) -> Verifier:
    """Make a verifier that looks into a folder of an IMAP server, and leaves no mark of it; see `maildir`.

    Args:
        host: The server.
        user: The verifier's own user.
        password: Its password; it is in no evidence.
        match: As in `maildir`.
        folder: The folder.
        port: The port, if it is not the usual one.
        tls: Whether the connection is encrypted.
        predicates: As in `maildir`.
        absent: As in `maildir`.
        timeout_s: For each step of the exchange.
    """

    def messages(wanted: Mapping[str, str]) -> Iterator[bytes]:
        if tls:
            trust = ssl.create_default_context()
            server: imaplib.IMAP4 = imaplib.IMAP4_SSL(host, port or _TLS_PORT, timeout=timeout_s, ssl_context=trust)
        else:
            server = imaplib.IMAP4(host, port or _PORT, timeout=timeout_s)
        with server:
            server.login(user, password)
            yield from _found(server, folder, wanted)

    return _verifier(messages, match, predicates, absent, f"{host}/{folder}")


def _stored(
    opened: Callable[[], mailbox.Mailbox[Any]],
    match: Mapping[str, str],
    predicates: Sequence[Predicate],
    absent: bool,
    where: str,
) -> Verifier:
    def messages(wanted: Mapping[str, str]) -> Iterator[bytes]:
        del wanted
        with closing(opened()) as box:
            for key in box.keys():  # noqa: SIM118 - a mailbox iterates over its messages
                try:
                    yield box.get_bytes(key)
                except KeyError:  # it was moved or removed meanwhile
                    continue

    return _verifier(messages, match, predicates, absent, where)


def _verifier(
    messages: Messages, match: Mapping[str, str], predicates: Sequence[Predicate], absent: bool, where: str
) -> Verifier:
    unknown = [name for name in match if name not in _MATCHED]
    if unknown or not match:
        raise UsageError(f"match has {', '.join(unknown) or 'nothing'}, must have some of: {', '.join(_MATCHED)}")
    for name, text in match.items():
        template.check(text, f"match.{name}")

    def ask(claim: Claim) -> dict[str, Any]:
        return {"mailbox": where, "match": {name: template.fill(text, claim) for name, text in match.items()}}

    def look(claim: Claim, looking: Looking) -> Look:
        must, wanted = template.fill_predicates(predicates, claim), looking.asked["match"]
        try:
            likely = (raw for raw in messages(wanted) if _may_match(raw, wanted))
            read = (message_from_bytes(raw, policy=policy.default) for raw in likely)
            found = [_shown(message) for message in read if _matches(message, wanted)]
        except Exception as error:  # whatever mailboxes and servers raise: a look that fails tells nothing
            return looking.cannot_tell(f"the mailbox cannot be read: {error}", name=type(error).__name__)
        if not found:
            return looking.nothing("no such message", absent=absent, outcome=Ok(value=[]))
        return looking.there(found, must, absent=absent, what="the message")

    return Verifier("mail", ask, look)


def _found(server: imaplib.IMAP4, folder: str, wanted: Mapping[str, str]) -> Iterator[bytes]:
    """Search a folder that is opened for reading only, and read what may match.

    Raises:
        imaplib.IMAP4.error: The server refuses.
    """
    _asked(server.select(_quoted(folder), readonly=True))
    criteria: list[str] = []
    for name, text in wanted.items():
        if text.isascii() and text.isprintable():
            field = name.replace("_", "-")
            criteria += ["HEADER", field, _quoted(text)]
    numbers = _asked(server.search(None, *(criteria or ["ALL"])))[0].split()
    for number in numbers[-_MOST_SEARCHED:]:
        for part in _asked(server.fetch(number.decode(), "(BODY.PEEK[])")):
            if isinstance(part, tuple):
                yield part[1]


def _asked(reply: tuple[str, list[Any]]) -> list[Any]:
    status, data = reply
    if status != "OK":
        raise imaplib.IMAP4.error(f"the server says {status}: {data!r}")
    return data


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _may_match(raw: bytes, wanted: Mapping[str, str]) -> bool:
    """Whether the addresses stand anywhere in a message; that is cheaper than reading it."""
    low = raw.lower()
    return all(text.lower().encode() in low for name, text in wanted.items() if name in _ADDRESSES)


def _matches(message: Message, wanted: Mapping[str, str]) -> bool:
    for name, text in wanted.items():
        values = [str(value) for value in message.get_all(name.replace("_", "-"), [])]
        if name in _ADDRESSES:
            if text.casefold() not in {address.casefold() for _, address in getaddresses(values)}:
                return False
        elif text.strip() not in {" ".join(value.split()) for value in values}:
            return False
    return True


def _shown(message: EmailMessage) -> dict[str, Any]:
    body = message.get_body(("plain", "html"))
    try:
        text = body.get_content() if body is not None else ""
    except (LookupError, ValueError):  # a character set that does not exist
        text = ""
    named = {name: str(message[name.replace("_", "-")] or "") for name in ("from", "to", "cc", "subject", "message_id")}
    return {**named, "date": str(message["date"] or ""), "body": text}
