"""Whatever a step holds: what the scan lets pass holds no secret, and what was scrubbed stays scrubbed."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from breakfall.ledger.scrub import Scrubber
from breakfall.vocab import Ok, Step, Uncertainty, Verification, VerificationStatus

SCRUBBER = Scrubber()
SECRETS = [
    "AKIA" + "Q7X2M4N8P1R5T9V3",
    "ghp_" + "a1B2c3D4e5" * 4,
    "sk-" + "proj-Ab12Cd34Ef56Gh78",
    "xoxb-" + "1234567890-abcdefGHIJ",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "4111 1111 " + "1111 1111",
    "3782822463" + "10005",
    "-----BEGIN PRIVATE " + "KEY-----\nMIIE\n-----END PRIVATE " + "KEY-----",
]
PIECES = [
    *SECRETS,
    *("password", "token", "API Key", "secret", "authorization", "cookie", "next_page_token", "-", "--", "_", "ſecret"),
    *(
        ":",
        "=",
        " ",
        "  ",
        '"',
        "'",
        "\\",
        '\\"',
        "\n",
        "\t",
        "Bearer ",
        "basic ",
        "dXNlcjpodW50ZXIy",
        "://",
        "@",
        "a:b",
    ),
    *("hunter2", "4111", "1111", "x", "é", "비밀", "\x01", "\u2028", "null"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=30)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.just(4111111111111111),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
PLAINLY_NAMED = st.recursive(
    TEXTS | st.none() | st.just(4111111111111111),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "token"]), inner, max_size=4)
    ),
    max_leaves=12,
)


def step(value, expected="it answers"):
    return Step(
        episode="run-1",
        n=0,
        call="c1",
        tool="http",
        arguments={"a": value},
        at_s=0.0,
        expected_outcome=expected,
        observed_outcome=Ok(value=value),
        verification=Verification(status=VerificationStatus.NOT_APPLICABLE),
        uncertainty_signal=Uncertainty.MISSING,
    )


@settings(max_examples=400)
@given(VALUES, TEXTS)
def test_what_the_scan_lets_pass_holds_no_secret(value, expected):
    """The rules find nothing in a line that the scan of its bytes finds nothing in."""
    made = step(value, expected)
    if not SCRUBBER.suspicious(msgspec.json.encode(made)):
        assert SCRUBBER.scrub(made) is made


@settings(max_examples=300)
@given(VALUES, TEXTS)
def test_scrubbing_twice_is_scrubbing_once(value, expected):
    """A scrubbed line is clean: it comes back as it is."""
    once = SCRUBBER.scrub(step(value, expected))
    assert SCRUBBER.scrub(once) is once


def changes(before, after, at=""):
    """Yield the pointers of what differs."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key in before:
            yield from changes(before[key], after[key], f"{at}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from changes(old, new, f"{at}/{place}")
    elif before != after or type(before) is not type(after):
        yield at


@given(PLAINLY_NAMED, TEXTS)
def test_a_line_says_exactly_where_it_was_scrubbed(value, expected):
    """What differs from the line as it was made is what `scrubbed` names, and nothing else."""
    made = step(value, expected)
    scrubbed = SCRUBBER.scrub(made)
    before = msgspec.to_builtins(made)
    after = msgspec.to_builtins(msgspec.structs.replace(scrubbed, scrubbed=()))
    assert sorted(changes(before, after)) == sorted(scrubbed.scrubbed)


AROUND = st.lists(st.sampled_from([piece for piece in PIECES if piece not in SECRETS]), max_size=6).map("".join)


@given(AROUND, st.sampled_from(SECRETS), AROUND)
def test_no_known_secret_survives_between_other_texts(before, secret, after):
    """Whatever stands around it, a secret is in no written line."""
    made = step({"deep": [{"note": f"{before} {secret} {after}"}]})
    raw = msgspec.json.encode(made)
    if SCRUBBER.suspicious(raw):
        raw = msgspec.json.encode(SCRUBBER.scrub(made))
    assert msgspec.json.encode(secret)[1:-1] not in raw


def test_a_card_among_other_groups_of_four_is_found():
    """A card's number that stands in a longer row of groups takes the whole row with it."""
    made = step({"note": "ref 4111 4111 1111 1111 1111 0042"})
    assert b"4111 1111" not in msgspec.json.encode(SCRUBBER.scrub(made))
