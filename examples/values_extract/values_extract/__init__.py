"""Fill properties of a class from the text of its instances, each value with the quote that supports it.

Start with `settings` (what is read) and `workflow` (one turn). Pure rules, each with its tests: `coerce`, `units`,
`quotes`, `check`, `answers`. What is written and asked: `values`, `review_items`. `python -m values_extract` lists the
commands.
"""

from values_extract.check import check
from values_extract.coerce import coerce
from values_extract.ontology import ontology, trigger
from values_extract.quotes import quote_holds
from values_extract.review_items import legacy_value_key, value_item_key
from values_extract.settings import DEFAULTS, Settings
from values_extract.units import unit_problem
from values_extract.workflow import create_workflow

__all__ = [
    "DEFAULTS",
    "Settings",
    "check",
    "coerce",
    "create_workflow",
    "legacy_value_key",
    "ontology",
    "quote_holds",
    "trigger",
    "unit_problem",
    "value_item_key",
]
