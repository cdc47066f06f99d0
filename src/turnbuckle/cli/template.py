"""The projects that `turnbuckle create` copies: in `turnbuckle/templates` of a wheel, in `examples` of a checkout."""

from pathlib import Path

import turnbuckle
from turnbuckle.cli.failure import Failure

TEMPLATES = {"values-extract": "Fill properties of a class from the text of its instances, each value with its quote."}

_PACKAGE = Path(turnbuckle.__file__).parent


def folder_of(template: str) -> Path:
    """The project's folder. Failure when this installation came without it."""
    name = package_of(template)
    places = (_PACKAGE / "templates" / name, _PACKAGE.parents[1] / "examples" / name)
    found = next((place for place in places if (place / "pyproject.toml").exists()), None)
    if found is None:
        raise Failure(f"this installation of turnbuckle has no files of the template {template}; install it again")
    return found


def package_of(template: str) -> str:
    """The name of the template's Python package."""
    return template.replace("-", "_")
