"""What must be declared on a graph before the workflow can work there: the ontology, and the watch that wakes it."""

from typing import Any

from values_extract.settings import DEFAULTS, SOURCE_CLASS, SOURCE_RELATION, VERSION, WORKFLOW, Settings

Op = dict[str, Any]


def ontology(settings: Settings = DEFAULTS) -> list[Op]:
    """The operations of one evolve request. Those that are there already change nothing."""
    read = [
        {"op": "add_property", "name": name, "value_type": value_type, **_unit(settings, name)}
        for name, value_type in settings.properties.items()
    ]
    return [
        {"op": "add_entity_type", "name": settings.class_name},
        {"op": "add_property", "name": settings.text_field, "value_type": "text"},
        *read,
        {"op": "add_entity_type", "name": SOURCE_CLASS},
        {"op": "add_property", "name": "property", "value_type": "keyword"},
        {"op": "add_property", "name": "value", "value_type": "text"},
        {"op": "add_property", "name": "support", "value_type": "f64"},
        {
            "op": "add_relation",
            "name": SOURCE_RELATION,
            "domain": [settings.class_name],
            "range": [SOURCE_CLASS],
        },
    ]


def trigger(settings: Settings = DEFAULTS) -> dict[str, Any]:
    """The arguments of `client.use_workflow_starter("workflow", ...)`.

    A change of the text wakes an instance; what the workflow owns never does, whoever writes it.
    """
    return {
        "name": WORKFLOW,
        "class_": settings.class_name,
        "fields": [settings.text_field],
        "workflow": {"workflow_type": WORKFLOW, "version": VERSION},
        "owns": {
            "properties": list(settings.properties),
            "relations": [SOURCE_RELATION],
            "classes": [SOURCE_CLASS],
        },
        "batch": 16,
    }


def _unit(settings: Settings, name: str) -> dict[str, str]:
    unit = settings.units.get(name)
    return {} if unit is None else {"unit": unit}
