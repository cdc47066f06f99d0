"""Definitions that the browser tests draw."""

from typing import Any


def component(id: str, type: str, name: str, **settings: Any) -> dict[str, Any]:
    ports = [{"category": "setting", "route": route, "value": value} for route, value in settings.items()]
    return {"id": id, "category": type.split(".")[0], "type": type, "name": name, "ports": ports}


def flow(source: str, target: str, route: str = "next") -> dict[str, Any]:
    ends = {"source_port": "flow_output", "target_port": "flow_input"}
    return {"id": f"{source}-{route}-{target}", "source_id": source, "target_id": target, "route": route, **ends}


def data(source: str, target: str, route: str = "value") -> dict[str, Any]:
    ends = {"source_port": "data_output", "target_port": "data_input"}
    return {"id": f"{source}={target}", "source_id": source, "target_id": target, "target_route": route, **ends}


def document(components: list[dict[str, Any]], connections: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "workflow_definition",
        "version": "1.0.1",
        "components": components,
        "connections": connections,
    }


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def message(content: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": content}]}}


def data_component(id: str, type: str, name: str, alias: str) -> dict[str, Any]:
    return component(id, type, name, alias=text(alias), persistence={"type": "choice", "id": "execution"})


CODE = {
    "type": "message",
    "message": {"role": "interpreter", "content": [text("question = get_data_input('question')\nset_result('known')")]},
}

SUPPORT = document(
    [
        component("start", "flow.start", "Start"),
        data_component("question", "data.message", "Question", "question"),
        component("look", "logic.code", "Look it up", code=CODE, language={"type": "choice", "id": "python"}),
        component("model", "genai.chat.openai", "Ask the model", model=text("mock")),
        component("review", "review.ask", "Ask a person"),
        data_component("answer", "data.message", "Answer", "answer"),
        component("end", "flow.end", "End"),
    ],
    [
        flow("start", "look"),
        flow("look", "model", "known"),
        flow("look", "review", "unknown"),
        flow("model", "end", "success"),
        flow("model", "review", "failure"),
        flow("review", "end", "approved"),
        data("question", "look", "question"),
        data("question", "model", "message"),
        data("model", "answer"),
    ],
)


def positioned() -> dict[str, Any]:
    """The same, where somebody placed it, 200 apart."""
    places = {
        "start": (0, 0), "question": (0, 80), "look": (200, 0), "model": (400, -60), "review": (400, 100),
        "answer": (600, -150), "end": (600, 0),
    }  # fmt: skip
    components = [
        one | {"position": {"x": places[one["id"]][0], "y": places[one["id"]][1]}} for one in SUPPORT["components"]
    ]
    return document(components, SUPPORT["connections"])


def looped(count: int) -> dict[str, Any]:
    """`count` components: a loop, a parallel part with a join, and a long tail."""
    components = [
        component("start", "flow.start", "Start"),
        component("loop", "logic.loop", "For each order"),
        component("check", "logic.condition", "Is it open?"),
        component("ship", "io.http", "Ask the carrier"),
        component("fork", "flow.parallel", "At the same time"),
        component("mail", "logic.code", "Write the mail"),
        component("bill", "logic.code", "Write the bill"),
        component("join", "flow.join", "Both are done"),
        component("end", "flow.end", "End"),
        data_component("orders", "data.json", "Orders", "orders"),
    ]
    connections = [
        flow("start", "loop"),
        flow("loop", "check", "item"),
        flow("check", "ship", "true"),
        flow("ship", "loop", "success"),
        flow("loop", "fork", "done"),
        flow("fork", "mail"),
        flow("fork", "bill"),
        flow("mail", "join", "success"),
        flow("bill", "join", "success"),
        data("orders", "loop", "items"),
    ]
    before = "join"
    for number in range(count - len(components)):
        id = f"step-{number}"
        kind = "data.text" if number % 4 == 3 else "logic.code"
        components.append(component(id, kind, f"Step {number + 1} of the long tail of this definition"))
        if number % 4 == 3:
            connections += [data(before, id), data(id, f"step-{number + 1}")]
        else:
            connections.append(flow(before, id, "success"))
            before = id
    connections.append(flow(before, "end", "success"))
    known = {one["id"] for one in components}
    return document(components, [one for one in connections if {one["source_id"], one["target_id"]} <= known])
