"""The test kit: the real engine in the process of a test, with a clock that the test moves and crashes it asks for.

Start with `engine.Engine`. Inside: `clock` (time and who lives through it), `network` (requests, and what is made to
happen to them), `faults` (what was asked to happen), `ran` (what a run did). Nothing imports this package.
"""

from turnbuckle.testing.clock import Clock
from turnbuckle.testing.engine import Engine
from turnbuckle.testing.faults import FaultUnused
from turnbuckle.testing.network import NothingRuns, WorkerCrashed
from turnbuckle.testing.ran import EndlessRun, Ran

__all__ = ["Clock", "EndlessRun", "Engine", "FaultUnused", "NothingRuns", "Ran", "WorkerCrashed"]
