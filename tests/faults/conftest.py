"""Fixtures of the fault suite, its two profiles, and the summary that it prints at its end.

`TURNBUCKLE_FAULTS=short|long` chooses the profile (`--long` means long), `TURNBUCKLE_FAULTS_SEED` repeats a run.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from tests.faults.deployment import Deployment
from tests.faults.processes import Nursery

T = TypeVar("T")
_FIGURES = pytest.StashKey[list[str]]()
_SEED_DIGITS = 1_000_000


@dataclass(frozen=True)
class Profile:
    is_long: bool
    seed: int

    def pick(self, *, short: T, long: T) -> T:
        return long if self.is_long else short


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FIGURES] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash[_FIGURES]:
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def profile(pytestconfig: pytest.Config) -> Profile:
    name = os.environ.get("TURNBUCKLE_FAULTS") or ("long" if pytestconfig.getoption("--long") else "short")
    if name not in ("short", "long"):
        raise pytest.UsageError(f"TURNBUCKLE_FAULTS is short or long, not {name!r}")
    seed = os.environ.get("TURNBUCKLE_FAULTS_SEED")
    return Profile(name == "long", int(seed) if seed else random.SystemRandom().randrange(_SEED_DIGITS))


@pytest.fixture
def note(pytestconfig: pytest.Config, profile: Profile) -> Callable[[str], None]:
    """Adds a line to the summary at the end of the run."""
    return lambda line: pytestconfig.stash[_FIGURES].append(f"{line} (seed {profile.seed})")


@pytest.fixture(scope="session")
def the_nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def nursery(the_nursery: Nursery) -> Iterator[Nursery]:
    """The session's nursery; what a test leaves running is killed."""
    yield the_nursery
    the_nursery.kill_all()


@pytest.fixture
def deployment(nursery: Nursery, tmp_path: Path) -> Deployment:
    """A running server of this test alone."""
    deployment = Deployment(nursery, tmp_path)
    deployment.start_server()
    return deployment
