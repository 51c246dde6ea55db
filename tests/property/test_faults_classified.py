from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.faults.shop import Shop, injector, now, only

from breakfall.faults.profile import PROFILES
from breakfall.faults.scenario import Blockade
from breakfall.recovery.classify import classify
from breakfall.vocab import OBSERVABLE, FaultKind


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize("kind", OBSERVABLE)
@given(seed=st.integers(0, 2**32), tool=st.sampled_from(["get_order", "refund", "ping"]), shut=st.booleans())
def test_true_kind_can_be_read(kind: FaultKind, seed: int, tool: str, shut: bool) -> None:
    """What a struck or shut call shows is evidence enough: classifying it gives the true kind and the same doubt."""
    profile = PROFILES["clean"] if shut else only(kind)
    blockade = Blockade(tools=(tool,), kinds={tool: kind}) if shut else None
    shop = Shop()
    failed, injection = now(
        injector(shop, profile, blockade, seed=seed).call(tool, {} if tool == "ping" else {"order_id": "O1001"})
    )
    found = classify(failed, writes=shop.tools[tool].writes)
    assert found.kind is injection.kind is kind
    assert not found.native
    assert found.applied is failed.applied
