"""Verifiers: functions that look, past the agent, whether a write took effect."""

from __future__ import annotations

from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Unfilled, Verifier
from breakfall.runtime.verifiers.file_content import file_content
from breakfall.runtime.verifiers.function import function
from breakfall.runtime.verifiers.http_json import http_json
from breakfall.runtime.verifiers.load import Registered, load, read
from breakfall.runtime.verifiers.mail import imap, maildir, mbox
from breakfall.runtime.verifiers.reader import by_reader, look_of
from breakfall.runtime.verifiers.row import postgres_row, sqlite_row

__all__ = [
    "Claim",
    "Look",
    "Looking",
    "Registered",
    "Unfilled",
    "Verifier",
    "by_reader",
    "file_content",
    "function",
    "http_json",
    "imap",
    "load",
    "look_of",
    "maildir",
    "mbox",
    "postgres_row",
    "read",
    "sqlite_row",
]
