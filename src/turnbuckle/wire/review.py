"""A question to a person and its answer (lbb-graph 4). Users' texts may hold any character; ids may not."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, Count, Json, Name, PageLimit, Request, TurnNumber
from turnbuckle.wire.commit import EntityPropertiesInput, ReplaceOwned, TripletInput

ReviewKind = Literal["value", "choice", "grade", "answer"]
ReviewScope = Literal["live", "test"]  # what a test item's answer says is written nowhere
ReviewStatus = Literal["open", "answered", "withdrawn"]
ReviewDecisionWord = Literal["accept", "reject", "correct", "choose", "cant_tell"]
ReviewDeliveryState = Literal["none", "pending", "sent", "dropped"]

_END = r"$(?!\n)"  # see wire/base.py
# Printable, without the comma that separates keys in a list's query; not blank (lbb-graph 9, row 14).
KEY_PATTERN = r"^[^\x00-\x1f\x7f-\x9f,]*[^\s\x00-\x1f\x7f-\x9f,][^\x00-\x1f\x7f-\x9f,]*" + _END
OPTION_PATTERN = r"^[A-Za-z0-9_.:-]{1,64}" + _END
SIGNAL_PATTERN = r"^([A-Za-z0-9_.-]{1,128})?" + _END
ReviewKey = Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_KEY_CHARS, pattern=KEY_PATTERN)]
OptionId = Annotated[str, Meta(pattern=OPTION_PATTERN)]
ReviewId = Annotated[str, Meta(max_length=64)]
Label = Annotated[str, Meta(max_length=limits.REVIEW_LABEL_CHARS)]
Share = Annotated[float, Meta(ge=0, le=1)]
_Text = Annotated[str, Meta(max_length=limits.REVIEW_KEY_CHARS)]
_Note = Annotated[str, Meta(max_length=limits.REVIEW_NOTE_CHARS)]
_Comment = Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_COMMENT_CHARS)]

# -- what is asked -----------------------------------------------------------------------------------------------


class ReviewOption(Request, frozen=True, kw_only=True):
    id: OptionId
    label: Label


class ReviewQuestion(Request, omit_defaults=True, frozen=True, kw_only=True):
    """Which fields belong to which kind is told by `engine.review.check_question`."""

    property: Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_KEY_CHARS)] | None = None  # value
    value: Json | UnsetType = UNSET  # value: what is proposed
    unit: Label | None = None  # value
    confidence: Share | None = None  # value, choice
    options: Annotated[list[ReviewOption], Meta(min_length=1, max_length=limits.REVIEW_OPTIONS)] | None = None
    proposed: OptionId | None = None  # choice, grade: one of the options
    output: Json | UnsetType = UNSET  # grade: what is graded
    prompt: Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_TEXT_CHARS)] | None = None  # answer


class ReviewOrigin(Request, omit_defaults=True, frozen=True, kw_only=True):
    kind: Literal["integration", "agent", "person"]
    id: _Text | None = None
    label: Label | None = None


class ReviewSubject(Request, omit_defaults=True, frozen=True, kw_only=True):
    """The record that is asked about."""

    iri: Annotated[str, Meta(max_length=limits.REVIEW_IRI_CHARS)] | None = None
    type: _Text | None = None
    name: Annotated[str, Meta(max_length=limits.REVIEW_IRI_CHARS)] | None = None
    key: Annotated[str, Meta(max_length=limits.REVIEW_IRI_CHARS)] | None = None


class ReviewEvidence(Request, omit_defaults=True, frozen=True, kw_only=True):
    quote: Annotated[str, Meta(max_length=limits.REVIEW_TEXT_CHARS)]
    source_id: _Text | None = None
    confidence: Share | None = None
    region: Json | UnsetType = UNSET


class ReviewFacts(Request, omit_defaults=True, frozen=True, kw_only=True):
    """What an accept writes: the rows of a commit. At most 200 rows and edges together, 64 KiB."""

    entity_properties: list[EntityPropertiesInput] | None = None
    triplets: list[TripletInput] | None = None
    replace_owned: ReplaceOwned | None = None
    required: list[Json] | None = None
    summary: Annotated[str, Meta(max_length=limits.REVIEW_SUMMARY_CHARS)] | None = None


class ReviewWorkflow(Request, omit_defaults=True, frozen=True, kw_only=True):
    """Who asks."""

    name: Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_KEY_CHARS)]
    identity: Name | None = None
    turn: TurnNumber | None = None
    run: _Text | None = None
    step: _Text | None = None


class ReviewWait(Request, frozen=True, kw_only=True):
    """The turn that waits. The server names the signal: `review.<item id>`."""

    identity: Name
    turn: Annotated[int, Meta(ge=1, le=limits.INT_MAX)]
    signal: Annotated[str, Meta(pattern=SIGNAL_PATTERN)] = ""


class ReviewCreateRequest(Request, frozen=True, kw_only=True):
    kind: ReviewKind
    title: Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_LABEL_CHARS)]
    question: ReviewQuestion
    origin: ReviewOrigin
    key: ReviewKey | None = None  # absent: derived from kind, subject and question
    subject: ReviewSubject | None = None
    evidence: Annotated[list[ReviewEvidence], Meta(max_length=limits.REVIEW_EVIDENCE)] | None = None
    evidence_hash: Annotated[str, Meta(max_length=128)] | None = None  # mark of what was read
    rationale: Annotated[str, Meta(max_length=limits.REVIEW_TEXT_CHARS)] | None = None
    facts: ReviewFacts | None = None
    scope: ReviewScope = "live"
    workflow: ReviewWorkflow | None = None
    wait: ReviewWait | None = None
    eval: Json | UnsetType = UNSET


# -- what is answered --------------------------------------------------------------------------------------------


class ReviewDecision(Request, frozen=True, kw_only=True):
    """What a person says; who and when is set by the server."""

    decision: ReviewDecisionWord
    value: Json | UnsetType = UNSET  # of `correct`
    option: OptionId | None = None  # of `choose`
    note: _Note | None = None


class ReviewAnswer(Answer, frozen=True, kw_only=True):
    """The answer as it is stored, and as a waiting turn gets it."""

    decision: ReviewDecisionWord
    value: Json | UnsetType = UNSET
    option: str | None = None
    note: str | None = None
    by: str | None = None
    at: str | None = None  # RFC 3339


class ReviewDelivery(Answer, frozen=True, kw_only=True):
    """How far the news of an answer has come."""

    state: ReviewDeliveryState
    attempts: Count | None = None
    error: str | None = None
    sent_to: list[str] | None = None  # `signal`, `trigger:<workflow>`


class ReviewEffects(Answer, frozen=True, kw_only=True):
    """What an answer did: the commit, and the delivery that follows it."""

    commit_key: str | None = None
    commit_seq: Count | None = None
    commit_error: str | None = None
    commit_attempts: Count | None = None
    next_attempt_at: str | None = None  # RFC 3339
    no_op: bool | None = None
    request_id: str | None = None
    delivery: ReviewDelivery | None = None


class ReviewComment(Answer, frozen=True, kw_only=True):
    text: str
    by: str
    at: str  # RFC 3339
    author: str | None = None


class ReviewItem(Answer, frozen=True, kw_only=True):
    object: Literal["review_item"]
    id: str
    key: str
    kind: ReviewKind
    scope: ReviewScope
    status: ReviewStatus
    revision: Count
    title: str
    question: ReviewQuestion
    origin: ReviewOrigin
    created: str  # RFC 3339
    updated: str
    subject: ReviewSubject | None = None
    evidence: list[ReviewEvidence] | None = None
    evidence_hash: str | None = None
    rationale: str | None = None
    workflow: ReviewWorkflow | None = None
    wait: ReviewWait | None = None  # of the newest asker
    waiting: Count | None = None  # ours: how many turns wait for the answer, when more than one
    answer: ReviewAnswer | None = None
    previous_answer: ReviewAnswer | None = None
    withdrawn_reason: str | None = None  # ours
    effects: ReviewEffects | None = None
    comments: list[ReviewComment] | None = None
    facts: ReviewFacts | None = None
    eval: Json | UnsetType = UNSET
    suggestion_id: str | None = None


# -- requests and answers of the routes --------------------------------------------------------------------------


class ReviewsQuery(Request, frozen=True, kw_only=True):
    """Lists are separated by commas."""

    status: str | None = None
    kind: str | None = None
    scope: ReviewScope | None = None
    origin_id: str | None = None
    workflow: str | None = None
    run: str | None = None
    key: str | None = None  # at most 100
    eval_id: str | None = None
    limit: PageLimit = limits.PAGE_DEFAULT
    cursor: str | None = None


class ReviewsResponse(Answer, frozen=True, kw_only=True):
    """Latest update first; texts are cut to 300 characters, facts and comments left out."""

    object: Literal["list"]
    data: list[ReviewItem]
    has_more: bool
    next_cursor: str | None = None


class ReviewQuery(Request, frozen=True, kw_only=True):
    id: ReviewId


class ReviewAnswerRequest(Request, frozen=True, kw_only=True):
    answer: ReviewDecision
    revision: Count | None = None  # of the question that was read
    comment: _Comment | None = None
    edits: Json | UnsetType = UNSET  # only items of kind `change` have what could be edited; none is filed here


class ReviewAnswerBatchRequest(Request, frozen=True, kw_only=True):
    ids: Annotated[list[ReviewId], Meta(min_length=1, max_length=limits.REVIEW_BATCH)]
    answer: ReviewDecision
    shown: dict[str, Count] | None = None  # revision of each item as it was read; another one is skipped
    pattern: str | None = None  # only items of this group


class ReviewBatchResult(Answer, frozen=True, kw_only=True):
    id: str
    answered: bool
    status: ReviewStatus | None = None
    reason: str | None = None  # why it was skipped: an error's code and sentence


class ReviewAnswerBatchResponse(Answer, frozen=True, kw_only=True):
    batch_id: str
    answered: Count
    skipped: Count
    results: list[ReviewBatchResult]


class ReviewWithdrawRequest(Request, frozen=True, kw_only=True):
    reason: Annotated[str, Meta(min_length=1, max_length=limits.REVIEW_NOTE_CHARS)]


class ReviewCommentRequest(Request, frozen=True, kw_only=True):
    text: _Comment
    author: Label | None = None


class ReviewPatternsQuery(Request, frozen=True, kw_only=True):
    status: ReviewStatus = "open"
    origin_id: str | None = None
    type: str | None = None
    eval_id: str | None = None


class ReviewPattern(Answer, frozen=True, kw_only=True):
    """Items that ask the same about records of one type."""

    id: str
    kind: ReviewKind
    count: Count
    type: str | None = None
    property: str | None = None
    origin_id: str | None = None


class ReviewPatternsResponse(Answer, frozen=True, kw_only=True):
    object: Literal["list"]
    data: list[ReviewPattern]  # largest group first, at most 200
    has_more: bool
