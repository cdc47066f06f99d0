"""Which types and versions workers claim, so that a person sees which nobody serves (`no worker for a@v2 since`).

In memory: it is about the workers that are there now, and a write per idle claim would cost more than it tells.
"""

from dataclasses import dataclass

from turnbuckle.http.waiting import WaitingRoom
from turnbuckle.operations import turn
from turnbuckle.store.transaction import Topic
from turnbuckle.wire.server import WorkflowServedPair, WorkflowServedResponse
from turnbuckle.wire.turn import WorkflowTurnClaimRequest

_PAIRS_MAX = 10_000


@dataclass(frozen=True)
class _Claim:
    worker: str
    at_ms: int


class Served:
    """The last claim of each pair of each graph."""

    def __init__(self, room: WaitingRoom, since_ms: int) -> None:
        self._room = room
        self._since_ms = since_ms
        self._last: dict[Topic, _Claim] = {}  # the oldest claim first

    def note(self, graph_id: str, request: WorkflowTurnClaimRequest, now_ms: int) -> None:
        for topic in turn.ready_topics(graph_id, request):
            self._last.pop(topic, None)
            self._last[topic] = _Claim(request.worker, now_ms)
        while len(self._last) > _PAIRS_MAX:
            del self._last[next(iter(self._last))]

    def of_graph(self, graph_id: str, now_ms: int) -> WorkflowServedResponse:
        pairs = [
            WorkflowServedPair(
                workflow_type=topic[2],
                version=topic[3],
                worker=claim.worker,
                claimed_at_ms=claim.at_ms,
                waiting=self._room.count(topic),
            )
            for topic, claim in self._last.items()
            if topic[1] == graph_id
        ]
        return WorkflowServedResponse(now_ms=now_ms, since_ms=self._since_ms, pairs=pairs)
