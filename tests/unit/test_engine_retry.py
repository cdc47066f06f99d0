"""Delays of counted retries: engine/retry.py (P1)."""

import pytest

from turnbuckle.engine.retry import delay_ms


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (100, 60)]
)
def test_the_delay_doubles_up_to_a_minute(failures: int, seconds: int) -> None:
    assert delay_ms(failures) == 1_000 * seconds
