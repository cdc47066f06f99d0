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
EVENTS_PER_STEP = 1_000  # of an execution's log, with one request of its turn
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
EFFECT_PATTERN = r"^[A-Za-z0-9_.:/-]{1,200}$"
EFFECT_TARGET_CHARS = 512
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

# Model calls
PROMPT_CHARS = 200_000  # prompt and system together
SCHEMA_BYTES = 64 * KIB
ANSWER_TOKENS = (1, 32_000)
ANSWER_TOKENS_DEFAULT = 8_000
DECISION_STATE_CHARS = 200_000
QUESTIONS = (1, 64)
OPTIONS = (2, 64)  # per question
OPTION_PATTERN = r"^[A-Za-z0-9_.-]{1,64}$"  # question and option ids
TEXTS = (1, 256)  # embedded by one call
TEXT_CHARS = (1, 8_000)
EFFECT_PATTERN = r"^[A-Za-z0-9_.:/-]{1,200}$"
LABEL_CHARS = 64
ACTIVITY_BODY_BYTES = 25 * MIB  # 256 texts of 8,000 characters, each written as two escapes
CHAT_MESSAGES = 1_000
CHAT_CHARS = 400_000  # of all messages together
HTTP_URL_CHARS = 8_000
HTTP_HEADERS = 64
HTTP_TIMEOUT_S = (1, 120)
CALL_INSTANCE_CHARS = 512  # what a call works on
CALL_SUMMARY_CHARS = 160
CALL_BYTES = 64 * KIB  # the input, and the output, that the log of calls keeps
CALLS_PAGE_MAX = 100
CALL_LEASE_MS = 15 * SECOND_MS  # of a call on its way; its server renews it
CALL_WAIT_MS = 5 * MINUTE_MS  # for the same request on its way

# What is kept, and how long
HISTORY_TURNS = 256
HISTORY_MS = DAY_MS
RUN_MS = 30 * DAY_MS
CALL_MS = 31 * DAY_MS  # the log of model calls
ACTIVITY_MS = 30 * DAY_MS  # a stored answer, at least; longer while its turn is there
BLOB_MS = DAY_MS

# Watches and named workflows
WATCH_PATH_CHARS = 512
WATCH_NAME_CHARS = 128
WATCH_FIELDS = 64
WATCH_BATCH_MAX = 64  # instances in one message
WATCH_BATCH_DEFAULT = 16
OWNED_NAMES = 64
SHARDS_MAX = 16
WINDOW_MAX = 128  # unfinished messages of a shard
WINDOW_DEFAULT = 4
REQUEUE_ITEMS = 64
REQUEUE_DELAYS_MS = (MINUTE_MS, 4 * MINUTE_MS, 16 * MINUTE_MS)  # before attempt 1, 2 and 3
QUEUE_PAGE_MAX = 100
NAMED_PAGE = 100
IRI_CHARS = 2_048

# Schedules
SCHEDULE_EVERY_MIN_MS = 5 * MINUTE_MS
SCHEDULE_JITTER_MS = HOUR_MS
SCHEDULE_LATE_MS = MINUTE_MS  # with `missed: none`, a slot older than this is not sent any more
SCHEDULE_LOOK_BACK_MS = 31 * DAY_MS  # slots missed before this are not counted

# Streams of events
EVENTS_PER_REQUEST = 500
EVENTS_BYTES = 8 * MIB  # of one request
EVENT_ID_CHARS = 128
EVENT_BYTES = 64 * KIB
EVENT_BATCH_BYTES = 4 * MIB  # of one message's events together
EVENT_KNOWN_MS = DAY_MS  # how long an event's id is told apart
EVENT_KNOWN_IDS = 100_000  # of one workflow; the oldest are forgotten first
STREAM_PENDING = 100_000

# Reviews
REVIEW_KEY_CHARS = 255  # of an item's key, and of names in it
REVIEW_LABEL_CHARS = 200  # title, an option's label
REVIEW_NOTE_CHARS = 1_000  # an answer's note, the reason of a withdrawal
REVIEW_TEXT_CHARS = 4_000  # rationale, prompt, one quote
REVIEW_COMMENT_CHARS = 4_000
REVIEW_SUMMARY_CHARS = 500
REVIEW_IRI_CHARS = 2_000
REVIEW_ITEM_BYTES = 256 * KIB  # question, subject, evidence and the like of one item together
REVIEW_FACTS_BYTES = 64 * KIB
REVIEW_ANSWER_BYTES = 32 * KIB  # it travels as a signal, and in the output of the step that reads its item
REVIEW_FACTS_ROWS = 200
REVIEW_OPTIONS = 100
REVIEW_EVIDENCE = 100
REVIEW_COMMENTS = 1_000  # of one item
REVIEW_BATCH = 500
REVIEW_KEYS = 100  # that one list may name
REVIEW_CUT_CHARS = 300  # of a text in a list
REVIEW_WRITE_ATTEMPTS = 12  # of an answer's commit that meets an error of the server, about 8 minutes

# Graphs
TERM_CHARS = 128  # of a class, property or relation
TERMS_PER_OP = 256
ALLOWED_VALUES = 1_000
OPS_PER_EVOLVE = 1_000
NAME_CHARS = 1_024  # of a record's display name or key
VALUE_BYTES = 256 * KIB  # one field's value
EVIDENCE_CHARS = 16_000
COMMIT_BYTES = 8 * MIB
COMMIT_ROWS = 10_000  # triplets, and property rows, in one commit
FIELDS_PER_ROW = 1_000
OWNED_RECORDS = 1_000  # subjects and retracted records together; names: OWNED_NAMES
IDEMPOTENCY_KEY_CHARS = 256
IMPORT_BYTES = 64 * MIB
IMPORT_LINE_BYTES = MIB
IMPORT_BATCH_MAX = 1_000
IMPORT_BATCH_DEFAULT = 500
IMPORT_ERRORS = 100  # told; more are counted
ENTITY_EDGES_MAX = 10_000
ENTITY_EVIDENCE_MAX = 20
ENTITY_HISTORY = 100
GRAPHS_PAGE_MAX = 1_000

# SPARQL and RDF
SPARQL_CHARS = 256 * KIB  # of a query
SPARQL_PAGE_ROWS = 10_000  # of one answer; also what is sent without `limit`
SPARQL_ROWS = 250_000  # of a whole answer: its rows are counted to the end
SPARQL_RESULT_BYTES = 32 * MIB  # of one page
SPARQL_MS = 10 * SECOND_MS  # a query that runs longer is ended
SPARQL_WAIT_MS = 10 * SECOND_MS  # for the index to have a commit, or for a place among running queries
RDF_BYTES = 64 * MIB  # of an imported document
RDF_BATCH_MAX = 1_000  # statements in one commit
RDF_ERRORS = 100  # of an import, told with their places
RDF_UPDATE_BYTES = 2 * MIB
RDF_DEPTH = 100  # of brackets in an update, of triple terms in a document

INT_MAX = 2**53 - 1  # integers of the protocol itself; integers inside user JSON have no such bound
