"""A watchdog's file: strict, relative to its folder, with secrets from the environment alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from breakfall.errors import UsageError
from breakfall.runtime.deliver import File, Webhook
from breakfall.runtime.watch import Settings, load

WHOLE = """
[watch]
every_s = 0.5
stall_s = 900

[alerts]
file = "alerts.jsonl"
webhook = "https://hooks.example.com/${HOOK}"
per_minute = 3
language = "ko"

[heartbeat]
triage = 300

[[answers]]
tool = "close_issue"
pattern = 'closed #(?P<number>\\d+)'

[tools.close_issue]
kind = "http"
url = "https://api.example.com/issues/{number}"
headers = { Authorization = "Bearer ${TOKEN}" }
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "watch.toml"
    path.write_text(text)
    return path


def test_whole(tmp_path: Path) -> None:
    """Every table is read, paths start from the file's folder, and what came from the environment is remembered."""
    path = written(tmp_path, WHOLE)
    settings = load(path, {"HOOK": "s3cr3t-hook", "TOKEN": "s3cr3t-token", "OTHER": "unused-value"})
    assert (settings.every_s, settings.stall_s, settings.grace_s) == (0.5, 900.0, 5.0)
    assert settings.heartbeat == {"triage": 300.0}
    assert list(settings.tools) == ["close_issue"]
    assert settings.wordings[0].pattern.search("closed #7")
    file, webhook = settings.alerts.targets
    assert isinstance(file, File)
    assert isinstance(webhook, Webhook)
    assert file.path == tmp_path / "alerts.jsonl"
    assert webhook.url == "https://hooks.example.com/s3cr3t-hook"
    assert (settings.alerts.per_minute, settings.alerts.language) == (3, "ko")
    assert set(settings.secrets) == {"s3cr3t-hook", "s3cr3t-token"}


def test_empty(tmp_path: Path) -> None:
    """An empty file gives the defaults."""
    settings = load(written(tmp_path, ""))
    assert settings.alerts.targets == ()
    assert (settings.loop, settings.looks, settings.agreeing) == (
        Settings().loop,
        Settings().looks,
        Settings().agreeing,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[wacht]", "Object contains unknown field `wacht`"),
        ("[watch]\nevery = 1", "Object contains unknown field `every` - at `watch`"),
        ("[watch]\nevery_s = 0", "watch.every_s is 0, must be at least 0.01"),
        ("[watch]\nloop = 1", "watch.loop is 1, must be at least 2, or 0 for never"),
        ("[heartbeat]\ntriage = 0.5", "heartbeat.triage is 0.5, must be at least 1"),
        ("[alerts]\nper_minute = 0", "alerts.per_minute is 0, must be at least 1"),
        ("[alerts]\nlanguage = 'fr'", "Invalid enum value 'fr' - at `alerts.language`"),
        ("[alerts]\nwebhook = '${HOOK}'", "alerts.webhook needs the environment variable HOOK, which is not set"),
        ("[alerts]\nwebhook = 'hooks.example.com'", "a webhook's URL has scheme ''"),
        ("[[answers]]\ntool = 'a'\npattern = '('", "answers[0].pattern is '(', which is no pattern"),
        ("[[answers]]\ntool = 'a'", "Object missing required field `pattern` - at `answers[0]`"),
        ("[tools.a]\nkind = 'http'", "tools.a: Object missing required field `url`"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, words: str) -> None:
    """A mistake is refused with its place and what would be right."""
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as error:
        load(path, {})
    assert words in str(error.value)


def test_the_page(tmp_path: Path) -> None:
    """The file that the page shows is read as it stands."""
    page = (Path(__file__).parents[4] / "docs/watch.md").read_text()
    text = page.split("```toml\n")[1].split("```")[0]
    settings = load(written(tmp_path, text), {"SLACK_WEBHOOK": "https://x.example/y", "WATCHDOG_GITHUB_TOKEN": "token"})
    assert (list(settings.tools), settings.heartbeat) == (["close_issue"], {"triage": 300.0})
    found = settings.wordings[0].pattern.search("Closed issue #42.")
    assert found is not None
    assert found["number"] == "42"
