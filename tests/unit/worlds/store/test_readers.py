"""Readers: for every write, a read that tells what became of it, and that says when it cannot tell."""

import pytest

from breakfall.vocab import ALTERNATIVES, Applied, IdempotencyKind


@pytest.fixture(scope="module")
def tools(world):
    return world.tools(ALTERNATIVES)


@pytest.fixture(scope="module")
def writes(moments, tools):
    """(moment, tool, arguments) for the writes of the gold plans and for each of their paths."""
    found = []
    for moment in moments:
        tool = tools[moment.tool]
        if not tool.writes:
            continue
        found.append((moment, moment.tool, moment.arguments))
        for path in tool.paths:
            mapped = path.arguments(moment.arguments, moment.context)
            if mapped is not None:
                found.append((moment, path.tool, mapped))
    return found


def _settle(bench, tools, tool, arguments, sent_at, context):
    reader = tools[tool].reader
    asked = reader.arguments(arguments, context)
    assert asked is not None
    return reader.judge(bench.value(reader.tool, asked), arguments, sent_at)


def test_every_write_has_a_reader(tools, writes):
    """Every write has a reader that is a read, and the plans exercise every write of the store."""
    for tool in tools.values():
        assert bool(tool.reader) == tool.writes
        assert not tool.reader or not tools[tool.reader.tool].writes
    assert {tool for _, tool, _ in writes} == {name for name, tool in tools.items() if tool.writes}


def test_no_before_yes_after(writes, tools):
    """A reader says NO before the write and YES after it, with the write's own answer."""
    for moment, tool, arguments in writes:
        bench = moment.bench()
        sent_at = bench.clock.now() + 0.5
        before = _settle(bench, tools, tool, arguments, sent_at, moment.context)
        assert before.applied is Applied.NO, (moment.task.id, tool, before)
        answer = bench.value(tool, arguments)
        after = _settle(bench, tools, tool, arguments, sent_at, moment.context)
        assert after.applied is Applied.YES, (moment.task.id, tool, after)
        assert after.value == answer, (moment.task.id, tool)


def test_a_stale_answer_cannot_tell(writes, tools):
    """An answer as of before the write was sent is neither YES nor NO."""
    for moment, tool, arguments in writes:
        bench = moment.bench()
        reader = tools[tool].reader
        shown = bench.value(reader.tool, reader.arguments(arguments, moment.context))
        settled = reader.judge(shown, arguments, bench.clock.now() + 0.001)
        assert settled.applied is Applied.UNKNOWN, (tool, settled)
        assert "as of" in settled.evidence


def test_an_earlier_equal_write_is_another(writes, tools):
    """What really happens twice is looked for among what happened since it was sent."""
    seen = set()
    for moment, tool, arguments in writes:
        if tools[tool].idempotency.kind is not IdempotencyKind.NONE or tool in seen:
            continue
        seen.add(tool)
        bench = moment.bench()
        bench.value(tool, arguments)
        sent_at = bench.clock.now() + 0.5
        assert _settle(bench, tools, tool, arguments, sent_at, moment.context).applied is Applied.NO, tool
    assert len(seen) >= 6


def test_an_answer_that_misses_anything_never_lies(writes, tools):
    """With any one field or list item gone from the reader's answer it says UNKNOWN, or what is true."""
    seen = set()
    for moment, tool, arguments in writes:
        if (tool, moment.task.template) in seen:
            continue
        seen.add((tool, moment.task.template))
        bench = moment.bench()
        sent_at = bench.clock.now() + 0.5
        bench.value(tool, arguments)
        reader = tools[tool].reader
        whole = bench.value(reader.tool, reader.arguments(arguments, moment.context))
        for broken in _broken(whole):
            settled = reader.judge(broken, arguments, sent_at)
            assert settled.applied is not Applied.NO, (tool, settled)


def _broken(value):
    """Yield the answer with one thing gone, at any depth."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield {other: kept for other, kept in value.items() if other != name}
            for broken in _broken(part):
                yield value | {name: broken}
    elif isinstance(value, list):
        for nth, part in enumerate(value):
            yield value[:nth] + value[nth + 1 :]
            for broken in _broken(part):
                yield [*value[:nth], broken, *value[nth + 1 :]]


@pytest.mark.parametrize("broken", [None, 3, "text", [], {}, {"as_of": None}, {"as_of": "soon"}, {"as_of": 7}])
def test_a_malformed_answer_cannot_tell(tools, writes, broken):
    """An answer in no known form is UNKNOWN, never an exception."""
    arguments = {tool: arguments for _, tool, arguments in writes}
    for name, given in arguments.items():
        assert tools[name].reader.judge(broken, given, 0.0).applied is Applied.UNKNOWN


def test_an_answer_about_another_record_cannot_tell(writes, tools):
    """An answer that is about another order or customer than the write says nothing of the write."""
    for moment, tool, arguments in writes:
        bench = moment.bench()
        reader = tools[tool].reader
        shown = bench.value(reader.tool, reader.arguments(arguments, moment.context))
        by = "order_id" if "order_id" in reader.arguments(arguments, moment.context) else "customer_id"
        settled = reader.judge(shown | {by: "X1"}, arguments, 0.0)
        assert settled.applied is Applied.UNKNOWN
        assert "is about 'X1'" in settled.evidence


def test_a_transfer_of_nobody_has_no_reader_arguments(tools):
    """Without a customer there is no history to look at."""
    assert tools["transfer_to_human"].reader.arguments({"reason": "other", "summary": "?"}, {}) is None
