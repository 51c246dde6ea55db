"""What the error codes of databases say: SQLSTATE, SQLite's result codes, MySQL's numbers."""

from __future__ import annotations

import re
from typing import TypeAlias

from breakfall.recovery.diagnosis import Diagnosis
from breakfall.vocab import FaultKind

_Says: TypeAlias = tuple[FaultKind | None, str, bool, bool]
"""Kind, what it says, whether it may have been sent, whether a write is in doubt."""

_ROLLED_BACK: _Says = (FaultKind.SERVER_ERROR, "the database rolled it back; it may pass when sent again", True, False)
_BUSY: _Says = (FaultKind.SERVER_ERROR, "the database was locked or out of resources and did nothing", True, False)
_CUT_SHORT: _Says = (FaultKind.TIMEOUT, "the database gave the statement up and undid it", True, False)
_NEVER_SENT: _Says = (FaultKind.SERVER_ERROR, "the database took no connection, so nothing was sent", False, False)
_LOST: _Says = (FaultKind.SERVER_ERROR, "the connection was lost, and a commit may have gone through", True, True)
_BROKEN: _Says = (FaultKind.SERVER_ERROR, "the database has a fault of its own", True, True)
_AUTH: _Says = (FaultKind.AUTH_ERROR, "the database refuses the credentials or the right", True, False)
_DRIFT: _Says = (FaultKind.SCHEMA_DRIFT, "a table, column or function is not there", True, False)
_REFUSED: _Says = (None, "the database refused the statement", True, False)

SQLSTATES: dict[str, _Says] = {
    "08001": _NEVER_SENT, "08004": _NEVER_SENT, "08": _LOST,
    "25006": _BUSY, "25P02": _BUSY, "25P03": _CUT_SHORT, "25P04": _CUT_SHORT,
    "28": _AUTH, "42501": _AUTH,
    "3D000": _DRIFT, "3F000": _DRIFT, "42703": _DRIFT, "42P01": _DRIFT, "42883": _DRIFT, "42704": _DRIFT,
    "40003": _LOST, "40": _ROLLED_BACK,
    "53300": _NEVER_SENT, "53": _BUSY, "55006": _BUSY, "55P03": _BUSY,
    "57014": _CUT_SHORT, "57P03": _NEVER_SENT, "57": _LOST, "58": _BROKEN, "HY": _BROKEN, "XX": _BROKEN,
    "HYT01": _NEVER_SENT, "HYT00": (FaultKind.TIMEOUT, "no answer came in time", True, True),
}  # fmt: skip
"""SQLSTATE, or the class that its first two characters name -> what it says. Any other is a refusal."""

SQLITE: dict[str, _Says] = {
    "SQLITE_BUSY": _BUSY, "SQLITE_LOCKED": _BUSY, "SQLITE_FULL": _BUSY, "SQLITE_NOMEM": _BUSY,
    "SQLITE_READONLY": _BUSY, "SQLITE_SCHEMA": _BUSY, "SQLITE_PROTOCOL": _BUSY, "SQLITE_CANTOPEN": _NEVER_SENT,
    "SQLITE_INTERRUPT": _CUT_SHORT, "SQLITE_ABORT": _CUT_SHORT,
    "SQLITE_IOERR": _BROKEN, "SQLITE_CORRUPT": _BROKEN, "SQLITE_NOTADB": _BROKEN, "SQLITE_INTERNAL": _BROKEN,
    "SQLITE_AUTH": _AUTH, "SQLITE_PERM": _AUTH,
}  # fmt: skip
"""SQLite's primary result code -> what it says. Any other is a refusal."""

MYSQL: dict[int, _Says] = {
    1205: _BUSY, 1213: _ROLLED_BACK, 3572: _BUSY, 1290: _BUSY, 1836: _BUSY, 1317: _CUT_SHORT, 3024: _CUT_SHORT,
    1040: _NEVER_SENT, 1203: _NEVER_SENT, 2002: _NEVER_SENT, 2003: _NEVER_SENT, 2005: _NEVER_SENT,
    1053: _LOST, 2006: _LOST, 2013: _LOST, 2055: _LOST, 4031: _LOST,
    1044: _AUTH, 1045: _AUTH, 1142: _AUTH, 1143: _AUTH, 1227: _AUTH, 1698: _AUTH,
    1049: _DRIFT, 1054: _DRIFT, 1146: _DRIFT, 1305: _DRIFT,
    1226: (FaultKind.RATE_LIMIT, "the account's quota is used up", True, False),
}  # fmt: skip
"""MySQL's error number -> what it says. Any other is a refusal."""

_ABSENT = re.compile(
    r"no such (?:table|column|function|view)|has no column named|(?:column|relation) .* does not exist"
)
_UNSENT = re.compile(
    r"connection (?:failed|refused|timeout)|could not (?:connect|translate)|can't connect|failed to resolve"
    r"|(?:the )?connection is (?:already )?closed|too many (?:connections|clients)|timeout expired"
    r"|another operation is in progress"
)
_LOCKED = re.compile(r"(?:database|table)[^,;]{0,40} is locked")
_UNDONE = re.compile(r"deadlock|could not serialize|serialization failure|lock wait timeout")


def by_code(name: str, code: str) -> Diagnosis | None:
    """Read the code that a driver's exception carries; None where it is no database's code.

    Args:
        name: The exception's name.
        code: A SQLSTATE, an SQLite result code or a MySQL error number.
    """
    if code.startswith("SQLITE_"):
        primary = "_".join(code.split("_")[:2])
        found = SQLITE.get(primary, _REFUSED)
    elif code.isdigit() and len(code) == 4:
        found = MYSQL.get(int(code), _REFUSED)
    elif len(code) == 5 and code.isalnum():
        found = SQLSTATES[code] if code in SQLSTATES else SQLSTATES.get(code[:2], _REFUSED)
    else:
        return None
    kind, says, sent, in_doubt = found
    return Diagnosis(kind, f"{name} [{code}]: {says}", sent, in_doubt)


def by_wording(name: str, message: str) -> Diagnosis | None:
    """Read a driver's message where its class leaves open what happened."""
    text = message.lower()
    if _ABSENT.search(text):
        found = _DRIFT
    elif _LOCKED.search(text):
        found = _BUSY
    elif _UNDONE.search(text):
        found = _ROLLED_BACK
    elif _UNSENT.search(text):
        found = _NEVER_SENT
    else:
        return None
    kind, says, sent, in_doubt = found
    return Diagnosis(kind, f"{name}: {says}", sent, in_doubt)
