"""The sample texts and their right answers, in the project's folder `samples`. Put your own texts there."""

import json
from pathlib import Path
from typing import Any

from lbb import stable_hash_hex

from values_extract import mock_models
from values_extract.check import check
from values_extract.prompts import read_prompt, support_questions
from values_extract.settings import DEFAULTS, Settings

FOLDER = Path(__file__).parents[1] / "samples"


def records() -> list[dict[str, str]]:
    """`{name, text}` of each sample."""
    return _read("records.json")  # type: ignore[no-any-return]


def expected() -> dict[str, Any]:
    """`{about, install, records: [{name, values, leave_out}]}`, explained by its own `about`."""
    return _read("expected.json")  # type: ignore[no-any-return]


def commit(settings: Settings = DEFAULTS) -> tuple[dict[str, Any], str]:
    """The body of the commit that puts the samples on a graph, and its key: the same samples are written once."""
    rows = [
        {"type": settings.class_name, "name": one["name"], "properties": {settings.text_field: one["text"]}}
        for one in records()
    ]
    key = stable_hash_hex(json.dumps(row, sort_keys=True) for row in rows)
    return {"entity_properties": rows}, f"try:samples:{key}"


def mock_answers(settings: Settings = DEFAULTS) -> dict[str, Any]:
    """What a server's mock models answer about the samples: `mock_answers.json`, in the form of its answer key."""
    reason, decide = [], []
    for record in records():
        name, text = record["name"], record["text"]
        said = mock_models.reason(read_prompt(settings, name, text))
        reason.append({"when": [name], "value": said})
        passed, _ = check(settings, text, said["values"])
        questions = support_questions(passed)
        for property, answer in mock_models.decide({"record": name, "text": text}, questions).items():
            when = [name, questions[property]["instructions"]]
            decide.append({"when": when, "probabilities": {"supported": answer["probabilities"]["supported"]}})
    return {"reason": reason, "decide": decide}


def write_mock_answers() -> Path:
    path = FOLDER / "mock_answers.json"
    path.write_text(json.dumps(mock_answers(), indent=2, ensure_ascii=False) + "\n", "utf-8")
    return path


def _read(name: str) -> Any:
    path = FOLDER / name
    if not path.exists():
        raise SystemExit(f"there is no {path}: run this in the project's folder, installed with `pip install -e .`")
    return json.loads(path.read_text("utf-8"))
