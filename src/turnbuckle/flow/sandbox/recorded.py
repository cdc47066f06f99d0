"""A host that records its answers and gives them again: what the runner does with durable steps, in memory."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnbuckle.flow.sandbox.host import CodeDiverged, HostRefusal


@dataclass(frozen=True)
class Answer:
    """One recorded question with its answer: a value, or the refusal as (exception, message)."""

    question: str  # JSON of [name, args, kwargs], with sorted keys
    value: Any = None
    refused: tuple[str, str] | None = None


def question_of(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    return json.dumps([name, list(args), dict(kwargs)], sort_keys=True, ensure_ascii=False)


class RecordingHost:
    """Answers from the record while it lasts, then from `answer`, adding to the record.

    CodeDiverged when the code asks another question than the recorded one at that position.
    """

    def __init__(self, answer: Callable[..., Any], record: Sequence[Answer] = ()) -> None:
        self.record = list(record)
        self._answer = answer
        self._position = 0

    async def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        question = question_of(name, args, kwargs)
        if self._position == len(self.record):
            self.record.append(self._asked(question, name, args, kwargs))
        answer = self.record[self._position]
        self._position += 1
        if answer.question != question:
            raise CodeDiverged(self._position, answer.question, question)
        if answer.refused is not None:
            raise HostRefusal(*answer.refused)
        return answer.value

    def _asked(self, question: str, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Answer:
        try:
            return Answer(question, self._answer(name, *args, **kwargs))
        except HostRefusal as refusal:
            return Answer(question, refused=(refusal.exception, refusal.message))
