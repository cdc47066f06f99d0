"""SIGKILL of server and workers at random points under load: nothing is lost, nothing is done twice."""

from collections.abc import Callable

import pytest

from tests.faults.conftest import Profile
from tests.faults.deployment import Deployment
from tests.faults.kills import Run, expect, losses, unsaved
from tests.faults.sink import count


@pytest.mark.timeout(900)
async def test_kills_at_random_points_lose_nothing_and_double_nothing(
    deployment: Deployment, profile: Profile, note: Callable[[str], None]
) -> None:
    run = Run(deployment, profile.pick(short=20, long=300), profile.seed)

    await run.perform()

    effects = deployment.sink.effects()
    found = count(effects, deployment.sink.outputs(), deployment.saved_outputs())
    lost = [problem for line in run.lines for problem in losses(deployment, line)]
    note(
        f"kills {run.kills}, losses {len(lost)}, steps with two effect ids {found.with_two_effect_ids}, "
        f"with two outputs {found.with_two_outputs}, re-sends {found.resends} (limit {run.in_flight})"
    )
    turns = deployment.select("select count(*) from turn where status = 'completed'")[0][0]
    note(f"  of {run.server_kills} servers, {turns} turns, {found.steps} steps, {len(effects)} effects")
    assert lost == []
    assert (found.with_two_effect_ids, found.with_two_outputs) == (0, 0)
    assert found.steps == sum(expect(line).steps for line in run.lines)
    assert unsaved(deployment, {effect.place for effect in effects}) == set()
    assert found.resends <= run.in_flight
    assert deployment.problems() == []
