"""The limits a worker knows before it sends (lbb-engine 10.1). Sizes are bytes of compact UTF-8 JSON, times are ms."""

import re

KIB = 1024
DAY_MS = 86_400_000

NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}\Z")  # step keys and signal names

STEPS_PER_TURN = 64
STEPS_WARNING = 52  # the first step past 80 % of them
OUTPUT_BYTES = 64 * KIB
STATE_BYTES = 256 * KIB
MESSAGE_BYTES = 256 * KIB
SIGNAL_BYTES = 256 * KIB
CURSOR_BYTES = 256 * KIB
DETAILS_BYTES = 16 * KIB
COMPLETION_BYTES = 1024 * KIB
BLOB_BYTES = 8 * 1024 * KIB

STEP_TIMEOUT_MS = (100, DAY_MS)
SLEEP_MS = (0, 365 * DAY_MS)
SIGNAL_TIMEOUT_MS = (1, 365 * DAY_MS)
WAIT_MIN_MS = 1_000  # an uncounted wait and a release lie at least this far ahead

JSON_DEPTH = 200
INTEGER_DIGITS = 4_300  # Python refuses to read more, and so would every worker
WHOLE_MAX = 2**53 - 1
ERROR_CHARS = 1_000
