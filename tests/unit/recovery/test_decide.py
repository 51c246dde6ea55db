"""decide chooses by what the agent knows: kind, tries, paths, look-ups, budget."""

from msgspec.structs import replace

from breakfall.recovery.decide import Left, Situation, decide
from breakfall.recovery.policy import BALANCED, CAUTIOUS, EAGER, GIVE_UP, RETRY
from breakfall.vocab import (
    Applied,
    Effect,
    Failed,
    FaultKind,
    Idempotency,
    IdempotencyKind,
    Path,
    Reader,
    Retry,
    Settlement,
    Stop,
    Switch,
    Tool,
    Verify,
)

READER = Reader(tool="read", arguments=lambda a, c: dict(a), judge=lambda v, a, s: Settlement(applied=Applied.UNKNOWN))
READ = Tool(name="get", description="", parameters={}, effect=Effect.READ, fault_domain="a")
WRITE = Tool(name="put", description="", parameters={}, effect=Effect.WRITE, fault_domain="a", reader=READER)
PATH = Path(tool="other")


def case(kind: FaultKind = FaultKind.SERVER_ERROR, tool: Tool = READ, **changes: object) -> Situation:
    base = Situation(
        tool=tool,
        failed=Failed(message="", kind=kind),
        tries=1,
        paths=(PATH,),
        writes=tool.writes,
        unsettled=False,
        looked_up=False,
        lookups_left=6,
        recovered_before=False,
        failures=1,
        failing_neighbours=0,
        left=Left(50, 1000.0),
        jitter=0.5,
    )
    return replace(base, **{"failures": changes.get("tries", 1), **changes})


def test_give_up_stops_at_once() -> None:
    """The policy give-up never makes a second call."""
    assert isinstance(decide(GIVE_UP, case()), Stop)


def test_retry_is_blind() -> None:
    """The policy retry repeats a 401 and a write of unknown effect alike, three attempts in all."""
    for situation in (case(FaultKind.AUTH_ERROR), case(tool=WRITE, unsettled=True)):
        assert isinstance(decide(RETRY, situation), Retry)
        assert isinstance(decide(RETRY, replace(situation, tries=2)), Retry)
        assert isinstance(decide(RETRY, replace(situation, tries=3)), Stop)


def test_rules_retry_then_switch() -> None:
    """A kind that may pass is retried until a switch is expected to cost less; with no path, a little longer."""
    assert isinstance(decide(BALANCED, case(tries=2)), Retry)
    assert decide(BALANCED, case(tries=3)) == Switch(path=PATH, why="get is shut (server_error)")
    assert isinstance(decide(BALANCED, case(tries=2, paths=())), Retry)
    assert isinstance(decide(BALANCED, case(tries=3, paths=())), Stop)


def test_evidence_moves_the_decision() -> None:
    """A path that answered before is tried longer; one whose neighbours fail too is left sooner."""
    assert isinstance(decide(EAGER, case(tries=4)), Switch)
    assert isinstance(decide(EAGER, case(tries=4, recovered_before=True)), Retry)
    assert isinstance(decide(BALANCED, case(tries=2, failing_neighbours=3)), Switch)


def test_presets_differ_by_what_a_person_costs() -> None:
    """The dearer a person's time, the longer a path without another is tried."""
    tries = {}
    for policy in (CAUTIOUS, BALANCED, EAGER):
        tried = (n for n in range(1, 20) if isinstance(decide(policy, case(tries=n, paths=())), Stop))
        tries[policy.name] = next(tried)
    assert tries["cautious"] <= tries["balanced"] < tries["eager"]


def test_auth_error_is_not_repeated_without_evidence() -> None:
    """A 401 is left at once; a tool that answered before is tried once more, and only once."""
    for kind in (FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT):
        assert isinstance(decide(BALANCED, case(kind)), Switch)
        assert isinstance(decide(BALANCED, case(kind, paths=())), Stop)
        assert isinstance(decide(BALANCED, case(kind, recovered_before=True)), Retry)
        assert isinstance(decide(BALANCED, case(kind, recovered_before=True, tries=2)), Switch)


def test_unknown_write_is_looked_up_first() -> None:
    """A write of unknown effect is looked up before anything else; without a reader it is handed over."""
    assert isinstance(decide(BALANCED, case(tool=WRITE, unsettled=True)), Verify)
    assert isinstance(decide(BALANCED, case(tool=WRITE, unsettled=True, lookups_left=0)), Stop)
    blind = replace(WRITE, reader=None)
    assert isinstance(decide(BALANCED, case(tool=blind, unsettled=True)), Stop)


def test_honoured_key_may_be_sent_again() -> None:
    """The server's own protection allows a repeat without a look-up, but not a switch."""
    keyed = replace(WRITE, idempotency=Idempotency(kind=IdempotencyKind.KEY, parameter="key", window_s=60.0))
    assert isinstance(decide(BALANCED, case(tool=keyed, unsettled=True)), Retry)
    assert isinstance(decide(BALANCED, case(tool=keyed, unsettled=True, tries=4)), Verify)


def test_write_is_looked_up_before_a_switch() -> None:
    """Even after failures that surely did nothing, a write's effect is looked up before another path is taken."""
    stuck = case(FaultKind.RATE_LIMIT, WRITE, tries=4)
    assert isinstance(decide(BALANCED, stuck), Verify)
    assert isinstance(decide(BALANCED, replace(stuck, looked_up=True)), Switch)


def test_a_sure_refusal_may_be_left_without_a_look() -> None:
    """Where no look-up tells, a write that was surely refused may take another path; one of unknown effect may not."""
    refused = case(FaultKind.RATE_LIMIT, WRITE, tries=4, lookups_left=0)
    assert isinstance(decide(BALANCED, refused), Switch)
    assert isinstance(decide(BALANCED, replace(refused, tool=replace(WRITE, reader=None))), Switch)
    assert isinstance(decide(BALANCED, replace(refused, unsettled=True)), Stop)


def test_rate_limit_waits_as_told() -> None:
    """The wait is never shorter than Retry-After, and a wait beyond the deadline is not begun."""
    limited = case(failed=Failed(message="", kind=FaultKind.RATE_LIMIT, retry_after_s=7.0))
    directive = decide(BALANCED, limited)
    assert isinstance(directive, Retry)
    assert 7.0 <= directive.after_s <= 7.5
    assert isinstance(decide(BALANCED, replace(limited, left=Left(50, 6.0))), Stop)


def test_budget_ends_everything() -> None:
    """With no call left there is only stopping, whatever the policy."""
    for policy in (GIVE_UP, RETRY, BALANCED):
        assert isinstance(decide(policy, case(left=Left(0, 100.0))), Stop)


def test_oracle_knows_what_is_shut() -> None:
    """Told the scenario, it retries an open path whatever the kind, and leaves a shut one at once."""
    auth = case(FaultKind.AUTH_ERROR)
    assert isinstance(decide(BALANCED, replace(auth, shut=frozenset())), Retry)
    assert isinstance(decide(BALANCED, replace(case(), shut=frozenset({"get"}))), Switch)
    assert isinstance(decide(BALANCED, replace(case(), shut=frozenset({"get", "other"}), paths=())), Stop)
