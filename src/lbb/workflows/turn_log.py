"""`ctx.log`: a logger that is silent while the code only replays (ours, decision 25).

A line between two steps is logged when its code runs for the first time, as far as the turn's log can tell.
"""

import logging
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from lbb.workflows.replay import Replay
from lbb.workflows.task import Task

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter

_logger = logging.getLogger("lbb.workflows.turn")


class TurnLog(_Adapter):
    """The standard logger's methods. Records carry `workflow_id`, `workflow_type`, `turn` and `message_id`."""

    def __init__(self, task: Task, replay: Replay) -> None:
        super().__init__(
            _logger,
            {
                "workflow_id": task.workflow_id,
                "workflow_type": task.workflow_type,
                "turn": task.turn,
                "message_id": task.message_id,
            },
        )
        self._replay = replay

    def isEnabledFor(self, level: int) -> bool:
        return not self._replay.is_replaying and super().isEnabledFor(level)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        own: Mapping[str, object] = self.extra or {}
        kwargs["extra"] = {**kwargs.get("extra", {}), **own}
        return msg, kwargs
