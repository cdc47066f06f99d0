"""The rows of the second API, one struct for each table of 0009_hub.sql. Times are Unix microseconds.

JSON and texts that users choose freely are UTF-8 bytes.
"""

import msgspec


class Org(msgspec.Struct, frozen=True):
    graph_id: str
    org_id: str
    alias: str
    created_at_us: int


class Blob(msgspec.Struct, frozen=True):
    graph_id: str
    blob_id: str
    org_id: str
    alias: str
    type: str
    visibility: str
    status: str
    default_revision_id: str | None
    revisions: int
    limits: bytes
    created_at_us: int
    updated_at_us: int


class Revision(msgspec.Struct, frozen=True):
    graph_id: str
    revision_id: str
    blob_id: str
    number: int
    phase: str
    status: str
    comment: bytes | None
    parent_id: str | None
    failed_operation: str | None
    workflows: int
    playgrounds: int
    sessions: int
    created_at_us: int
    updated_at_us: int


class Operation(msgspec.Struct, frozen=True):
    graph_id: str
    operation_id: str
    revision_id: str
    type: str
    status: str
    created_at_us: int
    updated_at_us: int


class Definition(msgspec.Struct, frozen=True):
    graph_id: str
    definition_id: str
    revision_id: str
    category: str
    alias: str
    layout: bytes | None
    sha256: str
    created_at_us: int
    updated_at_us: int


class Session(msgspec.Struct, frozen=True):
    graph_id: str
    session_id: str
    revision_id: str
    alias: str | None
    description: bytes | None
    status: str
    user_id: str
    executions: int
    last_at_us: int
    sequence: int
    created_at_us: int
    updated_at_us: int


class Execution(msgspec.Struct, frozen=True):
    graph_id: str
    execution_id: str
    session_id: str
    revision_id: str
    number: int
    definition_id: str
    definition_alias: str
    source: bytes
    workflow: bytes
    input_data: bytes
    sha256: str | None
    user_id: str
    trigger_by: bytes
    settings: bytes
    parent_id: str | None
    depth: int
    status: str
    stop_by_us: int | None
    stop_reason: str | None
    error: bytes | None
    last_at_us: int
    events: int
    created_at_us: int
    updated_at_us: int
    started_at_us: int | None
    ended_at_us: int | None
    is_told: int


class Event(msgspec.Struct, frozen=True):
    graph_id: str
    execution_id: str
    created_at_us: int
    sequence: int
    event_id: str
    type: str
    message: bytes | None
    attributes: bytes | None
    data_id: str | None


class Data(msgspec.Struct, frozen=True):
    graph_id: str
    execution_id: str
    sequence: int
    data_id: str
    component_id: bytes | None
    component_key: bytes | None
    value: bytes
    created_at_us: int


class Wait(msgspec.Struct, frozen=True):
    graph_id: str
    topic: str
    instance_id: str
    turn: int
    signal: str
    not_by: str | None


class SessionEvent(msgspec.Struct, frozen=True):
    graph_id: str
    session_id: str
    created_at_us: int
    sequence: int
    event_id: str
    type: str
    body: bytes


class Object(msgspec.Struct, frozen=True):
    graph_id: str
    session_id: str
    alias: str
    type: str
    value: bytes
    file: bytes | None
    updated_at_us: int


class ThreadItem(msgspec.Struct, frozen=True):
    graph_id: str
    session_id: str
    alias: str
    created_at_us: int
    sequence: int
    item_id: str
    user_id: str
    content: bytes
    parent_id: bytes | None
    metadata: bytes | None


class Element(msgspec.Struct, frozen=True):
    graph_id: str
    session_id: str
    alias: str
    element_id: str
    type: str
    labels: bytes
    from_id: str | None
    to_id: str | None
    props: bytes
    rev: int
    user_id: str
    created_at_us: int
    created_sequence: int
    updated_at_us: int
    updated_sequence: int


class HubSchedule(msgspec.Struct, frozen=True):
    graph_id: str
    schedule_id: str
    revision_id: str
    number: int
    alias: str | None
    fields: bytes
    owner: bytes
    state: str
    due_at_us: int | None
    fires: int
    created_at_us: int
    updated_at_us: int


class Fire(msgspec.Struct, frozen=True):
    graph_id: str
    schedule_id: str
    number: int
    fire_id: str
    target: bytes
    status: str
    result: bytes
    created_at_us: int


class AnonymousToken(msgspec.Struct, frozen=True):
    token_hash: bytes
    kind: str
    environment: str
    user_id: str
    expires_at_ms: int


ROWS: dict[str, type[msgspec.Struct]] = {
    "hub_org": Org,
    "hub_blob": Blob,
    "hub_revision": Revision,
    "hub_operation": Operation,
    "hub_definition": Definition,
    "hub_session": Session,
    "hub_execution": Execution,
    "hub_event": Event,
    "hub_data": Data,
    "hub_wait": Wait,
    "hub_session_event": SessionEvent,
    "hub_object": Object,
    "hub_thread_item": ThreadItem,
    "hub_graph_element": Element,
    "hub_schedule": HubSchedule,
    "hub_schedule_fire": Fire,
    "anonymous_token": AnonymousToken,
}
