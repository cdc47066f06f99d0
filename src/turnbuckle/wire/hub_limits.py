"""Every limit of the hub's API, in one place. Source: blobhub 2.7, 3.8, 3.9, 5.5 and 7.2, decisions 11 and 38.

Sizes are bytes of UTF-8 JSON, times are milliseconds. What an owner can change per blob is in hub/limits.py.
"""

from turnbuckle.wire.limits import DAY_MS, KIB, MIB, MINUTE_MS, SECOND_MS

# Names
ALIAS_PATTERN = r"^[a-z0-9_-]{6,42}$"  # of a session, a definition or a schedule; not shaped like an id
OBJECT_ALIAS_CHARS = 256
REFERENCE_PART_CHARS = 64
COMMENT_CHARS = (1, 200)  # of a revision
DESCRIPTION_CHARS = 256
NAME_CHARS = 256  # of a file, a content type, an element's label

# Pages
PAGE_DEFAULT = 10  # rows when `limit` is left out
PAGE_MAX = 1_000
REVISIONS_PAGE_DEFAULT = 50
REVISIONS_PAGE_MAX = 200
CURSOR_CHARS = 512

# Sizes
DOCUMENT_BYTES = 10 * MIB  # of a definition
VALUE_BYTES = MIB  # of one data value
INLINE_VALUE_BYTES = 32 * KIB  # a larger output goes to a blob
EVENT_BYTES = 64 * KIB
THREAD_ITEM_BYTES = 64 * KIB - 1
FILE_BYTES = 4 * MIB
INPUTS_PER_EXECUTION = 1_000

# A run
COMPONENT_ENTRIES = 1_000
EXECUTING_MS = 900 * SECOND_MS  # parked time does not count
CODE_MS = MINUTE_MS  # one code component
STOP_GRACE_MS = 5 * SECOND_MS  # for the component that runs when its run is stopped
SCOPE_DEPTH = 8  # loops and parallel branches, one inside the other
CHILD_DEPTH = 5  # executions started by executions
SESSION_KEPT_MS = 7 * DAY_MS  # a session without alias, after its last run ended

# Session graphs
GRAPH_OPERATIONS = 1_000  # in one call
GRAPH_ELEMENT_BYTES = 64 * KIB
GRAPH_IDS = 1_000  # that one call may name
GRAPH_STEPS = 64  # of a query
GRAPH_TRAVERSAL = 100_000  # elements that one query may look at
