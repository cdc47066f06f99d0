"""Run results: what a turn did with each of its inputs (lbb-engine 6).

Kept while the turn runs, cut and merged by fixed rules, sent with completion or failure. They never cost a completion.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from lbb.workflows.js_json import js_json, js_json_bytes

logger = logging.getLogger("lbb.workflows")

Input = dict[str, Any]  # {iri?, label, outcome, values, error?, region?, cost_micro_usd?}

INPUTS_MAX = 200  # kept whole, unless the server says another number
VALUES_MAX = 32
REPORT_BYTES = 512 * 1024
STEP_RESULTS_BYTES = 32 * 1024
STEP_OUTPUT_BYTES = 60 * 1024

OUTCOMES = ("written", "review", "no_value", "failed", "duplicate")
_RANK = {outcome: rank for rank, outcome in enumerate(("no_value", "duplicate", "written", "review", "failed"))}

# Texts of an input and of a value: always there, and there only when not empty. Lengths in characters.
_VALUE_TEXTS = {"property": 512, "value": 512, "quote": 600, "outcome": 64}
_VALUE_OPTIONAL_TEXTS = {"detail": 512, "stated": 512, "unconfirmed": 512, "source": 512, "review_item": 512}
_SUPPORT_CHARS = 1_000_000  # no bound of its own

_WRAPPER_KEYS = {"lbb_step_results", "run", "results", "value"}


def cut_input(item: Mapping[str, Any]) -> Input:
    """One input within its bounds: texts cut, empty optional texts dropped, at most 32 values."""
    return {
        **_optional_texts(item, {"iri": 2048}),
        "label": _cut(item.get("label"), 512),
        "outcome": item.get("outcome"),
        "values": [_cut_value(value) for value in (item.get("values") or [])[:VALUES_MAX]],
        **_optional_texts(item, {"error": 500}),
        **_given(item, "region", "cost_micro_usd"),
    }


def _cut_value(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: _cut(value.get(name), chars) for name, chars in _VALUE_TEXTS.items()},
        **_optional_texts(value, {"support": _SUPPORT_CHARS, **_VALUE_OPTIONAL_TEXTS}),
        **_given(value, "region"),
    }


def _optional_texts(holder: Mapping[str, Any], chars: Mapping[str, int]) -> dict[str, str]:
    texts = {name: _cut(holder.get(name), limit) for name, limit in chars.items()}
    return {name: text for name, text in texts.items() if text}


def _given(holder: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: holder[name] for name in names if holder.get(name) is not None}


def _cut(text: Any, chars: int) -> str:
    return "" if text is None else str(text)[:chars]


class RunResultsCollector:
    """The inputs of one run in the order first named; the first `limit` whole, of the others only the outcome.

    An empty collector is falsy, because it has a length: compare with None.
    """

    def __init__(self, limit: int = INPUTS_MAX) -> None:
        self._limit = limit
        self._inputs: dict[str, Input] = {}
        self._outcomes: dict[str, str] = {}  # of every input, also those kept whole
        self._step: list[Input] | None = None

    def __len__(self) -> int:
        return len(self._outcomes)

    def begin_step(self) -> None:
        """Log what is added from now on, for the step's saved output."""
        self._step = []

    def end_step(self) -> list[Input]:
        """What was added since `begin_step`, in order and unmerged."""
        logged, self._step = self._step or [], None
        return logged

    def add(self, item: Mapping[str, Any]) -> None:
        if self._step is not None:
            self._step.append(dict(item))
        self._merge(item)

    def has(self, key: str) -> bool:
        """Whether an input with this IRI, or this label, was named."""
        return key in self._outcomes

    def inputs(self) -> list[Input]:
        return list(self._inputs.values())

    def report(self) -> dict[str, Any] | None:
        """`{inputs, counts}` of at most 512 KiB; None when nothing was added."""
        if not self._outcomes:
            return None
        counts = dict.fromkeys(OUTCOMES, 0)
        for outcome in self._outcomes.values():
            counts[outcome] = counts.get(outcome, 0) + 1
        return fit_report({"inputs": self.inputs(), "counts": counts})

    def _merge(self, item: Mapping[str, Any]) -> None:
        key = str(item.get("iri") or item.get("label") or "")
        outcome = _higher(self._outcomes.get(key), str(item.get("outcome")))
        if key in self._inputs:
            self._inputs[key] = cut_input(_merged(self._inputs[key], item) | {"outcome": outcome})
        elif key not in self._outcomes and len(self._inputs) < self._limit:
            self._inputs[key] = cut_input(item)
        self._outcomes[key] = outcome


def _higher(first: str | None, second: str) -> str:
    return second if first is None or _RANK.get(second, 0) > _RANK.get(first, 0) else first


def _merged(first: Input, second: Mapping[str, Any]) -> Input:
    """Both reports of one input: values of both, equal ones once; of texts and regions the first that is there."""
    second = cut_input(second)
    merged = {**second, **first}
    merged["label"] = first["label"] or second["label"]
    merged["values"] = list(first["values"])
    for value in second["values"]:
        if value not in merged["values"]:
            merged["values"].append(value)
    costs = [cost for item in (first, second) if (cost := item.get("cost_micro_usd")) is not None]
    return merged | ({"cost_micro_usd": sum(costs)} if costs else {})


def fit_report(report: dict[str, Any]) -> dict[str, Any]:
    """The report within 512 KiB: values are emptied from the last half on, then inputs left out; counts stay."""
    inputs: list[Input] = list(report["inputs"])
    cut = len(inputs)
    while js_json_bytes(report | {"inputs": inputs}) > REPORT_BYTES and inputs:
        if cut > 0:
            start = cut // 2
            inputs[start:] = [item | {"values": []} for item in inputs[start:]]
            cut = start
        else:
            del inputs[len(inputs) // 2 :]
    return report | {"inputs": inputs}


def wrap_output(value: Any, text: bytes, logged: Iterable[Input], run_id: str) -> bytes:
    """What a step saves: its output, `value` as `text`, and beside it as many of the inputs it reported as fit.

    The plain output when none was reported or none fits.
    """
    try:
        kept = _within(logged, min(STEP_RESULTS_BYTES, STEP_OUTPUT_BYTES - js_json_bytes(value)))
        head = f'{{"lbb_step_results":1,"run":{js_json(run_id)},"results":{js_json(kept)},"value":'.encode()
    except UnicodeEncodeError:  # a lone surrogate has no size
        return text
    return head + text + b"}" if kept else text


def _within(logged: Iterable[Input], budget_bytes: int) -> list[Input]:
    """Inputs whole, or brief where whole does not fit, until not even that does."""
    kept: list[Input] = []
    size = 2  # the brackets
    for item in map(cut_input, logged):
        brief: Input = {name: item[name] for name in ("iri", "label", "outcome") if name in item}
        forms: tuple[Input, Input] = (item, brief)
        fitting = next((form for form in forms if size + js_json_bytes(form) + 1 <= budget_bytes), None)
        if fitting is None:
            break
        kept.append(fitting)
        size += js_json_bytes(fitting) + 1
    return kept


def unwrap_output(output: Any) -> tuple[Any, str, list[Any]] | None:
    """A saved output's value, run id and results; None when it is a plain value."""
    if not isinstance(output, dict) or output.keys() != _WRAPPER_KEYS:
        return None
    marker, run, results = output["lbb_step_results"], output["run"], output["results"]
    if marker != 1 or isinstance(marker, bool) or not isinstance(run, str) or not isinstance(results, list):
        return None
    return output["value"], run, results


def add_saved(collector: RunResultsCollector, inputs: Iterable[Any], *, is_same_run: bool) -> None:
    """Report the inputs that a replayed step saved. What an earlier run wrote is a duplicate now."""
    for item in inputs:
        try:
            collector.add(item if is_same_run else _of_earlier_run(item))
        except Exception:  # results never cost a completion
            logger.exception("saved run results cannot be read and are left out")


def _of_earlier_run(item: Input) -> Input:
    values = [_as_duplicate(value) for value in item.get("values") or []]
    return _as_duplicate(item) | {"values": values}


def _as_duplicate(holder: Mapping[str, Any]) -> dict[str, Any]:
    return {**holder, "outcome": "duplicate"} if holder.get("outcome") == "written" else dict(holder)


def add_unnamed(collector: RunResultsCollector, instances: Iterable[str], next_message: Any) -> None:
    """At completion: the instances of the message that nobody named, and that do not go on, have no value.

    Only when something was reported at all.
    """
    if len(collector) == 0:
        return
    going_on = set(instances_of(next_message))
    for iri in instances:
        if iri not in going_on and not collector.has(iri):
            collector.add({"iri": iri, "label": "", "outcome": "no_value", "values": []})


def instances_of(message: Any) -> list[str]:
    """The IRIs a trigger message names; none for any other message."""
    found = message.get("instances") if isinstance(message, Mapping) else None
    return [iri for iri in found if isinstance(iri, str)] if isinstance(found, list | tuple) else []
