"""The component types as data: their ports, results and what they do (blobhub 5.3, decision 51).

The check, the editor's view and docs/reference/components.md are made from this table. flow/components holds what runs;
a package adds a type with the entry point group `turnbuckle.components`, registered at start.
"""

import re
from typing import Any, Final, Literal

import msgspec

Category = Literal["setting", "data_input", "data_output", "provider_input", "provider_output"]
Kind = Literal["flow", "data", "provider"]
PERSISTENCES: Final = ("execution", "session", "definition")
ANY: Final = "*"  # a port of this route stands for ports of any name
FAILURE: Final = "failure"  # the result that must not go unhandled
ENTRY_POINTS: Final = "turnbuckle.components"


class PortType(msgspec.Struct, frozen=True):
    route: str
    category: Category
    data_type: str = "json"  # "any": no matter which
    required: bool = False
    choices: tuple[str, ...] = ()
    summary: str = ""


class ComponentType(msgspec.Struct, frozen=True):
    type: str  # `<category>.<name>`
    ports: tuple[PortType, ...]
    routes: tuple[str, ...] | None  # its results, in the order shown; None: whatever it chooses
    kind: Kind  # only `flow` is ever entered
    title: str
    summary: str
    routes_setting: str | None = None  # a json setting [{"route": ...}] that adds results

    @property
    def category(self) -> str:
        return self.type.partition(".")[0]

    def ports_of(self, category: Category) -> tuple[PortType, ...]:
        return tuple(port for port in self.ports if port.category == category)

    def takes_any(self, category: Category) -> bool:
        return any(port.route == ANY for port in self.ports_of(category))

    def port(self, category: Category, route: str) -> PortType | None:
        return next((port for port in self.ports_of(category) if port.route == route), None)


CATALOGUE: Final[dict[str, ComponentType]] = {}
_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


def register(component_type: ComponentType) -> None:
    """Add a type. ValueError for a type that is taken or malformed, or a route used twice in one category."""
    if not _TYPE.fullmatch(component_type.type):
        raise ValueError(f"component type {component_type.type!r}: expected dotted lower-case words")
    if component_type.type in CATALOGUE:
        raise ValueError(f"component type {component_type.type!r} is registered already")
    named = [(port.category, port.route) for port in component_type.ports]
    if len(set(named)) != len(named):
        raise ValueError(f"component type {component_type.type!r} has a port twice")
    CATALOGUE[component_type.type] = component_type


def _setting(route: str, data_type: str, summary: str = "", **more: Any) -> PortType:
    return PortType(route, "setting", data_type, summary=summary, **more)


def _takes(route: str, data_type: str, summary: str = "", **more: Any) -> PortType:
    return PortType(route, "data_input", data_type, summary=summary, **more)


def _gives(route: str, data_type: str, summary: str = "") -> PortType:
    return PortType(route, "data_output", data_type, summary=summary)


def _data(data_type: str) -> ComponentType:
    return ComponentType(
        f"data.{data_type}",
        (
            _setting("alias", "text", "The name that input data and session objects know it by."),
            _setting("persistence", "choice", "Where its value comes from and goes to.", choices=PERSISTENCES),
            _setting("value", data_type, "Its value at the start of a run."),
            _takes("value", data_type),
            _gives("value", data_type),
        ),
        (),
        "data",
        f"Data: {data_type}",
        f"Holds one value of type `{data_type}`; it is not on the flow's path.",
    )


def _chat(name: str, title: str, summary: str) -> ComponentType:
    return ComponentType(
        f"genai.chat.{name}",
        (
            _setting("model", "text", "The model's name; the server's default when absent."),
            _setting("base_url", "text", "Another endpoint that speaks the same protocol."),
            _setting("temperature", "float"),
            _setting("max_tokens", "integer"),
            _takes("messages", "messages", "The conversation so far."),
            _takes("message", "message", "One more message, after the others."),
            PortType("credential", "provider_input", "any", summary="A `provider.credential`."),
            _gives("message", "message", "The answer."),
        ),
        ("success", FAILURE),
        "flow",
        title,
        summary,
    )


_BUILT_IN = (
    ComponentType("flow.start", (), ("next",), "flow", "Start", "Where a run begins; a document has exactly one."),
    ComponentType(
        "flow.end",
        (_setting("status", "choice", "How the run ends; `completed` when absent.", choices=("completed", "failed")),),
        (),
        "flow",
        "End",
        "Ends the whole run, whatever else is still to do.",
    ),
    ComponentType(
        "flow.parallel",
        (),
        ("next",),
        "flow",
        "Parallel",
        "Each of its `next` edges is a branch; the branches run at the same time, each with a copy of the data. "
        "A branch ends where it enters a `flow.join` or where its path ends.",
    ),
    ComponentType(
        "flow.join",
        (),
        ("next",),
        "flow",
        "Join",
        "Goes on once, when all branches have ended; what they wrote is merged in document order. "
        "Outside of branches it only passes on.",
    ),
    *map(_data, ("message", "messages", "text", "integer", "float", "boolean", "choice", "json")),
    ComponentType(
        "logic.code",
        (
            _setting("language", "choice", "Only `python`.", required=True, choices=("python",)),
            _setting("code", "message", "The code, in text blocks.", required=True),
            _takes(ANY, "any"),
            _gives(ANY, "any"),
            PortType(ANY, "provider_input", "any"),
        ),
        None,
        "flow",
        "Code",
        "Runs Python in the sandbox. The code chooses its result with `set_result`; without one it is `success`.",
    ),
    ComponentType(
        "logic.condition",
        (
            _setting(
                "operator",
                "choice",
                "How the two are compared.",
                required=True,
                choices=("eq", "neq", "lt", "lte", "gt", "gte", "contains", "empty"),
            ),
            _takes("left", "any"),
            _takes("right", "any", "Not looked at by `empty`."),
        ),
        ("true", "false"),
        "flow",
        "Condition",
        "Compares the plain contents of two values.",
    ),
    ComponentType(
        "logic.switch",
        (
            _setting("cases", "json", 'A list of `{"route", "equals"}`; the first that is equal wins.', required=True),
            _takes("value", "any"),
        ),
        ("default",),
        "flow",
        "Switch",
        "Goes where a case says, else to `default`.",
        routes_setting="cases",
    ),
    ComponentType(
        "logic.loop",
        (
            _takes("items", "json", "A list; it is read once, when the loop is entered."),
            _gives("item", "json", "The element of this round."),
            _gives("index", "integer", "Its number, from 0."),
        ),
        ("item", "done"),
        "flow",
        "Loop",
        "Runs its `item` branch to the end for each element, one after the other, then goes to `done`. "
        "An edge of the branch back into the loop ends the round.",
    ),
    ComponentType(
        "io.http",
        (
            _setting("method", "text", "`GET` when absent."),
            _setting("headers", "json", "An object of texts."),
            _setting("timeout_s", "integer"),
            _takes("url", "text", required=True),
            _takes("body", "any", "JSON, or a text sent as it is."),
            PortType("credential", "provider_input", "any", summary="Sent as a Bearer token."),
            _gives("status", "integer"),
            _gives("body", "any"),
            _gives("headers", "json"),
        ),
        ("success", FAILURE),
        "flow",
        "HTTP request",
        "Asks a host that the server allows; `success` for an answer of 200 to 299.",
    ),
    ComponentType(
        "io.wait_input",
        (
            _setting("alias", "text", "The thread of the session.", required=True),
            _setting("timeout_s", "integer", "Waits for ever when absent."),
            _takes("prompt", "message"),
            _gives("reply", "message"),
        ),
        ("success", "timeout"),
        "flow",
        "Wait for input",
        "Posts the prompt to a thread and goes on at the next item by somebody else.",
    ),
    ComponentType(
        "io.sleep",
        (_setting("seconds", "integer", required=True),),
        ("next",),
        "flow",
        "Sleep",
        "Goes on after a while; nothing is held meanwhile.",
    ),
    _chat("openai", "Chat", "Has a model of the server answer a conversation."),
    _chat("echo", "Echo", "Answers with the last text of a user; for tests."),
    ComponentType(
        "provider.credential",
        (
            _setting("name", "text", "The secret's name on the server.", required=True),
            PortType("credential", "provider_output", "any", summary="A handle, never the secret."),
        ),
        (),
        "provider",
        "Credential",
        "Lends a stored secret to a component; it is not on the flow's path.",
    ),
    ComponentType(
        "review.ask",
        (
            _setting("title", "text", "What the reviewer sees first."),
            _setting("options", "json", 'A list of `{"id", "label"}`; a result for each. None: free text.'),
            _setting("timeout_s", "integer", "Waits for ever when absent."),
            _takes("question", "any", "A message, a text or JSON.", required=True),
            _takes("evidence", "any", "Shown beside the question."),
            _gives("answer", "json", "The answer, its reviewer and the comment."),
            _gives("choice", "choice"),
        ),
        ("answered", "timeout", "withdrawn"),
        "flow",
        "Ask a person",
        "Files a review item and goes on with its answer: by the result named like the chosen option where there is "
        "an edge for it, else by `answered`.",
    ),
    ComponentType(
        "workflow.execute",
        (
            _setting("reference", "text", "The definition, in path form.", required=True),
            _setting("wait", "boolean", "Whether to go on when it has ended; true when absent."),
            _takes(ANY, "any", "By the aliases of the callee's inputs."),
            _gives(ANY, "any", "By the aliases of the callee's data components."),
        ),
        ("success", FAILURE),
        "flow",
        "Execute a workflow",
        "Runs another definition in the same session, at most 5 deep.",
    ),
    ComponentType(
        "session.object_read",
        (_setting("alias", "text", required=True), _gives("value", "any")),
        ("success", "missing"),
        "flow",
        "Read a session object",
        "Gives the session object under an alias.",
    ),
    ComponentType(
        "session.object_write",
        (_setting("alias", "text", required=True), _takes("value", "any", required=True)),
        ("success",),
        "flow",
        "Write a session object",
        "Keeps a value in the session under an alias.",
    ),
)
for _built_in in _BUILT_IN:
    register(_built_in)
