"""docs/reference/components.md"""

from reference_pages.markdown import generated_from, table
from turnbuckle.hub.catalogue import ANY, CATALOGUE, ENTRY_POINTS, FAILURE, PERSISTENCES, ComponentType, PortType
from turnbuckle.hub.events import EXECUTION_EVENTS
from turnbuckle.hub.finding import FINDINGS

KINDS = {
    "setting": "setting",
    "data_input": "in",
    "data_output": "out",
    "provider_input": "provider in",
    "provider_output": "provider out",
}


def components_page() -> str:
    """A section per component type, in the catalogue's order, and what the check of a definition can find."""
    overview = table(
        ("type", "results", "what it does"),
        ((f"[`{kind.type}`](#{_anchor(kind)})", _results(kind), kind.summary) for kind in CATALOGUE.values()),
    )
    return (
        generated_from("turnbuckle.hub.catalogue")
        + "# Components\n\n"
        + "A definition is a graph of components; a run enters them one after the other.\n"
        + "A component's result is followed along all its flow edges of that name, in document order, depth first.\n"
        + f"A result without an edge ends the path; an unhandled `{FAILURE}` fails the run.\n"
        + "A required setting that is absent, and a value that a setting cannot have, are [findings](#findings).\n"
        + f"A package adds types of its own with the entry point group `{ENTRY_POINTS}`.\n\n"
        + overview
        + "".join(map(_component, CATALOGUE.values()))
        + _persistence()
        + _events()
        + _findings()
    )


def _anchor(kind: ComponentType) -> str:
    return kind.type.replace(".", "")


def _results(kind: ComponentType) -> str:
    if kind.routes is None:
        return "any"
    added = [f"those of `{kind.routes_setting}`"] if kind.routes_setting else []
    return ", ".join([*added, *(f"`{route}`" for route in kind.routes)])


def _component(kind: ComponentType) -> str:
    lines = f"\n## {kind.type}\n\n{kind.title}. {kind.summary}\n"
    return lines + ("\n" + table(("port", "kind", "type", ""), map(_port, kind.ports)) if kind.ports else "")


def _port(port: PortType) -> tuple[str, str, str, str]:
    notes = [
        port.summary,
        "One of " + ", ".join(f"`{choice}`" for choice in port.choices) + "." if port.choices else "",
        "Required." if port.required else "",
    ]
    name = "any name" if port.route == ANY else f"`{port.route}`"
    return name, KINDS[port.category], port.data_type, " ".join(filter(None, notes))


def _persistence() -> str:
    meanings = {
        "execution": ("the input of that alias, else its `value`", "kept with the run"),
        "session": ("the session object under its alias, else its `value`", "that session object is replaced"),
        "definition": ("its `value`", "never: writing it fails the writer; this is the default"),
    }
    rows = ((f"`{name}`", *meanings[name]) for name in PERSISTENCES)
    return "\n## Persistence of data components\n\n" + table(("persistence", "at the start of a run", "written"), rows)


def _events() -> str:
    rows = ((f"`{kind}`", when) for kind, when in EXECUTION_EVENTS.items())
    return "\n## Events of a run\n\n" + table(("type", "when"), rows)


def _findings() -> str:
    rows = ((f"`{code}`", level, meaning) for code, (level, meaning) in FINDINGS.items())
    return (
        "\n## Findings\n\n"
        + "What `check_definition` reports, each with its component; a definition without errors is a `success`.\n\n"
        + table(("code", "level", "meaning"), rows)
    )
