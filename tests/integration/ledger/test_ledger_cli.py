"""`breakfall ledger` over a folder and a PostgreSQL database."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from breakfall.cli.app import app
from breakfall.errors import StoreError, UsageError
from breakfall.ledger.verdict import Judgement, Rule, StepVerdict
from breakfall.vocab import Cost, Effect, Failed, Ok, Response, Uncertainty, Verification, VerificationStatus

FAILED = Verification(status=VerificationStatus.FAILED, method="get_order", by="runtime", evidence=2)
NOT_DONE = Verification(status=VerificationStatus.NOT_DONE)


@pytest.fixture
def story(write, make):
    """Write two runs: an error, an unverified write, a retry, and one very dear step."""
    write(
        [
            *(make("run-a", n, cost=Cost(tokens_in=100, tokens_out=10, usd=0.01)) for n in range(6)),
            make("run-a", 6, cost=Cost(tokens_in=9000)),
            make("run-a", 7, tool="refund", effect=Effect.WRITE, verification=FAILED, expected_outcome="refund O1"),
            make("run-b", 0, observed_outcome=Failed(message="Card declined", status=402, native=True)),
            make("run-b", 1, call="c0", attempt=2, strategy=Response.RETRY, observed_outcome=Ok(value="[bold]x")),
            make("run-b", 2, tool="refund", effect=Effect.WRITE, verification=NOT_DONE, expected_outcome="refund O2",
                 uncertainty_signal=Uncertainty.LOW, unix_s=1_700_050_000.0),
            StepVerdict(id="v", judgement=Judgement.CONTRADICTED, rule=Rule.REREAD, why="no refund is there",
                        tool="refund", episode="run-b", n=2, unix_s=1_700_050_009.0),
        ]
    )  # fmt: skip


@pytest.fixture
def ledger(where, story):
    """Run `breakfall ledger COMMAND LEDGER …`; gives what it printed."""

    def run(command: str, *words: str, code: int = 0) -> str:
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["ledger", command, where, *words])
        if isinstance(result.exception, UsageError | StoreError):
            raise result.exception
        assert result.exit_code == code, result.output
        return result.stdout

    return run


QUESTIONS = {
    "runs": ((), "run-a", 2),
    "timeline": (("run-a",), "verification failed by get_order", 8),
    "counts": (("--by", "tool"), "50.0 [9.5, 90.5]", 2),
    "cost": ((), "9,000", 1),
    "unverified": ((), "refund", 1),
    "grave": ((), "run-a", 1),
    "verdicts": ((), "no refund is there", 1),
    "retries": ((), "get_order: native → ok", 1),
    "uncertainty": (("--parts", "4"), "75 to 100 %", 4),
    "diff": (("run-a", "run-b"), "verification: failed → not_done, uncertainty: none → low", 7),
    "search": (("DECLINED",), "Card declined", 1),
}


@pytest.mark.parametrize("command", QUESTIONS)
def test_every_question_is_answered_as_a_table_as_json_and_as_csv(ledger, command):
    """The three forms hold the same rows."""
    words, shown, count = QUESTIONS[command]
    assert shown in ledger(command, *words)
    assert len(json.loads(ledger(command, *words, "--json"))) == count
    rows = list(csv.DictReader(io.StringIO(ledger(command, *words, "--csv"))))
    assert len(rows) == count
    assert None not in rows[0]


def test_a_timeline_shows_the_four_fields(ledger):
    """Expected, observed, verification and uncertainty stand side by side; markup in values is shown as it is."""
    text = ledger("timeline", "run-b")
    header = next(line for line in text.splitlines() if "expected" in line)
    assert header.split()[-5:] == ["expected", "observed", "verification", "uncertainty", "severity"]
    assert "[bold]x" in text
    assert "(retry)" in text
    assert "native 402: Card declined" in text
    assert "write that nobody verified" in text
    assert "watchdog: contradicted: no refund is there" in " ".join(text.split())
    assert "1 verdicts of the watchdog" in text
    assert len(json.loads(ledger("timeline", "run-b", "--last", "1", "--json"))) == 1


def test_long_values_are_cut_in_the_table_alone(where, write, make, ledger):
    """A cell says how long the whole is; `--full` shows it."""
    write([make("run-long", 0, observed_outcome=Ok(value="word " * 500 + "the-end"))])
    assert "the-end" not in ledger("timeline", "run-long")
    assert "2,509" in ledger("timeline", "run-long")
    assert "the-end" in ledger("timeline", "run-long", "--full")


def test_filters(ledger):
    """Options narrow a question down."""
    assert json.loads(ledger("runs", "--grave", "--agent", "nobody", "--json")) == []
    assert [one["name"] for one in json.loads(ledger("counts", "--tool", "refund", "--json"))] == ["refund"]
    assert len(json.loads(ledger("grave", "--warnings", "--json"))) == 1
    assert len(json.loads(ledger("cost", "--outliers", "--json"))) == 1
    assert "81.8" in ledger("cost", "--outliers")
    assert json.loads(ledger("unverified", "--until", "2023-11-14", "--json")) == []
    assert len(json.loads(ledger("unverified", "--since", "2023-11-15T00:00", "--json"))) == 1
    assert json.loads(ledger("unverified", "--since", "7d", "--json")) == []
    assert len(json.loads(ledger("diff", "run-a", "run-b", "--all", "--json"))) >= 7


def test_what_is_asked_wrongly_is_told(ledger):
    """Each wrong option is named with what would be right."""
    for words, says in (
        (("counts", "--by", "tol"), "no --by 'tol'; did you mean 'tool'"),
        (("runs", "--since", "yesterday"), "--since is 'yesterday'; write 24h, 7d, or a date"),
        (("runs", "--json", "--csv"), "--json and --csv exclude each other"),
        (("timeline", "nothing"), "no run 'nothing' in this ledger"),
        (("prune",), "say what to do: --older-than SPAN drops"),
        (("prune", "--older-than", "soon"), "--older-than is 'soon'; write a number and s, m, h, d or w"),
        (("query", "--sql", "SELECT nonsense"), "this SQL cannot be run"),
        (("verify", "--against", __file__), "is no file of ends that `breakfall ledger verify --save` wrote"),
    ):
        with pytest.raises(UsageError, match=says):
            ledger(*words)


def test_sql(ledger):
    """SQL runs over the views; without any, the views' columns are shown."""
    rows = json.loads(
        ledger("query", "--sql", "SELECT tool, count(*) AS n FROM steps GROUP BY tool ORDER BY n", "--json")
    )
    assert rows == [{"tool": "refund", "n": 2}, {"tool": "get_order", "n": 9}]
    assert "uncertainty" in ledger("query")
    assert {row["view"] for row in json.loads(ledger("query", "--json"))} == {"steps", "runs", "episodes", "verdicts"}


def test_verify(ledger, tmp_path):
    """A sound ledger exits 0, and its ends can be kept and held against it later."""
    kept = tmp_path / "ends.json"
    assert "11 steps: sound" in ledger("verify", "--save", str(kept))
    assert len(json.loads(kept.read_text())) == 1
    assert json.loads(ledger("verify", "--against", str(kept), "--json"))["findings"] == []
    kept.write_text(kept.read_text().replace('"chain": "', '"chain": "00'))
    assert "remembers another hash of it" in ledger("verify", "--against", str(kept), code=1)


def test_import(ledger, tmp_path):
    """Steps of others come into the ledger, whole or not at all; what they lack is counted."""
    one = {"tool": "refund", "expected_outcome": "refund Q7", "observed_outcome": {"ok": 1}, "verification": "not_done"}
    one |= {"uncertainty_signal": "none", "effect": "write"}
    lines = [one | {"episode": f"other-{n}"} for n in range(3)]
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "imported 3 steps of 3 episodes; 0 records are no steps" in ledger("import", str(path))
    del lines[1]["uncertainty_signal"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UsageError, match="uncertainty_signal"):
        ledger("import", str(path))
    assert len(json.loads(ledger("search", "Q7", "--json"))) == 3
    assert "1 steps are incomplete; missing: uncertainty_signal 1 times" in ledger("import", str(path), "--incomplete")
    assert json.loads(ledger("import", str(path), "--incomplete", "--json"))["incomplete"] == 1


def test_prune(ledger):
    """What is old goes; a trial says what would go."""
    assert "would drop segment" in ledger("prune", "--older-than", "1d", "--dry-run")
    assert len(json.loads(ledger("prune", "--older-than", "1d", "--json"))["dropped"]) == 1


def test_no_ledger_and_no_server(tmp_path):
    """What is no ledger is refused with what was looked for."""
    for words, says in (
        (["runs", str(tmp_path)], "no ledger is here"),
        (["verify", str(tmp_path)], "no ledger is here"),
        (["runs", "mysql://x/y"], "a ledger is a folder or a postgresql:// address, not mysql://"),
    ):
        result = CliRunner().invoke(app, ["ledger", *words])
        assert isinstance(result.exception, UsageError)
        assert says in str(result.exception)
    result = CliRunner().invoke(app, ["ledger", "runs", "postgresql://nobody:secret@127.0.0.1:1/none"])
    assert isinstance(result.exception, StoreError)
    assert "postgresql://nobody@127.0.0.1:1/none: the server cannot be reached" in str(result.exception)
    assert "secret" not in str(result.exception).partition("(")[0]
