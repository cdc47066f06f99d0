"""`python bench/run.py [w1 w2 ...] [--rounds N]`: each figure's median, min and max, and the floor beside them."""

import argparse
import statistics

from processes import fsync_ms
from workloads import WORKLOADS

# What the project promises on two shared cores, before workers keep one connection open.
TARGETS = {
    "w1.turns_per_s": ">= 600",
    "w1.server_cpu_ms_per_turn": "<= 0.5",
    "w2.steps_per_s_alone": ">= 600",
    "w3.p50_ms": "<= 5",
    "w4.park_s": "<= 15",
    "w4.server_rss_mb": "<= 120",
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("workloads", nargs="*", default=list(WORKLOADS), help="w1 to w5; all when none is named")
    arguments.add_argument("--rounds", type=int, default=3)
    asked = arguments.parse_args()
    print(f"floor: fsync of 4 KiB {fsync_ms():.2f} ms (median of 200)")
    print(f"{'figure':32} {'median':>10} {'min':>10} {'max':>10}  target")
    for name in asked.workloads:
        rounds = [WORKLOADS[name]() for _ in range(asked.rounds)]
        for figure in rounds[0]:
            values = [one[figure] for one in rounds]
            row = f"{statistics.median(values):10.2f} {min(values):10.2f} {max(values):10.2f}"
            print(f"{name + '.' + figure:32} {row}  {TARGETS.get(name + '.' + figure, '')}")


if __name__ == "__main__":
    main()
