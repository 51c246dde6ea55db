"""Exports arrive whole: as JSON lines, as Parquet, and at an OTLP/HTTP receiver that runs here."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pyarrow.parquet
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typer.testing import CliRunner

from breakfall.cli.app import app
from breakfall.errors import StoreError, UsageError
from breakfall.ledger import export_otlp
from breakfall.ledger.export import Part, jsonl_file
from breakfall.ledger.export_otlp import to_otlp
from breakfall.ledger.export_parquet import to_parquet
from breakfall.ledger.severity import severity
from breakfall.ledger.store import open_source
from breakfall.ledger.verdict import Judgement, Rule, StepVerdict
from breakfall.ledger.writer import LedgerWriter
from breakfall.vocab import (
    Cost,
    Effect,
    Expected,
    Failed,
    FaultKind,
    Ok,
    Step,
    Uncertainty,
    Verification,
    VerificationStatus,
)

ALL = Part()
PAGE = "".join(f"word{n}, " for n in range(35_000))
PASSED = Verification(status=VerificationStatus.PASSED, method="get_order", by="runtime", evidence=2)


@pytest.fixture
def steps(make):
    """A large result, a failure, a verified but uncertain write, an unverified write, and a sub-agent's step."""
    return [
        make("run-a", 0, observed_outcome=Ok(value={"page": PAGE}, status=200)),
        make("run-a", 1, observed_outcome=Failed(message="busy", kind=FaultKind.SERVER_ERROR, status=503)),
        make("run-a", 2, tool="refund", effect=Effect.WRITE, verification=PASSED, uncertainty_signal=Uncertainty.LOW,
             expected_outcome=Expected(intent="refund", target="order:O1"), cost=Cost(tokens_in=900, tokens_out=20)),
        make("run-a", 3, tool="message", effect=Effect.WRITE,
             verification=Verification(status=VerificationStatus.NOT_DONE)),
        make("sub", 0, run="run-a", parent=3, parent_episode="run-a", agent="helper"),
    ]  # fmt: skip


VERDICT = StepVerdict(
    id="v1",
    judgement=Judgement.CONTRADICTED,
    rule=Rule.REREAD,
    why="no message is there",
    episode="run-a",
    n=3,
    unix_s=1_700_000_009.0,
)


@pytest.fixture
def source(where, write, steps):
    write(steps)
    if "://" not in where:
        with LedgerWriter(where) as writer:
            writer.line(VERDICT)
    with open_source(where) as opened:
        yield opened


class Receiver(ThreadingHTTPServer):
    """An OTLP/HTTP receiver."""

    def __init__(self) -> None:
        self.requests: list[ExportTraceServiceRequest] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    def spans(self) -> list[dict[str, object]]:
        """Everything that arrived, decoded."""
        return [
            {"span": span, "attributes": {one.key: _value(one.value) for one in span.attributes}, "resource": resource}
            for request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


def _value(value):
    return getattr(value, value.WhichOneof("value"))


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if answer == 200:
            self.server.requests.append(ExportTraceServiceRequest.FromString(body))
            self.server.headers.append(dict(self.headers))
        self.send_response(answer)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_json_lines_hold_every_step_whole(source, steps, tmp_path):
    """Each line decodes to the step that was written, and tells its severity."""
    count = jsonl_file(source, tmp_path / "out.jsonl", ALL)
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    told = [line for line in lines if line.startswith(b'{"line":"step"')]
    assert [msgspec.json.decode(line, type=Step) for line in told] == steps
    assert [json.loads(line)["severity"] for line in told] == [severity(step).value for step in steps]
    assert (count.steps, count.verdicts) == (5, len(lines) - 5)


def test_parquet_holds_every_step_whole(source, steps, tmp_path):
    """Names and numbers stand in columns, the large result is whole, and what is unknown is null."""
    assert to_parquet(source, tmp_path / "out.parquet", ALL).steps == 5
    rows = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert json.loads(rows[0]["observed_outcome"])["value"] == {"page": PAGE}
    assert [row["n"] for row in rows] == [0, 1, 2, 3, 0]
    assert [row["run"] for row in rows] == ["run-a"] * 5
    assert [row["severity"] for row in rows] == ["info", "info", "warning", "warning", "info"]
    assert [row["http_status"] for row in rows] == [200, 503, None, None, None]
    assert (rows[2]["tokens_in"], rows[2]["evidence"], rows[2]["intent"]) == (900, 2, "refund")
    assert rows[1]["outcome"] == "server_error"
    assert rows[3]["reason"] == "write that nobody verified"


def test_every_step_arrives_whole_over_otlp(source, steps, receiver):
    """A receiver gets one span a step with every attribute that is promised, a result of 300 KB uncut."""
    count = to_otlp(source, receiver.address, ALL, headers={"x-key": "k"})
    assert count.steps == 5
    assert receiver.headers[0]["x-key"] == "k"
    tools = [one for one in receiver.spans() if one["attributes"]["gen_ai.operation.name"] == "execute_tool"]
    assert [one["span"].name for one in tools] == [f"execute_tool {step.tool}" for step in steps]
    first = tools[0]["attributes"]
    assert len(PAGE) > 300_000
    assert json.loads(first["gen_ai.tool.call.result"]) == {"page": PAGE}
    assert json.loads(first["output.value"]) == {"page": PAGE}
    assert {name: first[name] for name in EXACTLY} == EXACTLY
    assert json.loads(first["metadata"])["severity"] == "info"
    failed = tools[1]["attributes"]
    assert (failed["error.type"], failed["http.response.status_code"]) == ("server_error", 503)
    assert "gen_ai.tool.call.result" not in failed
    assert tools[1]["span"].status.message == "busy"
    write = tools[2]["attributes"]
    assert {name: write[name] for name in WRITE} == WRITE
    assert write["gen_ai.usage.input_tokens"] == 900


EXACTLY = {
    "gen_ai.tool.name": "get_order",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "c0",
    "gen_ai.conversation.id": "run-a",
    "gen_ai.tool.call.arguments": '{"order_id":"O0"}',
    "input.value": '{"order_id":"O0"}',
    "input.mime_type": "application/json",
    "http.response.status_code": 200,
    "openinference.span.kind": "TOOL",
    "breakfall.step.intent": "the order #",
    "breakfall.step.expected_outcome": "the order O0",
    "breakfall.step.verification.status": "not_applicable",
    "breakfall.step.uncertainty": "none",
    "breakfall.step.severity": "info",
    "langfuse.observation.level": "DEFAULT",
    "logfire.level_num": 9,
    "langsmith.span.kind": "tool",
}
WRITE = {
    "breakfall.step.verification.status": "passed",
    "breakfall.step.verification.evidence": 2,
    "breakfall.step.verification.by": "runtime",
    "breakfall.step.uncertainty": "low",
    "breakfall.step.severity": "warning",
    "langfuse.observation.level": "WARNING",
    "logfire.level_num": 13,
}


def test_spans_hang_together(source, receiver):
    """A step's span is under its agent's, a sub-agent's step under the step that called it, all in one trace."""
    to_otlp(source, receiver.address, ALL)
    found = receiver.spans()
    assert len({one["span"].trace_id for one in found}) == 1
    agents = {one["span"].name: one["span"] for one in found if one["span"].name.startswith("invoke_agent")}
    assert set(agents) == {"invoke_agent shop", "invoke_agent helper"}
    tools = [one["span"] for one in found if one["span"].name.startswith("execute_tool")]
    assert {span.parent_span_id for span in tools[:4]} == {agents["invoke_agent shop"].span_id}
    assert tools[4].parent_span_id == tools[3].span_id
    whole = agents["invoke_agent shop"]
    assert whole.start_time_unix_nano == min(span.start_time_unix_nano for span in tools[:4])
    assert whole.end_time_unix_nano == max(span.end_time_unix_nano for span in tools[:4])
    assert len({span.span_id for span in (*tools, *agents.values())}) == 7


def test_verdicts_are_events(where, source, receiver):
    """Verifications and verdicts of the watchdog are `gen_ai.evaluation.result` events on the step that they judge."""
    to_otlp(source, receiver.address, ALL)
    tools = [one["span"] for one in receiver.spans() if one["span"].name.startswith("execute_tool")]
    told = [
        [
            {one.key: _value(one.value) for one in event.attributes}
            for event in span.events
            if "evaluation" in event.name
        ]
        for span in tools
    ]
    verified = {
        "gen_ai.evaluation.name": "verification",
        "gen_ai.evaluation.score.label": "passed",
        "gen_ai.evaluation.explanation": "runtime get_order",
    }
    watched = {
        "gen_ai.evaluation.name": "watchdog",
        "gen_ai.evaluation.score.label": "contradicted",
        "gen_ai.evaluation.explanation": "no message is there",
    }
    assert told == [[], [], [verified], [] if "://" in where else [watched], []]


def test_what_is_sent_again_has_the_same_ids(source, receiver):
    """A second export of the same ledger gives the same spans, so a receiver can tell."""
    to_otlp(source, receiver.address, ALL)
    to_otlp(source, receiver.address, ALL)
    ids = [one["span"].span_id for one in receiver.spans()]
    assert ids[: len(ids) // 2] == ids[len(ids) // 2 :]


def test_a_run_that_numbers_its_steps_anew_keeps_all_its_spans(where, write, make, receiver):
    """After a restart the same numbers come again; each step still is a span of its own."""
    write([make("run", 0), make("run", 0, call="again", unix_s=1_700_000_050.0)])
    with open_source(where) as source:
        to_otlp(source, receiver.address, ALL)
    assert len({one["span"].span_id for one in receiver.spans()}) == 3


def test_batches_are_acknowledged_one_by_one(source, receiver, monkeypatch):
    """Steps go in batches of bounded size; a batch that is refused is an error, and nothing after it is sent."""
    monkeypatch.setattr(export_otlp, "BATCH_SPANS", 2)
    to_otlp(source, receiver.address, ALL)
    assert [sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
            for request in receiver.requests] == [2, 2, 2, 1]  # fmt: skip
    receiver.requests.clear()
    receiver.answers = [200, 400]
    with pytest.raises(StoreError, match="did not take 2 spans, from execute_tool refund on; those before were taken"):
        to_otlp(source, receiver.address, ALL)
    assert len(receiver.requests) == 1


def test_a_busy_receiver_is_asked_again(source, receiver):
    """A 503 is tried again, and everything arrives once."""
    receiver.answers = [503]
    to_otlp(source, receiver.address, ALL)
    assert len(receiver.spans()) == 7


def test_a_part_is_exported(source, tmp_path):
    """A run, or a time, can be chosen."""
    assert jsonl_file(source, tmp_path / "a.jsonl", Part(run="nothing")).steps == 0
    assert jsonl_file(source, tmp_path / "a.jsonl", Part(run="sub")).steps == 1
    assert jsonl_file(source, tmp_path / "a.jsonl", Part(run="run-a")).steps == 5
    begun_s = 1_700_000_000.0 - 1_700_000_000 % 3600
    assert jsonl_file(source, tmp_path / "a.jsonl", Part(since_s=begun_s + 1, until_s=begun_s + 3)).steps == 2


def test_an_export_that_cannot_be_written_leaves_nothing(source, tmp_path):
    """The error names the file, and no half of it is there."""
    target = tmp_path / "missing" / "out.jsonl"
    with pytest.raises(StoreError, match=r"out\.jsonl: the export cannot be written: No such file"):
        jsonl_file(source, target, ALL)
    with pytest.raises(StoreError, match=r"out\.parquet: the export cannot be written"):
        to_parquet(source, tmp_path / "missing" / "out.parquet", ALL)
    assert list(tmp_path.rglob("*.part")) == []


def test_the_command_exports_by_where_to(where, source, tmp_path, receiver):
    """The target's form decides: a file, standard output, or an address."""
    run = CliRunner()
    for target in (str(tmp_path / "a.jsonl"), str(tmp_path / "a.parquet"), receiver.address, "-"):
        result = run.invoke(app, ["ledger", "export", where, target])
        assert result.exit_code == 0, result.output
        assert "exported 5 steps" in result.stderr
    assert result.stdout.count('"line":"step"') == 5
    assert len(receiver.spans()) == 7
    for words, says in (
        (["out.txt"], "cannot tell what 'out.txt' shall be"),
        (["a.jsonl", "--header", "x=y"], "an http address to send it to"),
        ([receiver.address, "--header", "xy"], "--header is 'xy'; write NAME=VALUE"),
    ):
        result = run.invoke(app, ["ledger", "export", where, *words])
        assert isinstance(result.exception, UsageError)
        assert says in str(result.exception)
