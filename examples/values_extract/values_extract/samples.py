"""The sample texts and their right answers, in the project's folder `samples`. Put your own texts there."""

import json
from pathlib import Path
from typing import Any

from lbb import stable_hash_hex

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


def _read(name: str) -> Any:
    path = FOLDER / name
    if not path.exists():
        raise SystemExit(f"there is no {path}: run this in the project's folder, installed with `pip install -e .`")
    return json.loads(path.read_text("utf-8"))
