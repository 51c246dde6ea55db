"""How a later step answers an earlier one."""

from tests.unit.bench.tale import ORDER, REFUND, TOOLS, Tale

from breakfall.vocab import Effect, Path, Reader, Response, Settlement, Tool
from breakfall.vocab.relation import reads_back, response


def test_reader_by_another_path() -> None:
    """A write is read back by a path of its reader too, if that asks about the same thing."""
    audit = Tool(name="audit", description="", parameters={}, effect=Effect.READ, fault_domain="audit")
    reader = TOOLS["get_refunds"]
    tools = {
        **TOOLS,
        "audit": audit,
        "get_refunds": Tool(
            name="get_refunds",
            description="",
            parameters={},
            effect=Effect.READ,
            fault_domain=reader.fault_domain,
            paths=(Path(tool="audit"),),
        ),
    }
    tale = Tale()
    tale.ok("refund", REFUND, {}, effect="refund")
    tale.ok("audit", ORDER, {})
    tale.ok("audit", {"order_id": "O2"}, {})
    write, same, other = tale.steps
    assert reads_back(write, same, tools)
    assert not reads_back(write, other, tools)
    assert response(write, same, tools) is Response.VERIFY


def test_reader_that_needs_more_than_the_arguments() -> None:
    """A reader whose arguments cannot be told from the write's alone lets any call of it pass."""

    def judge(value: object, arguments: object, sent_s: float) -> Settlement:
        raise AssertionError

    reader = Reader(tool="get_refunds", arguments=lambda arguments, context: {"id": context["id"]}, judge=judge)
    refund = TOOLS["refund"]
    tools = {**TOOLS, "refund": type(refund)(**{**_fields(refund), "reader": reader})}
    tale = Tale()
    tale.ok("refund", REFUND, {})
    tale.ok("get_refunds", {"id": 7}, {})
    assert reads_back(*tale.steps, tools)


def _fields(tool: Tool) -> dict[str, object]:
    return {name: getattr(tool, name) for name in tool.__struct_fields__}


def test_path_for_another_tool_is_no_response() -> None:
    """A step that took a path for another original has nothing to do with the fault."""
    tale = Tale()
    tale.fail("get_order", ORDER)
    tale.ok("order_by_mail", ORDER, {}, path_of="list_orders")
    assert response(*tale.steps, TOOLS) is None


def test_unknown_tools_answer_nothing() -> None:
    """A tool that the world does not have is answered by nothing but a call of the same."""
    tale = Tale()
    tale.fail("nothing", ORDER)
    tale.ok("get_order", ORDER, {})
    tale.ok("nothing", ORDER, {})
    fault, other, same = tale.steps
    assert response(fault, other, TOOLS) is None
    assert response(fault, same, TOOLS) is Response.RETRY


def test_a_path_is_held_against_what_its_caller_knew() -> None:
    """A mapping that needs more than the arguments takes it from the step's context; else any passes."""
    for context, customer, answers in (({"customer_id": "C1"}, "C1", True), ({"customer_id": "C1"}, "C2", False)):
        tale = Tale()
        tale.fail("get_order", ORDER, context=context)
        tale.ok("list_orders", {"customer_id": customer}, {})
        assert (response(*tale.steps, TOOLS) is Response.SWITCH) is answers
    tale = Tale()
    tale.fail("get_order", ORDER)
    tale.ok("list_orders", {"customer_id": "C2"}, {})
    assert response(*tale.steps, TOOLS) is Response.SWITCH
