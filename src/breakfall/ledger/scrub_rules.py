"""What counts as a secret: the built-in rules, and the settings that add to them or switch them off.

Every rule has a *mark*, a pattern without look-around that the encoded line of any step with such a secret matches. All
marks are searched at once before anything else is done, so a line without secrets costs one scan.
"""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Callable

import msgspec
from msgspec import Struct

from breakfall.errors import UsageError, unknown_name

NAMES = (
    r"passw(?:or)?d",
    r"passphrase",
    r"passcode",
    r"pwd",
    r"secret",
    r"credentials?",
    r"(?:api|access|account|auth|encryption|license|private|secret|signing)[ _-]?key",
    r"token",
    r"authorization",
    r"cookie",
    r"cv[vc]2?",
)
"""How the names of fields end whose values are secrets, in any case."""

KEEP = ("next_page_token", "page_token", "next_token", "continuation_token", "nextPageToken", "pageToken", "nextToken")
"""Names that end so and are no secret."""

_FIELDS = "fields"
_CARD_LENGTHS = range(13, 20)


class OwnPattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A secret of one's own: a Python regular expression; a group named ``secret`` narrows what is taken out."""

    name: str
    pattern: str
    contains: str = ""
    """A text that every match contains. Without it each line is searched from end to end, which costs far more."""

    def __post_init__(self) -> None:
        """Refuse what is no regular expression."""
        try:
            compiled = re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"pattern {self.pattern!r} of {self.name!r} is no regular expression: {error}") from None
        if compiled.match(""):
            raise ValueError(f"pattern {self.pattern!r} of {self.name!r} matches the empty text")


class ScrubSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[scrub]`` of the settings."""

    off: tuple[str, ...] = ()
    """Built-in rules that do not hold, by name."""
    fields: tuple[str, ...] = ()
    """More endings of names of fields whose values are secrets, in any case."""
    keep: tuple[str, ...] = ()
    """Names of fields that are no secret although they end so."""
    patterns: tuple[OwnPattern, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that are unknown or cannot be searched for."""
        for name in self.off:
            if name not in BUILT_IN and name != _FIELDS:
                raise ValueError(str(unknown_name("scrub rule", name, [*BUILT_IN, _FIELDS], "[scrub] off")))
        for name in self.fields:
            if not re.fullmatch(r"[\w][\w -]*", name):
                raise ValueError(f"fields: {name!r} must be made of letters, digits, '_', '-' and spaces")


class Rule(Struct, frozen=True):
    """One kind of secret in a text; the group ``secret``, where there is one, is what is taken out."""

    pattern: re.Pattern[str]
    mark: str
    is_secret: Callable[[re.Match[str]], bool] | None = None
    """Looks closer at what the pattern found."""


def load(text: str, source: str) -> ScrubSettings:
    """Read the table ``[scrub]`` from TOML text; what other tables hold is not looked at.

    Args:
        text: The TOML text.
        source: Where it came from, as messages name it.

    Raises:
        UsageError: The table is wrong; the message has the field and what would be right.
    """
    try:
        table = tomllib.loads(text).get("scrub", {})
        return msgspec.convert(table, ScrubSettings)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source}: not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{source}: [scrub]: {error}") from None


def text_rules(settings: ScrubSettings) -> list[Rule]:
    """Return the rules for texts that hold under `settings`, in the order in which they are applied."""
    rules = [rule for name, rule in BUILT_IN.items() if name not in settings.off]
    if _FIELDS not in settings.off:
        rules += _assignments(settings)
    return rules


def field_names(settings: ScrubSettings) -> re.Pattern[str] | None:
    """Return the pattern of names of fields whose values are secrets, None if names do not matter."""
    if _FIELDS in settings.off:
        return None
    return re.compile(rf"(?:{'|'.join([*NAMES, *settings.fields])})\Z", re.IGNORECASE)


def own_rules(settings: ScrubSettings) -> list[Rule]:
    """Return the rules of one's own; a rule with an empty mark has none."""
    return [Rule(re.compile(own.pattern), _literal(own.contains)) for own in settings.patterns]


def _literal(text: str) -> str:
    """Return the mark of a text as it stands in an encoded line."""
    encoded = msgspec.json.encode(text)[1:-1].decode()
    return re.sub(r"[^\w ]", lambda found: rf"\u{{{ord(found[0]):x}}}", encoded)


def _assignments(settings: ScrubSettings) -> list[Rule]:
    """Return the rules for named secrets inside a text: ``password=…``, ``"token": "…"``, ``--api-key …``."""
    names = "|".join([*NAMES, *settings.fields])
    quoted = r"(?P<open>\\+[\"'])(?P<a>(?:(?!(?P=open)).)*)|(?P<quote>[\"'])(?P<b>(?:\\.|(?!(?P=quote))[^\\])*)"
    bare = r"(?:(?:bearer|basic|token|apikey|digest|negotiate) +)?(?P<c>[^\s\"'\\&,;<>(){}]+)"
    endings = [re.fullmatch(rf"(.+?)(?:{names})", word, re.IGNORECASE) for word in (*KEEP, *settings.keep)]
    kept = "".join(rf"(?<!{re.escape(ending[1])})" for ending in endings if ending)
    return [
        Rule(
            re.compile(
                rf"(?P<name>{kept}(?:{names}))(?P<end>[\"'\\]{{0,4}}) {{0,3}}[=:] {{0,3}}(?:{quoted}|{bare})",
                re.IGNORECASE | re.DOTALL,
            ),
            rf"(?i)(?:{names})[\\\"']{{0,9}} {{0,3}}[=:]",
            _named_secret,
        ),
        Rule(
            re.compile(rf"-(?:{names}) +(?P<secret>[^\s-]\S*)", re.IGNORECASE),
            rf"(?i)-(?:{names}) ",
        ),
    ]


_NO_SECRET = frozenset({"", "null", "none", "true", "false", "undefined"})
_LOOSE = ("token", "authorization")
"""Words that prose puts before a colon, too."""


def _named_secret(found: re.Match[str]) -> bool:
    value = found["a"] or found["b"] or found["c"] or ""
    if value.lower() in _NO_SECRET:
        return False
    plain = found["c"] is not None and not found["end"] and "=" not in found[0][: found.start("c") - found.start()]
    if plain and found["name"].lower().endswith(_LOOSE):
        return len(value) >= 8 and any(character.isdigit() for character in value)
    return True


def _basic_or_bearer(found: re.Match[str]) -> bool:
    secret = found["secret"]
    if found["scheme"].lower() == "basic":
        try:
            return b":" in base64.b64decode(secret + "=" * (-len(secret) % 4), validate=True)
        except ValueError:
            return False
    return len(secret) >= 24 or any(character.isdigit() for character in secret)


def _card(found: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", found[0])
    if found["sep"] is None:
        return is_card(digits)
    return is_card(digits) or any(is_card(digits[at : at + 16]) for at in range(0, len(digits) - 15, 4))


def is_card(digits: str) -> bool:
    """Whether digits are the number of a payment card: length and beginning of a known network, and the check digit."""
    return len(digits) in _CARD_LENGTHS and _issuer(digits) and luhn(digits)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others.

    Source: ISO/IEC 7812-1, annex B.
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _issuer(digits: str) -> bool:
    """Whether a number begins and is as long as a payment card of a known network."""
    length, two, four = len(digits), int(digits[:2]), int(digits[:4])
    if digits[0] == "4":
        return length in {13, 16, 19}
    if two in {34, 37}:
        return length == 15
    if two in {36, 38, 39} or 300 <= int(digits[:3]) <= 305:
        return length in {14, 16, 19}
    return length >= 16 and (51 <= two <= 55 or 2221 <= four <= 2720 or two == 35 or two in {60, 62, 64, 65, 81})


def _rule(pattern: str, mark: str, is_secret: Callable[[re.Match[str]], bool] | None = None) -> Rule:
    return Rule(re.compile(pattern, re.ASCII), mark, is_secret)


_VENDOR_KEYS: dict[str, tuple[str, str]] = {
    "aws": (r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}", r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}"),
    "github": (r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}", r"gh[pousr]_[A-Za-z0-9]{20}|github_pat_"),
    "gitlab": (r"glpat-[\w-]{20,}", r"glpat-"),
    "slack": (r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}", r"xox[a-z]-|xapp-"),
    "openai": (r"sk-[\w-]{16,}", r"sk-[A-Za-z0-9_-]{16}"),
    "stripe": (r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{10,}", r"[rs]k_(?:live|test)_|whsec_"),
    "google": (r"AIza[\w-]{30,}|ya29\.[\w-]{20,}", r"AIza[A-Za-z0-9_-]{30}|ya29\."),
    "hugging_face": (r"hf_[A-Za-z0-9]{30,}", r"hf_[A-Za-z0-9]{30}"),
    "npm": (r"npm_[A-Za-z0-9]{36}", r"npm_[A-Za-z0-9]{36}"),
    "pypi": (r"pypi-AgE[\w-]{20,}", r"pypi-AgE"),
    "sendgrid": (r"SG\.[\w-]{16,}\.[\w-]{16,}", r"SG\.[A-Za-z0-9_-]{16}"),
}
"""By vendor: the key as its vendor forms it, and its mark."""

BUILT_IN: dict[str, Rule] = {
    "private_key": _rule(
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
        r"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY",
    ),
    "jwt": _rule(r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]*(?:\.[\w-]*){1,3}", r"eyJ[A-Za-z0-9_-]{8,}\."),
    "authorization": _rule(
        r"(?P<scheme>(?i:\b(?:basic|bearer))) +(?P<secret>[A-Za-z0-9._~+/-]{6,}=*)(?![\w=\"])",
        r"(?i)(?:basic|bearer) +[A-Za-z0-9._~+/-]{6}",
        _basic_or_bearer,
    ),
    **{
        name: _rule(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", mark)
        for name, (pattern, mark) in _VENDOR_KEYS.items()
    },
    "url_password": _rule(
        r"(?<=://)[^\s/:@\"'?#]*:(?P<secret>[^\s/@\"']+)@",
        r"://[^ /:@\"'?#]*:[^ /@\"']+@",
    ),
    "card": _rule(
        r"(?<!\w)(?<!\d[.-])(?:\d{13,19}|\d{4}(?P<sep>[ -])\d{4}(?P=sep)\d{4}(?P=sep)\d{4}(?:(?P=sep)\d{1,4})*"
        r"|\d{4}(?P<gap>[ -])\d{6}(?P=gap)\d{4,5})(?!\w|[.-]\d)",
        r"[0-9]{13}|[0-9]{4}[ -][0-9]{4}[ -][0-9]{4}[ -][0-9]{4}|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4}",
        _card,
    ),
}
"""The rules by name; ``fields`` is one more, for names (`NAMES`)."""
