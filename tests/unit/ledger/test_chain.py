from hashlib import blake2b

from breakfall.ledger.chain import ENVELOPE, START, carried, computed, seal


def test_a_seal_is_the_hash_of_the_line_before_and_all_that_stands_before_it():
    """Anyone can check a line with BLAKE2b: nothing else is needed, and the form is pinned."""
    line, link = seal((b'{"line":"step"}',), 7, b"before")
    text = b'{"line":"step","seq":7,"chain":"'
    assert link == blake2b(b"before" + text, digest_size=16).digest()
    assert line == text + link.hex().encode() + b'"}\n'
    assert carried(line) == link == computed(line, b"before")
    assert ENVELOPE.decode(line).seq == 7


def test_lines_sealed_together_are_the_lines_sealed_one_by_one():
    """How many lines are written at once makes no difference to their bytes."""
    bodies = (b'{"a":1}', b'{"b":2}', b'{"c":3}')
    together, last = seal(bodies, 5, START)
    alone, link = b"", START
    for seq, body in enumerate(bodies, 5):
        line, link = seal((body,), seq, link)
        alone += line
    assert (together, last) == (alone, link)


def test_where_large_values_stand_is_sealed_too():
    """The places of blobs are part of what the hash covers."""
    line, link = seal((b'{"line":"step"}',), 1, START, [0, 120])
    assert ENVELOPE.decode(line).blob_at == (0, 120)
    assert computed(line.replace(b"120", b"121"), START) != link


def test_a_line_without_a_seal_carries_none():
    """Lines of format 1, cut lines and other text carry no hash."""
    sealed, _ = seal((b'{"line":"step"}',), 0, START)
    for line in (b'{"line":"header","format":1}\n', b"", b"\n", sealed[:-1], sealed.replace(b'"}', b"x}")):
        assert carried(line) is None
