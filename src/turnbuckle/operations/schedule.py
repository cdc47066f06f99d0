"""The trigger `schedule`: a message when the clock says so (lbb-graph 5.4)."""

import itertools
from typing import cast

import msgspec
from msgspec.structs import replace

from turnbuckle.graph import schedule as rules
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named
from turnbuckle.graph.schedule import Schedule
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.progress import Progress
from turnbuckle.operations.sender import Sender
from turnbuckle.store import schedule as schedules
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.named import NamedWorkflowTrigger
from turnbuckle.wire.schedule import WorkflowScheduleMessage, WorkflowScheduleSettings
from turnbuckle.wire.turn import WorkflowMessageOrigin
from turnbuckle.wire.watch import WorkflowQueueQuery, WorkflowQueueResponse

_SHARD = 0  # a slot is one message
_SLOTS_SHOWN = 20


def resolve(tx: Transaction, head: GraphHead, asked: msgspec.Struct, param: str) -> bytes:
    settings = cast(WorkflowScheduleSettings, asked)
    rules.check(settings, param, tx.now_ms)
    return msgspec.json.encode(settings)


def settings_of(named: Named) -> WorkflowScheduleSettings:
    return msgspec.json.decode(named.settings, type=WorkflowScheduleSettings)


# -- its life ----------------------------------------------------------------------------------------------------


def begin(tx: Transaction, head: GraphHead, named: Named) -> None:
    """From now on; what is committed already counts as seen."""
    due_at_ms = rules.next_due_at_ms(settings_of(named), named.name, tx.now_ms)
    schedules.add(tx, Schedule(named.graph_id, named.name, tx.now_ms, due_at_ms, head.head_seq))


def change(tx: Transaction, head: GraphHead, old: Named, new: Named) -> None:
    """Other times count from now on."""
    stored = _get(tx, new)
    if old.settings != new.settings:
        due_at_ms = rules.next_due_at_ms(settings_of(new), new.name, tx.now_ms)
        schedules.save(tx, stored, replace(stored, handled_ms=tx.now_ms, due_at_ms=due_at_ms))


def end(tx: Transaction, named: Named) -> None:
    schedules.delete(tx, named.graph_id, named.name)


def run_now(tx: Transaction, head: GraphHead, named: Named, caller: Caller) -> None:
    """One message now, beside the slots. A repeat before it was sent changes nothing."""
    stored = _get(tx, named)
    schedules.save(tx, stored, replace(stored, is_asked=1, asked_by=caller.by.encode(), due_at_ms=tx.now_ms))


def _get(tx: Transaction, named: Named) -> Schedule:
    found = schedules.get(tx, named.graph_id, named.name)
    if found is None:
        raise LookupError(f"the workflow {named.name} lacks its schedule")
    return found


# -- its work ----------------------------------------------------------------------------------------------------


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    return schedules.waiting(tx)


def advance(tx: Transaction, head: GraphHead, named: Named, most: int) -> bool:
    """Send what is due. While the shard's window is full the slots that pass become missed ones of the next message."""
    stored, settings, sender = _get(tx, named), settings_of(named), Sender(tx, named)
    if sender.room(_SHARD) <= 0:
        sender.hold(_SHARD)
        sender.save()
        return False
    sender.free(_SHARD)
    after = _send_asked(tx, head, named, stored, sender) if stored.is_asked else stored
    due = rules.due(settings, named.name, after.handled_ms, tx.now_ms)
    if due is None:
        after = replace(after, due_at_ms=rules.next_due_at_ms(settings, named.name, after.handled_ms))
    elif sender.room(_SHARD) > 0:  # else at the next look
        if due.is_told:
            _send(head, named, after, sender, due.slot_ms, due.missed, _slot_origin(named, due.slot_ms))
        after = rules.told(after, settings, due, head.head_seq)
    schedules.save(tx, stored, after)
    sender.save()
    return False


def _send_asked(tx: Transaction, head: GraphHead, named: Named, schedule: Schedule, sender: Sender) -> Schedule:
    by = None if schedule.asked_by is None else schedule.asked_by.decode() or None
    origin = WorkflowMessageOrigin(kind="manual", trigger=named.trigger_id, actor=by, due_at_ms=tx.now_ms)
    _send(head, named, schedule, sender, tx.now_ms, 0, origin, is_manual=True)
    return replace(schedule, is_asked=0, asked_by=None, through_seq=head.head_seq)


def _slot_origin(named: Named, slot_ms: int) -> WorkflowMessageOrigin:
    return WorkflowMessageOrigin(kind="schedule", trigger=named.trigger_id, due_at_ms=slot_ms)


def _send(
    head: GraphHead,
    named: Named,
    schedule: Schedule,
    sender: Sender,
    due_at_ms: int,
    missed: int,
    origin: WorkflowMessageOrigin,
    is_manual: bool = False,
) -> None:
    message = WorkflowScheduleMessage(
        workflow=named.name,
        trigger=named.trigger_id,
        graph=head.name,
        due_at=due_at_ms,
        previous_due_at=schedule.told_ms,
        missed=missed,
        since_commit_seq=schedule.through_seq,
        as_of_commit_seq=head.head_seq,
        changed=head.head_seq > schedule.through_seq,
        manual=is_manual,
        origin=msgspec.Raw(msgspec.json.encode(origin)),
    )
    sender.send(_SHARD, msgspec.json.encode(message), origin)


# -- for a reader ------------------------------------------------------------------------------------------------


def pending(tx: Transaction, named: Named) -> int:
    return _get(tx, named).is_asked


def shown(tx: Transaction, head: GraphHead, named: Named) -> NamedWorkflowTrigger:
    """With the slots to come, so that a person sees what the zone and the policies mean."""
    settings = settings_of(named)
    coming = itertools.islice(rules.slots(settings, tx.now_ms), _SLOTS_SHOWN)
    return NamedWorkflowTrigger(id=named.trigger_id, kind="schedule", schedule=settings, next_at_ms=list(coming))


def progress(tx: Transaction, head: GraphHead, named: Named) -> Progress:
    schedule = _get(tx, named)
    return Progress(
        pending=schedule.is_asked,
        counters={"missed": schedule.missed},
    )


def queue(tx: Transaction, head: GraphHead, named: Named, query: WorkflowQueueQuery) -> WorkflowQueueResponse:
    """No instances wait for a schedule; the shards' turns are what there is to see."""
    return WorkflowQueueResponse(
        object="list",
        data=[],
        has_more=False,
        name=named.name,
        trigger=named.trigger_id,
        pending=_get(tx, named).is_asked,
    )
