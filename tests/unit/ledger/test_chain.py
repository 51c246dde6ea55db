from hashlib import blake2b

from breakfall.ledger.chain import ENVELOPE, START, carried, computed, seal


def test_a_seal_is_the_hash_of_the_line_before_and_all_that_stands_before_it():
    """Anyone can check a line with BLAKE2b: nothing else is needed, and the form is pinned."""
    line, link = seal(b'{"line":"step"}', 7, b"before")
    text = b'{"line":"step","seq":7,"chain":"'
    assert link == blake2b(b"before" + text, digest_size=16).digest()
    assert line == text + link.hex().encode() + b'"}\n'
    assert carried(line) == link == computed(line, b"before")
    assert ENVELOPE.decode(line).seq == 7


def test_lines_written_at_once_are_sealed_in_the_last():
    """An episode carries one hash, over all of its lines; its last line has the number that its place gives it."""
    text = b'{"n":0}\n{"n":1}\n{"line":"end"}'
    sealed, link = seal(text, 7, b"before")
    assert sealed.startswith(b'{"n":0}\n{"n":1}\n{"line":"end","seq":7,"chain":"')
    assert carried(sealed.splitlines(keepends=True)[-1]) == link == computed(sealed, b"before")
    assert computed(sealed.replace(b'"n":0', b'"n":2'), b"before") != link


def test_where_large_values_stand_is_sealed_too():
    """The places of blobs are part of what the hash covers."""
    line, link = seal(b'{"line":"step"}', 1, START, [0, 120])
    assert ENVELOPE.decode(line).blob_at == (0, 120)
    assert computed(line.replace(b"120", b"121"), START) != link


def test_a_line_without_a_seal_carries_none():
    """Lines of format 1, cut lines and other text carry no hash."""
    sealed, _ = seal(b'{"line":"step"}', 0, START)
    for line in (b'{"line":"header","format":1}\n', b"", b"\n", sealed[:-1], sealed.replace(b'"}', b"x}")):
        assert carried(line) is None
