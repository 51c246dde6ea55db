"""Secrets leave a line before it is written, and the line says where."""

import msgspec
import pytest

from breakfall.errors import UsageError
from breakfall.ledger.scrub import SCRUBBED, Scrubber
from breakfall.ledger.scrub_rules import BUILT_IN, ScrubSettings, load
from breakfall.vocab import (
    Answer,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    Failed,
    Ok,
    Scenario,
    Step,
    Uncertainty,
    Verdict,
    Verification,
    VerificationStatus,
)

# Made up, and put together here so that no scanner takes them for real ones.
SECRETS = {
    "aws": "AKIA" + "Q7X2M4N8P1R5T9V3",
    "github": "ghp_" + "a1B2c3D4e5" * 4,
    "github fine-grained": "github_pat_" + "11ABCDEFG0" * 3,
    "gitlab": "glpat-" + "x7Yz_9Qw2Er4Ty6Ui8Op",
    "slack": "xoxb-" + "1234567890-abcdefGHIJ",
    "openai": "sk-" + "proj-Ab12Cd34Ef56Gh78",
    "anthropic": "sk-" + "ant-api03-Ab12Cd34Ef56",
    "stripe": "sk_live_" + "4eC39HqLyjWDarjt",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz12345678",
    "npm": "npm_" + "a1B2c3D4e5F6" * 3,
    "pypi": "pypi-AgE" + "IcHlwaS5vcmcCJDk1ZjE4",
    "sendgrid": "SG." + "abcdefghij0123456789." + "abcdefghij0123456789",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "visa": "4111" + "111111111111",
    "visa in groups": "4111 1111 " + "1111 1111",
    "mastercard with dashes": "5555-5555-" + "5555-4444",
    "diners": "3056930902" + "5904",
    "discover": "6011" + "000990139424",
    "with its check code": "4111 1111 1111 " + "1111 123",
    "amex": "3782 822463 " + "10005",
    "private key": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\nq83v\n-----END RSA PRIVATE " + "KEY-----",
}

NAMED = {
    "bearer": ("Authorization: Bearer ", "mF_9.B5f-4.1JqM", ""),
    "basic": ("sent Basic ", "dXNlcjpodW50ZXIy", " to the server"),
    "url": ("postgres://app:", "hunter2", "@db.local/orders"),
    "assignment": ("login failed: password=", "hunter2", "; try again"),
    "query": ("GET /v1?api_key=", "k-77-abc", "&page=2"),
    "json in a text": ('{"client_secret": "', "a b c", '", "id": 7}'),
    "json in a json text": ('{\\"password\\": \\"', "hunter2", '\\"}'),
    "quote inside": ('{"password": "', 'a\\"b', '"}'),
    "flag": ("curl --api-key ", "k77", " https://x.example"),
    "token in prose": ("the token: ", "9f8a7b6c5d", " was refused"),
}

INNOCENT = [
    "task-1234-5678-abcdef-0123456789",
    "the basic plan, paid by the bearer of the card",
    "Bearer authentication is required",
    "Unexpected token: < at position 0",
    "max_tokens=4096",
    "next_page_token=abc123def",
    "password: null",
    "9111111111111111",  # no network's
    "order 4111 1111 1111 1112",  # the check digit is wrong
    "2024-05-01 10:22:33 to 2024-05-02 11:00:00",
    "1700000000000",
    "call +49 151 2345 6789",
    "mail ann@example.com, see https://example.com/a:b@c",
    "5d41402abc4b2a76b9719d911017c592",
    "-----BEGIN CERTIFICATE-----",
]


def step(**fields):
    fixed = {
        "episode": "run-1",
        "n": 0,
        "call": "c1",
        "tool": "http",
        "arguments": {},
        "at_s": 0.0,
        "expected_outcome": "it answers",
        "observed_outcome": Ok(value=None),
        "verification": Verification(status=VerificationStatus.NOT_APPLICABLE),
        "uncertainty_signal": Uncertainty.MISSING,
    }
    return Step(**{**fixed, **fields})


def written(line, scrubber=None):
    """What a writer would write."""
    scrubber = scrubber or Scrubber()
    raw = msgspec.json.encode(line)
    if scrubber.suspicious(raw):
        line = scrubber.scrub(line)
        raw = msgspec.json.encode(line)
    return line, raw.decode()


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_goes_and_the_text_around_it_stays(name):
    """Each kind of secret is taken out of a text, and nothing else of it."""
    line, raw = written(step(arguments={"note": f"before {SECRETS[name]} after"}))
    assert line.arguments == {"note": f"before {SCRUBBED} after"}
    assert line.scrubbed == ("/arguments/note",)
    assert SECRETS[name] not in raw


@pytest.mark.parametrize("name", NAMED)
def test_a_secret_that_its_surroundings_betray_goes(name):
    """A value goes because of the name, the scheme or the address before it."""
    before, secret, after = NAMED[name]
    line, _ = written(step(observed_outcome=Failed(message=before + secret + after)))
    assert line.observed_outcome.message == before + SCRUBBED + after
    assert line.scrubbed == ("/observed_outcome/message",)


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("HTTP/1.1 401\nBearer ", "mF_9.B5f-4.1JqM", "\t."),
        ("\tpassword=", "hunter2", "\n"),
        ('{\\\\\\"password\\\\\\": \\\\\\"', "hunter2", '\\\\\\"}'),
        ('password"""" = ', "hunter2", ""),
        ("\x01://ann:", "hun\\ter2", "@host"),
        ("\n--token ", "hunter2", "\n"),
        ("비밀\n", "AKIA" + "Q7X2M4N8P1R5T9V3", "\\"),
    ],
)
def test_what_json_escapes_hides_no_secret(before, secret, after):
    """Line feeds, tabs, quotes and backslashes stand escaped in the line that is scanned; the secret is found."""
    line, _ = written(step(arguments={"note": before + secret + after}))
    assert line.arguments == {"note": before + SCRUBBED + after}


@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays(text):
    """Texts that look a little like secrets are left alone."""
    line, _ = written(step(arguments={"note": text}))
    assert line.arguments == {"note": text}
    assert line.scrubbed == ()


@pytest.mark.parametrize(
    "name", ["password", "db_password", "apiKey", "X-API-Key", "Authorization", "aws_secret_access_key", "Set-Cookie"]
)
def test_a_field_named_like_a_secret_loses_its_value(name):
    """The name alone is enough, whatever the value is; empty values say nothing and stay."""
    line, raw = written(step(arguments={name: "swordfish", "deep": [{name: 1234}], "also": {name: None}}))
    assert line.arguments == {name: SCRUBBED, "deep": [{name: SCRUBBED}], "also": {name: None}}
    assert set(line.scrubbed) == {f"/arguments/deep/0/{name}", f"/arguments/{name}"}
    assert "swordfish" not in raw


def test_a_secret_with_parts_goes_whole():
    """The value of a secret field may be an object."""
    line, _ = written(step(arguments={"credentials": {"user": "ann", "pin": [1, 2]}}))
    assert line.arguments == {"credentials": SCRUBBED}


def test_a_card_number_that_is_a_number_goes():
    """A card number may be an integer; another integer as long stays."""
    line, _ = written(step(arguments={"card": int(SECRETS["visa"]), "at_ms": 1700000000000}))
    assert line.arguments == {"card": SCRUBBED, "at_ms": 1700000000000}


def test_every_place_of_a_step_is_looked_at():
    """A secret goes from the expectation, the headers, the body and the evidence's method as from the arguments."""
    key = SECRETS["openai"]
    line, raw = written(
        step(
            expected_outcome=f"log in with {key}",
            observed_outcome=Failed(message="no", status=401, body=f"bad {key}", headers={"x-api-key": "k"}),
            verification=Verification(status=VerificationStatus.FAILED, method=f"GET with {key}"),
        )
    )
    assert key not in raw
    assert line.scrubbed == (
        "/expected_outcome",
        "/observed_outcome/body",
        "/observed_outcome/headers/x-api-key",
        "/verification/method",
    )


def test_a_field_whose_name_is_a_secret_gets_another_name():
    """A secret used as a key goes too, and two of them stay two fields."""
    first, second = SECRETS["openai"], SECRETS["github"]
    line, raw = written(step(observed_outcome=Ok(value={first: 1, second: 2})))
    assert line.observed_outcome.value == {SCRUBBED: 1, f"{SCRUBBED} 2": 2}
    assert first not in raw
    assert second not in raw


def test_links_between_lines_stay():
    """Ids, keys and the places where arguments came from are no secrets, whatever they look like."""
    made = step(episode="token=abc", key=SECRETS["visa"], sources={"password": "c1#/password"})
    line, _ = written(made)
    assert line is made


def test_the_end_of_an_episode_is_scrubbed_too():
    """The answer of an agent may hold a secret."""
    end = EpisodeEnd(
        episode="e",
        key=EpisodeKey(world="w", condition="native", agent="a", scenario=Scenario.S1, task="t", seed=1),
        steps=0,
        ending=Ending.ANSWERED,
        answer=Answer(text=f"the key is {SECRETS['aws']}"),
        verdict=Verdict(passed=True, state_ok=True, answer_ok=True),
    )
    line, _ = written(end)
    assert line.answer.text == f"the key is {SCRUBBED}"
    assert line.scrubbed == ("/answer/text",)


def test_settings_switch_rules_off_and_add_fields_and_patterns():
    """Rules are named in the settings; a pattern's group narrows what goes."""
    settings = load(
        """
        [scrub]
        off = ["card"]
        fields = ["iban"]
        keep = ["csrf_token"]
        [[scrub.patterns]]
        name = "employee"
        pattern = 'EMP-(?P<secret>[0-9]{6})'
        contains = "EMP-"
        [[scrub.patterns]]
        name = "patient"
        pattern = 'patient "[A-Z]+"'
        [other]
        """,
        "settings.toml",
    )
    arguments = {
        "iban": "DE02",
        "csrf_token": "x",
        "card": SECRETS["visa"],
        "who": "EMP-123456",
        "text": 'patient "DOE"',
        "query": "?csrf_token=abc&iban=DE02",
    }
    line, _ = written(step(arguments=arguments), Scrubber(settings))
    assert line.arguments == {
        "iban": SCRUBBED,
        "csrf_token": "x",
        "card": SECRETS["visa"],
        "who": f"EMP-{SCRUBBED}",
        "text": SCRUBBED,
        "query": f"?csrf_token=abc&iban={SCRUBBED}",
    }


def test_with_every_rule_off_nothing_is_suspicious():
    """No rule, no scan."""
    scrubber = Scrubber(ScrubSettings(off=(*BUILT_IN, "fields")))
    raw = msgspec.json.encode(step(arguments={"password": SECRETS["aws"]}))
    assert not scrubber.suspicious(raw)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[scrub", "settings.toml: not TOML"),
        ("[scrub]\noff = ['crad']", "did you mean 'card'?"),
        ("[scrub]\nofff = []", "settings.toml: [scrub]: Object contains unknown field `offf`"),
        ("[scrub]\nfields = ['a.*']", "fields: 'a.*' must be made of letters"),
        ("[[scrub.patterns]]\nname = 'x'\npattern = '('", "pattern '(' of 'x' is no regular expression"),
        ("[[scrub.patterns]]\nname = 'x'\npattern = 'a*'", "matches the empty text"),
    ],
)
def test_broken_settings_are_refused(text, says):
    """The error names the file, the field and what would be right."""
    with pytest.raises(UsageError) as caught:
        load(text, "settings.toml")
    assert says in str(caught.value)
    assert "settings.toml" in str(caught.value)
