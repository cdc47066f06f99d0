"""What the doctor says of rows of the second API that no operation leaves so."""

import pytest

from tests.open_store import OpenStore
from tests.store.hub_calls import hub_store
from tests.store.test_doctor import damage
from turnbuckle.operations import doctor
from turnbuckle.store import doctor_hub
from turnbuckle.store.database import read

DAMAGES = {
    "sessions": "update hub_session set executions = 7",
    "revisions": "update hub_revision set sessions = 7",
    "definitions": "update hub_revision set workflows = 7",
    "documents": "delete from hub_document",
    "lost": "update instance set head = null, pending = 0, claimable_at_ms = null",
    "running": "update hub_execution set ended_at_us = 1, is_told = 1",
    "events": "update hub_execution set events = -1",
}


@pytest.mark.parametrize("rule", doctor_hub.RULES)
def test_each_rule_finds_the_row_that_breaks_it(open_store: OpenStore, rule: str) -> None:
    hub = hub_store(open_store)
    hub.execute(hub.session())
    assert read(open_store.database, doctor.problems) == []

    damage(open_store.database, DAMAGES[rule])

    problems = read(open_store.database, doctor.problems)
    assert f"1 {doctor_hub.RULES[rule]}" in problems
