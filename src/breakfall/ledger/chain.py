"""The hash chain of a segment: every line carries a hash of itself and of the line before it.

A line is sealed by two more fields at its end, ``seq`` and ``chain``: its number in the segment, from 0 for the
header, and BLAKE2b over the hash of the line before and all of the line that stands before its own hash. A changed line
no longer has its hash; a line that was taken out, put in or moved no longer fits the one before it. The chain is no
signature: whoever can rewrite a whole segment can seal it again, so the last hash is worth keeping elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
from msgspec import Struct

_BYTES = 16
_HEX = 2 * _BYTES
_MARK = b',"chain":"'
_CLOSE = b'"}\n'
_TAIL = _HEX + len(_CLOSE)

START = b""
"""What stands for the hash before the first line."""


class Envelope(Struct, frozen=True, omit_defaults=True):
    """What the store adds to a line."""

    seq: int = -1
    """The line's number in its segment; -1 where the line is not sealed."""
    blob_at: tuple[int, ...] = ()
    """Where the values of `Step.blobs` stand in the segment's blob file, in their order."""
    chain: str = ""


ENVELOPE = msgspec.json.Decoder(Envelope)


def seal(bodies: Sequence[bytes], seq: int, before: bytes, blob_at: Sequence[int] = ()) -> tuple[bytes, bytes]:
    """Seal lines that follow each other.

    Args:
        bodies: Each line's JSON object, without a line feed.
        seq: The number of the first of them.
        before: The hash of the line before it.
        blob_at: Where the large values of the line stand, if it is a single one that has some.

    Returns:
        The lines as they are written, and the hash of the last.
    """
    parts: list[bytes] = []
    for number, body in enumerate(bodies, seq):
        if blob_at:
            text = b'%b,"seq":%d,"blob_at":%b,"chain":"' % (body[:-1], number, msgspec.json.encode(blob_at))
        else:
            text = b'%b,"seq":%d,"chain":"' % (body[:-1], number)
        before = blake2b(before + text, digest_size=_BYTES).digest()
        parts += (text, before.hex().encode(), _CLOSE)
    return b"".join(parts), before


def carried(line: bytes) -> bytes | None:
    """Return the hash that a line carries; None if it carries none."""
    if not line.endswith(_CLOSE) or line[-_TAIL - len(_MARK) : -_TAIL] != _MARK:
        return None
    try:
        return bytes.fromhex(line[-_TAIL : -len(_CLOSE)].decode("ascii"))
    except ValueError:
        return None


def computed(line: bytes, before: bytes) -> bytes:
    """Return the hash that a sealed line should carry, given that of the line before it."""
    return blake2b(before + line[:-_TAIL], digest_size=_BYTES).digest()
