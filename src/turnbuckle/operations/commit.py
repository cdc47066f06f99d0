"""Commits of records: written, tried without writing, and taken back (lbb-graph 2.5 to 2.9)."""

from collections.abc import Iterable

from msgspec.structs import replace

from turnbuckle.graph import asked as asking
from turnbuckle.graph import commit as rules
from turnbuckle.graph.asked import Asked, Link, Owned
from turnbuckle.graph.commit import Plan, Present
from turnbuckle.graph.fact import Fact
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.log import CommitKey
from turnbuckle.graph.ontology import Ontology
from turnbuckle.graph.reference import refused, resolve
from turnbuckle.operations import commit_log, effect, ontology
from turnbuckle.operations.caller import Caller
from turnbuckle.store import change, edge, entity, fact
from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.commit import (
    GraphCommitDryRunResponse,
    GraphCommitFacts,
    GraphCommitQuery,
    GraphCommitRequest,
    GraphCommitResponse,
    GraphRetractRequest,
    GraphRetractResponse,
)
from turnbuckle.wire.errors import Refused


def post(
    tx: Transaction, graph_id: str, query: GraphCommitQuery, body: GraphCommitRequest, caller: Caller
) -> GraphCommitResponse | GraphCommitDryRunResponse:
    return dry_run(tx, graph_id, body, caller) if query.dry_run else commit(tx, graph_id, body, caller)


def commit(tx: Transaction, graph_id: str, body: GraphCommitRequest, caller: Caller) -> GraphCommitResponse:
    """Write all of it, or nothing. A key that was committed before is answered as it was then."""
    key, body_hash = commit_log.key_of(caller), commit_log.hash_of(replace(body, workflow_fence=None))
    head = commit_log.lock(tx, graph_id, caller)
    known = commit_log.known(tx, head, key, body_hash)
    if known is not None:
        # The attempt before may have ended without its answer.
        effect.confirm(tx, caller, "commit", caller.idempotency_key or "")
        return _replay(known)
    if body.workflow_fence is not None:
        commit_log.check_fence(tx, graph_id, body.workflow_fence)
    observed_at_ms, plan = commit_log.observed_at_ms(body.observed_at), _plan(tx, head, body)
    effect.confirm(tx, caller, "commit", caller.idempotency_key or "")
    if plan.is_empty:
        return _answer(plan, commit_log.remember(tx, head, key, body_hash, None))
    after = commit_log.advance(tx, head, caller, observed_at_ms=observed_at_ms, fence=body.workflow_fence)
    save(tx, plan, after.head_seq)
    written = commit_log.Written(len(plan.changes), len(plan.new_edges))
    return _answer(plan, commit_log.remember(tx, after, key, body_hash, written))


def dry_run(tx: Transaction, graph_id: str, body: GraphCommitRequest, caller: Caller) -> GraphCommitDryRunResponse:
    """Every check of the commit but key and fence; nothing is written."""
    head = graphs.head(tx, graph_id)
    if head is None:
        raise commit_log.missing(caller)
    commit_log.observed_at_ms(body.observed_at)
    plan = _plan(tx, head, body)
    return GraphCommitDryRunResponse(
        dry_run=True,
        op_count=len(plan.new_edges) + plan.row_count,
        triplets=len(plan.new_edges),
        entity_properties=plan.row_count,
        written_properties=list(plan.written),
        owned=plan.owned,
        skipped_edges=list(plan.skipped_edges) or None,
        skipped_entities=list(plan.skipped_entities) or None,
    )


def _plan(tx: Transaction, head: GraphHead, body: GraphCommitRequest) -> Plan:
    commit_log.check_takes_records(head)
    commit_log.check_preconditions(head, body.preconditions)
    declared = ontology.load(tx, head)
    asked = asking.ask(declared, body)
    return plan_of(tx, head, declared, asked)


def plan_of(
    tx: Transaction, head: GraphHead, declared: Ontology, asked: Asked, bad: list[Refused] | None = None
) -> Plan:
    present = _present(tx, head.graph_id, asked)
    return rules.plan(asked, present, declared, head.graph_id, head.head_seq + 1, bad)


def _present(tx: Transaction, graph_id: str, asked: Asked) -> Present:
    """What is there around the records that the commit names."""
    wanted = rules.wanted(asked)
    edges = edge.out_of(tx, graph_id, wanted.edges_out) if wanted.edges_out else []
    edges += edge.into(tx, graph_id, wanted.edges_in) if wanted.edges_in else []
    # The feed names the class of every record whose links end, also of one that is not named itself.
    entities = entity.current(tx, graph_id, wanted.entities | {one.source_id for one in edges})
    missing = wanted.entities - entities.keys()
    gone = frozenset(entity.known(tx, graph_id, missing)) if missing else frozenset()
    facts = _by_record(fact.current(tx, graph_id, wanted.facts & entities.keys())) if wanted.facts else {}
    return Present(entities, gone, facts, tuple(edges))


def _by_record(facts: Iterable[Fact]) -> dict[str, dict[str, Fact]]:
    found: dict[str, dict[str, Fact]] = {}
    for one in facts:
        found.setdefault(one.entity_id, {})[one.property_id] = one
    return found


def save(tx: Transaction, plan: Plan, seq: int) -> None:
    """Write the plan's rows; commit `seq` is numbered and announced already."""
    entity.end(tx, plan.ended_entities, seq)
    fact.end(tx, plan.ended_facts, seq)
    edge.end(tx, plan.ended_edges, seq)
    entity.add(tx, plan.new_entities)
    fact.add(tx, plan.new_facts)
    edge.add(tx, plan.new_edges)
    change.add(tx, plan.changes)


# -- answers -----------------------------------------------------------------------------------------------------


def _answer(plan: Plan, answered: CommitKey) -> GraphCommitResponse:
    is_no_op = bool(answered.no_op)
    facts = GraphCommitFacts(
        commit_seq=answered.commit_seq,
        entity_ids=[one.entity_id for one in plan.changes],
        edge_event_ids=[one.event_id for one in plan.new_edges],
        observation_ids=[one.event_id for one in plan.new_edges if one.evidence is not None],
        idempotent_replay=False,
        visibility_token=commit_log.token(answered.commit_seq),
        skipped_edges=list(plan.skipped_edges) or None,
    )
    return replace(
        _counted(answered, facts, is_replay=False),
        written_properties=[] if is_no_op else list(plan.written),
        owned=plan.owned,
        skipped_entities=list(plan.skipped_entities) or None,
    )


def _replay(answered: CommitKey) -> GraphCommitResponse:
    facts = GraphCommitFacts(
        commit_seq=answered.commit_seq,
        entity_ids=[],
        edge_event_ids=[],
        observation_ids=[],
        idempotent_replay=True,
        visibility_token=commit_log.token(answered.commit_seq),
    )
    return _counted(answered, facts, is_replay=True)


def _counted(answered: CommitKey, facts: GraphCommitFacts, *, is_replay: bool) -> GraphCommitResponse:
    return GraphCommitResponse(
        commit_seq=answered.commit_seq,
        idempotency_key=answered.key.decode(),
        replayed=is_replay,
        graph_created=bool(answered.graph_created),
        entities_written=answered.entities_written,
        edges_written=answered.edges_written,
        visibility_token=facts.visibility_token,
        written_properties=[],
        commit=facts,
        no_op=True if answered.no_op else None,
    )


# -- taking back -------------------------------------------------------------------------------------------------


def retract(tx: Transaction, graph_id: str, body: GraphRetractRequest, caller: Caller) -> GraphRetractResponse:
    """End links, every copy of each, and records with all they have, in one commit."""
    if body.purge_entity_properties is False:
        what = "purge_entity_properties: got false, expected true or nothing: a record goes with its fields"
        raise Refused("invalid_param", what, param="purge_entity_properties")
    key, body_hash = commit_log.key_of(caller), commit_log.hash_of(body)
    head = commit_log.lock(tx, graph_id, caller)
    known = commit_log.known(tx, head, key, body_hash)
    if known is not None:
        return _retracted(known, is_replay=True)
    commit_log.check_takes_records(head)
    declared = ontology.load(tx, head)
    plan = plan_of(tx, head, declared, _asked_to_retract(declared, body))
    if plan.is_empty:
        return _retracted(commit_log.remember(tx, head, key, body_hash, None), is_replay=False)
    after = commit_log.advance(tx, head, caller)
    save(tx, plan, after.head_seq)
    written = commit_log.Written(len(plan.ended_entities), len(plan.ended_edges))
    return _retracted(commit_log.remember(tx, after, key, body_hash, written), is_replay=False)


def _asked_to_retract(declared: Ontology, body: GraphRetractRequest) -> Asked:
    if not (body.edges or body.entities):
        raise refused("body", "got nothing to retract, expected edges or entities")
    unlinks = []
    for index, one in enumerate(body.edges or ()):
        path = f"edges[{index}]"
        source = resolve(declared, one.source, f"{path}.source")
        target = resolve(declared, one.target, f"{path}.target")
        unlinks.append(Link(path, source, asking.relation(declared, one.relation, f"{path}.relation"), target))
    records = [resolve(declared, one, f"entities[{index}]") for index, one in enumerate(body.entities or ())]
    return Asked(owned=Owned(retracts=tuple(records)), unlinks=tuple(unlinks))


def _retracted(answered: CommitKey, *, is_replay: bool) -> GraphRetractResponse:
    return GraphRetractResponse(
        commit_seq=answered.commit_seq,
        idempotency_key=answered.key.decode(),
        replayed=is_replay,
        edges_retracted=answered.edges_written,
        entities_retracted=answered.entities_written,
        visibility_token=commit_log.token(answered.commit_seq),
        no_op=True if answered.no_op else None,
    )
