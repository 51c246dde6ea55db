"""Files of other programs become Steps, whole and numbered, or are refused with file, line and field."""

import json

import pytest

from breakfall.errors import UsageError
from breakfall.ledger.import_known import KNOWN
from breakfall.ledger.import_mapping import load_mapping
from breakfall.ledger.import_steps import Imported, import_file, mapping_of, read_steps
from breakfall.vocab import Applied, Cost, Effect, Expected, Failed, Ok, Uncertainty, VerificationStatus

BIG = "x" * 300_000


class Kept:
    def __init__(self):
        self.steps = []

    def step(self, step):
        self.steps.append(step)


def attribute(key, value):
    kinds = {str: "stringValue", bool: "boolValue", float: "doubleValue"}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"key": key, "value": {"intValue": str(value)}}
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attribute("", item)["value"] for item in value]}}}
    if isinstance(value, dict):
        inside = [attribute(name, item) for name, item in value.items()]
        return {"key": key, "value": {"kvlistValue": {"values": inside}}}
    return {"key": key, "value": {kinds[type(value)]: value}}


def span(name, number, parent="", *, at=0.0, took=1.0, attributes=None, **more):
    start = 1_700_000_000_000_000_000 + int(at * 1e9)
    return {
        "traceId": "t1",
        "spanId": number,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + int(took * 1e9)),
        "attributes": [attribute(key, value) for key, value in (attributes or {}).items()],
        **more,
    }


TOOL = {"gen_ai.operation.name": "execute_tool"}
FOUR = {
    "breakfall.step.expected_outcome": "the issue is closed",
    "breakfall.step.verification.status": "passed",
    "breakfall.step.verification.by": "runtime",
    "breakfall.step.uncertainty": "low",
}
SPANS = [
    span(
        "execute_tool get_issue",
        "s3",
        "s2",
        at=2.5,
        took=0.25,
        attributes={**TOOL, **FOUR, "gen_ai.tool.name": "get_issue", "output.value": BIG},
    ),
    span(
        "execute_tool close_issue",
        "s2",
        "s1",
        at=2.0,
        attributes={
            **TOOL,
            **FOUR,
            "gen_ai.tool.name": "close_issue",
            "gen_ai.tool.call.arguments": '{"issue": 42}',
            "gen_ai.tool.call.result": '{"state": "closed"}',
            "gen_ai.conversation.id": "chat-3",
            "gen_ai.agent.name": "triage",
            "gen_ai.usage.input_tokens": 120,
            "gen_ai.usage.cache_read.input_tokens": 100,
            "gen_ai.usage.output_tokens": 8,
            "http.response.status_code": 200,
        },
    ),
    span("chat", "s5", "s1", at=1.0, attributes={"gen_ai.operation.name": "chat"}),
    span("invoke_agent", "s1", at=0.0, attributes={"gen_ai.operation.name": "invoke_agent"}),
    span(
        "notify",
        "s4",
        "s5",
        at=1.5,
        attributes={"openinference.span.kind": "TOOL", "tool.name": "notify", "input.value": "plain text"} | FOUR,
        status={"code": 2},
        events=[
            {
                "name": "exception",
                "attributes": [attribute("exception.type", "TimeoutError"), attribute("exception.message", "10 s")],
            }
        ],
    ),
]


def otlp(spans):
    resource = {"attributes": [attribute("service.name", "desk"), attribute("service.version", "2.1")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]}


@pytest.mark.parametrize("lines", [False, True])
def test_otlp_spans(tmp_path, lines):
    """Tool spans of both conventions become steps in the order of their times, with their parents and whole values."""
    path = tmp_path / "traces.json"
    documents = [otlp(SPANS[:2]), otlp(SPANS[2:])] if lines else [otlp(SPANS)]
    path.write_text("\n".join(json.dumps(document) for document in documents))
    sink = Kept()
    report = import_file(path, KNOWN["otlp"], sink)
    assert report == Imported(steps=3, episodes=1, passed_over=2, incomplete=0, lacking={})
    notify, close, get = sink.steps
    assert [step.tool for step in sink.steps] == ["notify", "close_issue", "get_issue"]
    assert [step.n for step in sink.steps] == [0, 1, 2]
    assert [step.parent for step in sink.steps] == [None, None, 1]
    assert (close.episode, close.run, close.call) == ("t1", "chat-3", "s2")
    assert (close.agent, close.agent_version, notify.agent) == ("triage", "2.1", "desk")
    assert close.arguments == {"issue": 42}
    assert close.observed_outcome == Ok(value={"state": "closed"}, status=200)
    assert close.cost == Cost(tokens_in=120, tokens_cached=100, tokens_out=8)
    assert (close.at_s, close.took_s, close.unix_s) == (0.5, 1.0, 1_700_000_002.0)
    assert close.verification.status is VerificationStatus.PASSED
    assert close.verification.by == "runtime"
    assert close.uncertainty_signal is Uncertainty.LOW
    assert get.observed_outcome == Ok(value=BIG)
    assert notify.arguments == {"input": "plain text"}
    assert notify.observed_outcome == Failed(message="10 s", exception="TimeoutError", applied=Applied.UNKNOWN)


def test_every_kind_of_otlp_value(tmp_path):
    """Numbers, lists and objects in attributes come through as what they are."""
    values = {"i": 2**40, "f": 0.5, "b": True, "l": [1, "a"], "o": {"k": [False]}}
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(otlp([span("x", "s1", attributes={**TOOL, **FOUR, "output.value": values})])))
    steps, _ = read_steps(path, KNOWN["otlp"])
    assert steps[0].observed_outcome == Ok(value=values)


LANGSMITH = {
    "id": "r1",
    "name": "agent",
    "run_type": "chain",
    "trace_id": "r1",
    "start_time": "2024-05-01T10:00:00",
    "child_runs": [
        {
            "id": "r2",
            "name": "refund",
            "run_type": "tool",
            "trace_id": "r1",
            "parent_run_id": "r1",
            "start_time": "2024-05-01T10:00:01.500000",
            "end_time": "2024-05-01T10:00:02+00:00",
            "inputs": {"order": "O7"},
            "outputs": {"output": "refunded"},
            "error": None,
            "total_cost": "0.0125",
            "prompt_tokens": 90,
            "completion_tokens": 5,
            "extra": {
                "metadata": {
                    "thread_id": "th-1",
                    "revision_id": "abc",
                    "expected_outcome": "the refund",
                    "verification": "not_done",
                    "uncertainty_signal": "missing",
                    "effect": "write",
                }
            },
        },
        {
            "id": "r3",
            "name": "get_order",
            "run_type": "tool",
            "trace_id": "r1",
            "parent_run_id": "r2",
            "start_time": "2024-05-01T10:00:03Z",
            "inputs": {"order": "O8"},
            "error": "KeyError('O8')",
        },
    ],
}


@pytest.mark.parametrize("form", ["tree", "list", "lines", "page"])
def test_langsmith_runs(tmp_path, form):
    """Runs come as a tree, a list, lines or a page; what they lack is counted where that is accepted."""
    flat = [{key: value for key, value in LANGSMITH.items() if key != "child_runs"}, *LANGSMITH["child_runs"]]
    texts = {
        "tree": json.dumps(LANGSMITH, indent=1),
        "list": json.dumps(flat),
        "lines": "\n\n".join(json.dumps(run) for run in flat) + "\n",
        "page": json.dumps({"runs": flat, "cursors": None}),
    }
    path = tmp_path / "runs.json"
    path.write_text(texts[form])
    steps, report = read_steps(path, KNOWN["langsmith"], accept_incomplete=True)
    assert report == Imported(
        steps=2,
        episodes=1,
        passed_over=1,
        incomplete=1,
        lacking={"expected_outcome": 1, "uncertainty_signal": 1, "verification": 1},
    )
    refund, get = steps
    assert (refund.episode, refund.run, refund.agent_version, refund.effect) == ("r1", "th-1", "abc", Effect.WRITE)
    assert refund.observed_outcome == Ok(value={"output": "refunded"})
    assert (refund.took_s, refund.cost) == (0.5, Cost(tokens_in=90, tokens_out=5, usd=0.0125))
    assert refund.unix_s == 1714557601.5
    assert (get.parent, get.at_s) == (0, 1.5)
    assert get.observed_outcome == Failed(message="KeyError('O8')", applied=Applied.UNKNOWN)
    assert get.incomplete == ("expected_outcome", "verification", "uncertainty_signal")


OBSERVATION = {
    "id": "o1",
    "type": "TOOL",
    "name": "refund",
    "startTime": "2024-05-01T10:00:00.000Z",
    "endTime": "2024-05-01T10:00:00.250Z",
    "input": {"order": "O7"},
    "output": '{"id": "R1"}',
    "level": "DEFAULT",
    "version": "7",
    "usageDetails": {"input": 10, "output": 2, "input_cached_tokens": 4},
    "costDetails": {"total": 0.5},
    "metadata": {"expected_outcome": "the refund", "verification": "passed", "uncertainty_signal": "none"},
}


def test_langfuse_observations(tmp_path):
    """Observations get trace and session from the trace that holds them; the level ERROR is a failure."""
    failed = {**OBSERVATION, "id": "o2", "level": "ERROR", "statusMessage": "503", "parentObservationId": "o1"}
    silent = {**failed, "id": "o3", "statusMessage": None}
    trace = {"id": "t9", "sessionId": "u1", "observations": [OBSERVATION, failed, silent, {"id": "g", "type": "SPAN"}]}
    path = tmp_path / "traces.json"
    path.write_text(json.dumps({"data": [trace], "meta": {}}))
    steps, report = read_steps(path, KNOWN["langfuse"])
    assert (report.steps, report.passed_over) == (3, 1)
    assert [(step.episode, step.run, step.parent) for step in steps] == [
        ("t9", "u1", None),
        ("t9", "u1", 0),
        ("t9", "u1", 0),
    ]
    assert steps[0].observed_outcome == Ok(value={"id": "R1"})
    assert steps[0].cost == Cost(tokens_in=10, tokens_cached=4, tokens_out=2, usd=0.5)
    assert steps[1].observed_outcome.message == "503"
    assert steps[2].observed_outcome.message == "the level is ERROR"


MAPPING = """
[only]
"/kind" = ["tool", "function"]

[fields]
tool = "/fn"
call = "/id"
evidence = "/proof"
episode = ["/session", "/job"]
arguments = { at = "/args", json = true }
observed_outcome = { at = "/result", null = true }
error = "/err"
expected_outcome = { at = "/goal" }
target = "/on"
verification = { at = "/checked", words = { true = "passed", "*" = "not_done" } }
uncertainty_signal = { value = "missing" }
effect = { at = "/fn", words = { refund = "write", get = "read" } }
unix_s = { at = "/t_ms", unit = "ms" }
took_s = { at = "/us", unit = "us" }
"""


def lines(tmp_path, *records):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


LINE = {
    "kind": "tool",
    "id": "a",
    "fn": "refund",
    "session": "s",
    "args": '{"order": 7}',
    "result": 1,
    "goal": "g",
    "checked": False,
}


def test_lines_of_ones_own_with_a_mapping_file(tmp_path):
    """Words, units, constants, alternatives, JSON in texts and null as a value are read as the mapping says."""
    path = lines(
        tmp_path,
        {**LINE, "checked": True, "t_ms": 2500, "us": 1_500_000, "on": "order:7", "proof": "b"},
        {**LINE, "id": "b", "fn": "get", "result": None, "checked": "later", "t_ms": "1000", "args": "[1]"},
        {"kind": "chat"},
    )
    steps, report = read_steps(path, load_mapping(MAPPING, "map.toml", KNOWN))
    assert (report.steps, report.passed_over) == (2, 1)
    get, refund = steps
    assert (get.n, get.tool, get.unix_s, get.at_s) == (0, "get", 1.0, 0.0)
    assert (refund.n, refund.unix_s, refund.at_s, refund.took_s) == (1, 2.5, 1.5, 1.5)
    assert refund.arguments == {"order": 7}
    assert get.arguments == {"input": [1]}
    assert get.observed_outcome == Ok(value=None)
    assert (get.effect, refund.effect) == (Effect.READ, Effect.WRITE)
    assert refund.expected_outcome == Expected(intent="g", target="order:7")
    assert [step.verification.status for step in steps] == [VerificationStatus.NOT_DONE, VerificationStatus.PASSED]
    assert refund.verification.evidence == 0


def test_a_mapping_may_start_from_a_known_one(tmp_path):
    """Fields are overridden one by one, and what counts as a step is replaced."""
    text = """
    base = "langfuse"
    [only]
    "/type" = ["SPAN"]
    [fields]
    expected_outcome = "/name"
    verification = { value = "not_done" }
    uncertainty_signal = { value = "missing" }
    """
    path = lines(tmp_path, {"type": "SPAN", "name": "look", "output": 1, "traceId": "t"}, {"type": "TOOL"})
    steps, report = read_steps(path, load_mapping(text, "map.toml", KNOWN))
    assert report.passed_over == 1
    assert (steps[0].tool, steps[0].expected_outcome, steps[0].episode) == ("look", "look", "t")


def test_lines_that_name_the_fields_as_we_do_need_no_mapping(tmp_path):
    """`jsonl` takes every field under its own name; what names no episode belongs to the file."""
    step = {
        "tool": "get",
        "expected_outcome": {"intent": "get the order", "target": "O7"},
        "observed_outcome": [1],
        "verification": "not_applicable",
        "model_text": "UNCERTAINTY: high",
        "effect": "read",
    }
    steps, _ = read_steps(lines(tmp_path, step, step), mapping_of("jsonl"))
    assert [(step.episode, step.n, step.call) for step in steps] == [("log.jsonl", 0, "c0"), ("log.jsonl", 1, "c1")]
    assert steps[0].intent == "get the order"
    assert steps[0].uncertainty_signal is Uncertainty.HIGH


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ({**LINE, "fn": None}, "log.jsonl:2: Step needs tool (from /fn)"),
        (
            {**LINE, "goal": None},
            "log.jsonl:2: Step needs expected_outcome; say what the step was for; "
            "or accept incomplete steps (looked at /goal)",
        ),
        ({**LINE, "fn": 7}, "log.jsonl:2: effect (from /fn): '7' is none of the words that are known: refund, get"),
        ({**LINE, "err": 7}, "log.jsonl:2: error (from /err): Expected `str | null`, got `int` - at `$.error`"),
        ({**LINE, "t_ms": "soon"}, "log.jsonl:2: unix_s (from /t_ms): 'soon' is no number of ms"),
        ({**LINE, "t_ms": True}, "log.jsonl:2: unix_s (from /t_ms): True is no number of ms"),
        ({**LINE, "session": 3}, "log.jsonl:2: episode (from /session or /job): Expected `str`, got `int`"),
        ({**LINE, "proof": "z"}, "log.jsonl:2: evidence is 'z', which is no step of the same episode"),
        (3, "log.jsonl:2: a int stands where a record must"),
    ],
)
def test_a_wrong_record_is_refused_by_file_line_and_field(tmp_path, second, says):
    """Nothing of the file is imported, and the message says what to mend."""
    path = lines(tmp_path, LINE, second)
    sink = Kept()
    with pytest.raises(UsageError) as caught:
        import_file(path, load_mapping(MAPPING, "map.toml", KNOWN), sink)
    assert f"{tmp_path}/{says}" in str(caught.value)
    assert sink.steps == []


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("jsonl", '{"tool": "t"}\n{"a"', "log:2: not JSON"),
        ("otlp", '{"a": 1}', "log:1: not in the form of otlp: there is no `resourceSpans`"),
        ("otlp", '{"resourceSpans": [3]}', "a int stands at /resourceSpans/0 where an object must"),
        (
            "otlp",
            json.dumps(otlp([{"attributes": [{"key": "k", "value": {"intValue": "x"}}]}])),
            "log:1: not in the form of otlp: invalid literal",
        ),
        (
            "langsmith",
            '[{"run_type": "tool", "name": "t", "start_time": "soon"}]',
            "log:1 /0: unix_s (from /start_time)",
        ),
        ("langsmith", '[{"run_type": "tool", "name": "t", "start_time": 17}]', "17 is no date and time in a text"),
        ("jsonl", '[{"tool": "t"}, 3]', "log:1 /1: a int stands where a record must"),
        ("langfuse", '{"id": "t", "observations": [3]}', "log:1 /observations/0: a int stands where a record must"),
        ("langfuse", "[3]", "log:1 /0: a int stands where a record must"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, name, text, says):
    """The message names the place in the file."""
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_steps(path, KNOWN[name], accept_incomplete=True)
    assert says in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """For the records and for the mapping."""
    with pytest.raises(UsageError, match="cannot read the file: No such file"):
        read_steps(tmp_path / "none.jsonl", KNOWN["jsonl"])
    with pytest.raises(UsageError, match=r"none.toml: cannot read the mapping"):
        mapping_of(str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match="no mapping 'langfus'; did you mean 'langfuse'"):
        mapping_of("langfus")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fields = 3", "map.toml: Expected `object`, got `int` - at `$.fields`"),
        ("[fields", "map.toml: not TOML"),
        ("colour = 1", "map.toml: Object contains unknown field `colour`"),
        ('base = "otpl"', "map.toml: no mapping 'otpl'; did you mean 'otlp'?"),
        ('[fields]\ntol = "/x"', "map.toml: fields.tol: no field 'tol'; did you mean 'tool'?"),
        ('[fields]\ntool = "x"', "map.toml: pointer 'x' must be empty or start with '/'"),
        ("[fields]\ntool = {}", "map.toml: needs `at` (where it stands) or `value` (what it is)"),
        ('[fields]\ntool = { at = "/x", unit = "h" }', "map.toml: Invalid enum value 'h'"),
        ('[fields]\ntool = { at = "/x", if = 1 }', "map.toml: Object contains unknown field `if`"),
        ('[only]\nkind = ["tool"]', "map.toml: pointer 'kind' must be empty or start with '/'"),
    ],
)
def test_a_broken_mapping_is_refused(text, says):
    """The message names the file, the field and what would be right."""
    with pytest.raises(UsageError) as caught:
        load_mapping(text, "map.toml", KNOWN)
    assert says in str(caught.value)


def test_a_mapping_file_is_read_by_its_name(tmp_path):
    """A name that ends in .toml is a file."""
    path = tmp_path / "map.toml"
    path.write_text(MAPPING)
    assert mapping_of(str(path)) == load_mapping(MAPPING, "map.toml", KNOWN)


def test_a_record_that_is_passed_over_must_still_name_its_place(tmp_path):
    """A parent link that cannot be read is an error, too, because a step may hang on it."""
    text = MAPPING.replace('call = "/id"', 'call = { at = "/id", words = { a = "a" } }')
    path = lines(tmp_path, {"kind": "chat", "id": "zz"})
    with pytest.raises(UsageError, match=r"log.jsonl:1: call: 'zz' is none of the words"):
        read_steps(path, load_mapping(text, "map.toml", KNOWN))


def test_parents_that_go_in_a_circle_end(tmp_path):
    """Damaged links do not hang the import."""
    step = {"tool": "t", "expected_outcome": "x", "observed_outcome": 1, "verification": "passed"}
    text = 'base = "jsonl"\nonly = [{"/tool" = ["t"]}]'
    path = lines(
        tmp_path,
        {**step, "uncertainty_signal": "none", "call": "a", "parent": "b"},
        {"call": "b", "parent": "c"},
        {"call": "c", "parent": "b"},
    )
    steps, _ = read_steps(path, load_mapping(text, "map.toml", KNOWN))
    assert steps[0].parent is None
