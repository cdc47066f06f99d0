"""The engine does what the protocol says, whatever is asked of it in whatever order (machine.py, reference.py).

`TURNBUCKLE_MODEL=long`, or `--long`, runs for minutes with a random seed; `TURNBUCKLE_MODEL_SEED` repeats one.
A failure prints the shortest list of requests that leads to it.
"""

import secrets
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import EngineMachine
from tests.model.world import GRAPHS, HISTORY_TURNS, SIGNALS_PER_TURN, STEPS_PER_TURN
from tests.open_store import opened
from turnbuckle.operations import graph
from turnbuckle.store.database import write
from turnbuckle.wire import limits

SHORT = settings(
    deadline=None,
    derandomize=True,
    database=None,
    stateful_step_count=30,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)
LONG = settings(SHORT, derandomize=False, stateful_step_count=60)
EXAMPLES = {("sqlite", False): 50, ("postgresql", False): 12, ("sqlite", True): 1_000, ("postgresql", True): 100}


@pytest.mark.timeout(3_600)
def test_the_engine_does_what_the_protocol_says(
    model_store: str, is_long: bool, model_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any sequence of requests and time is answered as the reference answers it, on both databases."""
    monkeypatch.setattr(limits, "STEPS_PER_TURN", STEPS_PER_TURN)
    monkeypatch.setattr(limits, "SIGNALS_PER_TURN", SIGNALS_PER_TURN)
    monkeypatch.setattr(limits, "HISTORY_TURNS", HISTORY_TURNS)
    monkeypatch.setattr("turnbuckle.engine.instance.HISTORY_TURNS", HISTORY_TURNS)
    first = [0]
    # The pair that a claim begins with is drawn by the machine, so that a failing example fails again.
    monkeypatch.setattr(secrets, "randbelow", lambda count: first[0] % count)
    with opened(model_store) as store:
        graphs = {name: write(store.database, partial(graph.use, environment="test", name=name)) for name in GRAPHS}
        machine = lambda: EngineMachine(
            store.database, graphs, store.clock, lambda number: first.__setitem__(0, number)
        )
        profile = settings(LONG if is_long else SHORT, max_examples=EXAMPLES[store.database.kind, is_long])
        run_machine(seed(model_seed)(machine) if is_long else machine, profile, model_seed)


def run_machine(machine: Callable[[], EngineMachine], profile: settings, number: int) -> None:
    try:
        run_state_machine_as_test(machine, settings=profile)  # type: ignore[arg-type]
    except BaseException as exc:
        again = "the same every time" if profile.derandomize else f"again with TURNBUCKLE_MODEL_SEED={number}"
        exc.add_note(f"this profile draws {again}")
        raise
