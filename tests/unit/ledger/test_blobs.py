import io

import msgspec
import pytest

from breakfall.errors import StoreError
from breakfall.ledger import blobs
from breakfall.vocab import Blob, Failed, Ok

LONG = "x" * blobs.LARGE_VALUE


@pytest.mark.parametrize(
    ("fields", "places"),
    [
        ({"observed_outcome": Ok(value=[LONG, {"a": 1}])}, ["/observed_outcome/value"]),
        (
            {"observed_outcome": Failed(message=LONG, body=LONG, status=500)},
            ["/observed_outcome/message", "/observed_outcome/body"],
        ),
        ({"arguments": {"a/b~c": LONG, "id": 7, "list": [LONG]}}, ["/arguments/a~1b~0c", "/arguments/list"]),
        ({"expected_outcome": LONG}, ["/expected_outcome"]),
    ],
)
def test_large_values_go_out_and_come_back(production, fields, places):
    """Every field that may be large is taken out under its place, and put back exactly."""
    step = production(**fields)
    small, values = blobs.take_out(step)
    assert [blob.at for blob in small.blobs] == places
    assert len(msgspec.json.encode(small)) < 2 * blobs.LARGE_VALUE
    assert [blob.size_bytes for blob in small.blobs] == [len(value) for value in values]
    assert blobs.put_back(small, values) == step


def test_small_values_stay(production):
    """A step without large values comes back as it is, and so does one whose blobs someone else took out."""
    for step in (production(), production(blobs=(Blob(at="/arguments/a", digest="d", size_bytes=9),), tool=LONG)):
        assert blobs.take_out(step) == (step, [])


def test_records_follow_each_other(production):
    """Each value is read from its place, whatever stands before it."""
    raws = [msgspec.json.encode(text) for text in ("a" * 9000, "b\n" * 9000)]
    records = [blobs.pack(raw) for raw in raws]
    stream = io.BytesIO(b"".join(records))
    _, values = blobs.take_out(production(arguments={"a": "a" * 9000, "b": "b\n" * 9000}))
    digests = [
        blob.digest for blob in blobs.take_out(production(arguments={"a": "a" * 9000, "b": "b\n" * 9000}))[0].blobs
    ]
    assert values == raws
    assert blobs.read(stream, "f", 0, digests[0]) == raws[0]
    assert blobs.read(stream, "f", len(records[0]), digests[1]) == raws[1]
    with pytest.raises(StoreError, match="the value at byte 0 is not the one that was written"):
        blobs.read(stream, "f", 0, digests[1])


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"not json\n"])
def test_a_place_without_a_value_is_named(damage):
    """The error gives the file and the byte."""
    with pytest.raises(StoreError, match=r"f\.blobs: no value stands at byte 3"):
        blobs.read(io.BytesIO(b"xyz" + damage), "f.blobs", 3, "d")
