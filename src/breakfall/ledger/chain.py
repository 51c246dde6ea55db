"""The hash chain of a segment: what is written at once carries a hash of itself and of what was written before.

Production writes a line at a time, a bench an episode at a time, whose last line is sealed for all of them. A seal is
two more fields at the line's end, ``seq`` and ``chain``: the line's number in its segment, from 0 for the header, and
BLAKE2b over the hash before and all that was written up to its own. What was changed no longer has its hash; what was
taken out, put in or moved no longer fits what stands before it. The chain is no signature: whoever can rewrite a whole
segment can seal it again, so the last hash is worth keeping elsewhere.
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


def seal(body: bytes, seq: int, before: bytes, blob_at: Sequence[int] = ()) -> tuple[bytes, bytes]:
    """Seal what is written at once.

    Args:
        body: A line's JSON object, or several lines of them, without a line feed at the end.
        seq: The number of the last of them.
        before: The hash before it.
        blob_at: Where the large values of the line stand.

    Returns:
        The lines as they are written, and their hash.
    """
    if blob_at:
        text = b'%b,"seq":%d,"blob_at":%b,"chain":"' % (body[:-1], seq, msgspec.json.encode(blob_at))
    else:
        text = b'%b,"seq":%d,"chain":"' % (body[:-1], seq)
    digest = blake2b(before + text, digest_size=_BYTES).digest()
    return b'%b%b"}\n' % (text, digest.hex().encode()), digest


def carried(line: bytes) -> bytes | None:
    """Return the hash that a line carries; None if it carries none."""
    if not line.endswith(_CLOSE) or line[-_TAIL - len(_MARK) : -_TAIL] != _MARK:
        return None
    try:
        return bytes.fromhex(line[-_TAIL : -len(_CLOSE)].decode("ascii"))
    except ValueError:
        return None


def computed(sealed: bytes, before: bytes) -> bytes:
    """Return the hash that what was written at once should carry, given the hash before it."""
    return blake2b(before + sealed[:-_TAIL], digest_size=_BYTES).digest()
