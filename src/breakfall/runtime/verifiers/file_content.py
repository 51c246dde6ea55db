"""Look at a file: that it is there, and what it holds."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from breakfall.runtime.verifiers import template
from breakfall.runtime.verifiers.claim import Claim, Look, Looking, Verifier
from breakfall.vocab import Failed, Predicate

_LARGEST = 50_000_000


def file_content(
    path: str, *, root: str | Path, predicates: Sequence[Predicate] = (), absent: bool = False
) -> Verifier:
    """Make a verifier that reads a file.

    Predicates are held against ``{"text", "json", "size_bytes", "sha256"}``; `text` is null where it is not UTF-8, and
    `json` where it is no JSON.

    Args:
        path: Which; relative to `root` unless it is absolute.
        root: The folder that the file must lie in, links followed: the path is the agent's choice.
        predicates: What must hold of it.
        absent: The write was to remove it.

    Raises:
        UsageError: The path is no template.
    """
    template.check(path, "path")
    folder = Path(root)

    def ask(claim: Claim) -> dict[str, Any]:
        return {"path": str(folder / template.fill(path, claim))}

    def look(claim: Claim, looking: Looking) -> Look:
        wanted = template.fill_predicates(predicates, claim)
        try:
            place = Path(looking.asked["path"]).resolve()
            if not place.is_relative_to(folder.resolve()):
                return looking.cannot_tell(f"{place} lies outside of {folder}; nothing there is looked at")
            value = _read(place)
        except FileNotFoundError:
            failed = Failed(message="no such file", exception="FileNotFoundError")
            return looking.nothing("no such file", absent=absent, outcome=failed)
        except (OSError, ValueError, RuntimeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            return looking.cannot_tell(f"the file cannot be read: {why}", name=type(error).__name__)
        return looking.there(value, wanted, absent=absent, what="the file")

    return Verifier("file", ask, look)


def _read(place: Path) -> dict[str, Any]:
    """Read a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is none, or too large.
    """
    found = place.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("it is no regular file")
    if found.st_size > _LARGEST:
        raise ValueError(f"it has {found.st_size:,} bytes, more than {_LARGEST:,}")
    data = place.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = None
    try:
        parsed = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        parsed = None
    return {"text": text, "json": parsed, "size_bytes": len(data), "sha256": sha256(data).hexdigest()}
