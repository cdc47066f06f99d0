"""Every limit of the engine, in one place. docs/reference/limits.md is checked against this module.

Sizes are bytes of UTF-8 JSON as it came, times are milliseconds. Source: lbb-engine 10.1 and decisions 9 to 11.
"""

KIB = 1024
MIB = 1024 * KIB
SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

# Sizes
MESSAGE_BYTES = 256 * KIB
STATE_BYTES = 256 * KIB
CURSOR_BYTES = 256 * KIB  # the resume cursor of a long step, `checkpoint` on the wire
SIGNAL_BYTES = 256 * KIB
OUTPUT_BYTES = 64 * KIB  # one step's saved output
DETAILS_BYTES = 16 * KIB  # what one progress report says
ORIGIN_BYTES = KIB
COMPLETION_BYTES = MIB  # the whole body of turns/complete
BODY_BYTES = 2 * MIB  # any other JSON body
HEAD_BYTES = 64 * KIB  # a request's line and headers
BLOB_BYTES = 8 * MIB
RESULTS_BYTES = 512 * KIB
JSON_DEPTH = 200
INTEGER_DIGITS = 4_300  # more than this, Python clients refuse to read
ERROR_CHARS = 1_000
RUN_ERROR_CHARS = 500
ORIGIN_NOTE_CHARS = 280

# Counts
STEPS_PER_TURN = 64
SIGNALS_PER_TURN = 64
PHASES_PER_RUN = 32
INPUTS_PER_RUN = 200
VALUES_PER_INPUT = 32
PAGE_DEFAULT = 50
PAGE_MAX = 200
HISTORY_PAGE_MAX = 50
CLAIM_PAIRS = 200  # workflow types one claim may name

# Ids
NAME_PATTERN = r"^[A-Za-z0-9_.-]{1,128}$"  # instance id, workflow type, version, step key, signal name
GRAPH_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,62}$"
ID_CHARS = 256  # message and event ids
WORKER_CHARS = 128

# Times
LEASE_MS = (100, HOUR_MS)
LEASE_DEFAULT_MS = 60 * SECOND_MS
ATTEMPTS = (1, 100)
ATTEMPTS_DEFAULT = 3
SLEEP_MS = (0, 365 * DAY_MS)
SIGNAL_TIMEOUT_MS = (1, 365 * DAY_MS)
STEP_TIMEOUT_MS = (100, DAY_MS)
RETRY_WAIT_MIN_MS = SECOND_MS  # an uncounted wait lasts at least this
RETRY_WAIT_MAX_MS = 366 * DAY_MS
RETRY_DELAY_MS = (SECOND_MS, MINUTE_MS)  # counted retry: 1, 2, 4 ... s, at most the second
POLL_MS = 10 * SECOND_MS

# What is kept, and how long
HISTORY_TURNS = 256
HISTORY_MS = DAY_MS
RUN_MS = 30 * DAY_MS
BLOB_MS = DAY_MS

# Schedules
SCHEDULE_EVERY_MIN_MS = 5 * MINUTE_MS
SCHEDULE_JITTER_MS = HOUR_MS
SCHEDULE_LATE_MS = MINUTE_MS  # with `missed: none`, a slot older than this is not sent any more
SCHEDULE_LOOK_BACK_MS = 31 * DAY_MS  # slots missed before this are not counted

# Streams of events
EVENTS_PER_REQUEST = 500
EVENT_ID_CHARS = 128
EVENT_BYTES = 64 * KIB
EVENT_BATCH_BYTES = 4 * MIB  # of one message's events together
EVENT_KNOWN_MS = DAY_MS  # how long an event's id is told apart
EVENT_KNOWN_IDS = 100_000  # of one workflow; the oldest are forgotten first
STREAM_PENDING = 100_000

INT_MAX = 2**53 - 1  # integers of the protocol itself; integers inside user JSON have no such bound
