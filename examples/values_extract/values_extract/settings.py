"""What is read, from which class, and how sure a value must be. Change DEFAULTS to make the workflow yours."""

from collections.abc import Mapping
from dataclasses import dataclass, field

WORKFLOW = "values-extract"  # the name of the workflow, and of its type
VERSION = "v1"
SOURCE_CLASS = "ValueSource"
SOURCE_RELATION = "HAS_VALUE_SOURCE"

NUMBERS = ("i64", "f64")
PROPERTIES_MAX = 64  # what one write may own, and one call of the decision model may be asked
VALUE_TYPES = ("bool", "i64", "f64", "date_time", "keyword", "text")


@dataclass(frozen=True)
class Settings:
    """ValueError for types that texts cannot be read as, units of what is no number, a bad gate, and too many."""

    class_name: str
    text_field: str
    properties: Mapping[str, str]  # name: value type
    context: str = ""  # what the texts are, in a sentence for the model
    gate: float = 0.8  # a value whose support is lower goes to a person; 0 to 1
    units: Mapping[str, str] = field(default_factory=dict)  # of numbers: property: unit

    def __post_init__(self) -> None:
        if not 1 <= len(self.properties) <= PROPERTIES_MAX:
            raise ValueError(f"{len(self.properties)} properties are given where 1 to {PROPERTIES_MAX} can be read")
        for name, value_type in self.properties.items():
            if value_type not in VALUE_TYPES:
                raise ValueError(f"property {name} is of type {value_type!r}; one of {', '.join(VALUE_TYPES)} is read")
        for name in self.units:
            if self.properties.get(name) not in NUMBERS:
                raise ValueError(f"{name} has a unit and is no number among the properties")
        if not 0 <= self.gate <= 1:
            raise ValueError(f"the gate is a share from 0 to 1, not {self.gate}")


DEFAULTS = Settings(
    class_name="Product",
    text_field="text",
    properties={"width_cm": "f64", "depth_cm": "f64", "material": "keyword", "color": "keyword"},
    context="Descriptions of furniture in a shop's catalogue.",
    gate=0.8,
    units={"width_cm": "cm", "depth_cm": "cm"},
)
