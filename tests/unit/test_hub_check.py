"""What the check finds in a definition before anything runs (blobhub 5.8); how liberally a document is read (5.1)."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.hub_documents import Json, component, data, document, flow, random_document, text
from tests.unit.json_values import scalars
from turnbuckle.flow.sandbox.check import REFUSED
from turnbuckle.hub import catalogue, playground
from turnbuckle.hub.catalogue import CATALOGUE, ComponentType, PortType
from turnbuckle.hub.check import check, code_text
from turnbuckle.hub.document import parse
from turnbuckle.hub.finding import FINDINGS, Finding, status_of
from turnbuckle.wire.hub_errors import HubRefused

START = component("s", "flow.start")


class CodeLine(NamedTuple):
    code: str
    line: int
    message: str


def no_findings(code: str) -> Iterable[CodeLine]:
    return ()


def found(raw: Any, check_code: Any = no_findings) -> list[Finding]:
    return check(parse(raw), check_code)


def codes(raw: Any) -> list[tuple[str, str | None]]:
    return [(item.code, item.component_id) for item in found(raw)]


def python(component_id: str, source: str = "set_result('success')", **more: Any) -> Json:
    return component(component_id, "logic.code", language={"type": "choice", "id": "python"}, code=source, **more)


def with_ports(component_id: str, type_: str, *ports: Json) -> Json:
    return {"id": component_id, "type": type_, "ports": list(ports)}


def port(category: str, route: str, value: Any = None) -> Json:
    return {"category": category, "route": route, "value": value}


def provider(source: str, target: str, target_route: str) -> Json:
    return {
        "id": "p",
        "source_id": source,
        "target_id": target,
        "source_port": "provider_output",
        "target_port": "provider_input",
        "target_route": target_route,
    }


EXAMPLE = {
    "type": "workflow_definition",
    "version": "1.0.1",
    "components": [
        {"id": "s", "category": "flow", "type": "flow.start", "name": "Start", "position": {"x": 0, "y": 0}},
        {
            "id": "q",
            "category": "data",
            "type": "data.message",
            "name": "Question",
            "ports": [
                port("setting", "alias", text("question")),
                port("setting", "persistence", {"type": "choice", "id": "execution"}),
                port("setting", "value"),
            ],
        },
        {
            "id": "c",
            "category": "logic",
            "type": "logic.code",
            "name": "Answer",
            "ports": [
                port("setting", "language", {"type": "choice", "id": "python"}),
                port(
                    "setting",
                    "code",
                    {
                        "type": "message",
                        "message": {
                            "role": "interpreter",
                            "content": [text("x = 1"), {"type": "image", "id": "i"}, text("y = 2")],
                            "attributes": {"syntax_mode": "python"},
                        },
                    },
                ),
                port("data_input", "question"),
            ],
        },
    ],
    "connections": [flow("s", "c"), data("q", "c", "value", "question")],
}


def test_the_minimal_example_is_sound() -> None:
    assert found(EXAMPLE) == []
    assert code_text(parse(EXAMPLE).components[2]) == "x = 1\ny = 2"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (document([], []), [("no_start", None)]),
        (document([START, component("t", "flow.start")], []), [("several_starts", "t")]),
        (
            document([START, component("u", "no.such")], [flow("s", "u")]),
            [("unknown_component_type", "u")],
        ),
        (document([START, START], []), [("several_starts", "s"), ("duplicate_component_id", "s")]),
        (document([START], [flow("s", "x")]), [("dangling_connection", None)]),
        (document([START], [flow("x", "y")]), [("dangling_connection", None)] * 2),
        (
            document([START, python("c")], [flow("s", "c"), data("c", "x")]),
            [("dangling_connection", None)],
        ),
        (document([START, python("c"), python("d")], [flow("s", "c")]), [("unreachable_component", "d")]),
        (document([START, component("d", "data.text")], [flow("s", "d")]), [("bad_connection", "d")]),
        (document([START, python("c")], [flow("s", "c"), flow("c", "s", "x")]), [("bad_connection", "s")]),
        (
            document([START, python("c")], [flow("s", "c"), data("s", "c", "out", "in")]),
            [("bad_connection", "s")],
        ),
        (
            document([START, component("e", "io.sleep", seconds=1)], [flow("s", "e"), data("s", "e", "o", "i")]),
            [("bad_connection", "s"), ("bad_connection", "e")],
        ),
        (
            document([START, python("c")], [flow("s", "c"), provider("s", "c", "credential")]),
            [("bad_connection", "s")],
        ),
        (
            document(
                [START, component("k", "provider.credential", name="k"), component("e", "io.sleep", seconds=1)],
                [flow("s", "e"), provider("k", "e", "credential")],
            ),
            [("bad_connection", "e")],
        ),
        (
            document(
                [START, with_ports("e", "flow.end", port("setting", "a"), port("setting", "a"))], [flow("s", "e")]
            ),
            [("duplicate_port", "e")],
        ),
        (
            document([START, with_ports("e", "flow.end", port("setting", "a"), port("other", "a"))], [flow("s", "e")]),
            [],
        ),
        (
            document(
                [START, *(component(i, "data.text", alias="a", persistence="execution") for i in "de")],
                [],
            ),
            [("duplicate_alias", "d"), ("duplicate_alias", "e")],
        ),
        (
            document([START, python("c"), component("d", "data.text")], [flow("s", "c"), data("c", "d", "out")]),
            [("read_only_data", "c")],
        ),
        (
            document(
                [START, python("c"), python("z")],
                [flow("s", "c"), flow("c", "z", "a"), data("c", "z", "o", "i"), data("c", "z", "p", "i")],
            ),
            [("duplicate_input", "z")],
        ),
    ],
)
def test_a_document_is_found_wanting(raw: Json, expected: list[tuple[str, str | None]]) -> None:
    assert codes(raw) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (component("c", "logic.code", code="x"), ["bad_language"]),
        (component("c", "logic.code", language="ruby", code="x"), ["bad_language"]),
        (component("c", "logic.code", language="python"), ["missing_setting"]),
        (component("c", "logic.code", language="python", code=""), ["missing_setting"]),
        (component("c", "io.sleep"), ["missing_setting"]),
        (component("c", "io.sleep", seconds=None), ["missing_setting"]),
        (component("c", "io.sleep", seconds=0), []),
        (component("c", "io.sleep", seconds=-1), ["bad_setting"]),
        (component("c", "io.sleep", seconds="5"), ["bad_setting"]),
        (component("c", "io.sleep", seconds=True), ["bad_setting"]),
        (component("c", "flow.end", status="stopped"), ["bad_setting"]),
        (component("c", "logic.condition", operator="like"), ["bad_setting"]),
        (component("c", "logic.condition", operator="gte"), []),
        (component("c", "logic.switch", cases=[{"equals": 1}]), ["bad_setting"]),
        (component("c", "logic.switch", cases=[{"route": "a", "equals": 1}]), []),
        (component("c", "io.http", headers={"a": 1}), ["bad_setting", "missing_setting"]),
        (component("c", "io.wait_input", alias="a//b"), ["bad_setting"]),
        (component("c", "session.object_read", alias=".."), ["bad_setting"]),
        (component("c", "session.object_write", alias="a"), ["missing_setting"]),
        (component("c", "genai.chat.openai", temperature="hot", max_tokens=0), ["bad_setting"] * 2),
        (component("c", "genai.chat.openai", temperature=1), []),
        (component("c", "workflow.execute", reference="a/b"), ["bad_setting"]),
        (component("c", "workflow.execute", reference="acme/bot/default/answer"), []),
        (component("c", "review.ask", options=["yes"]), ["bad_setting", "missing_setting"]),
    ],
)
def test_each_setting_is_checked(made: Json, expected: list[str]) -> None:
    assert [item.code for item in found(document([START, made], [flow("s", "c")]))] == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (component("d", "data.text", persistence="for ever"), ["bad_setting"]),
        (component("d", "data.integer", value="a text: passed through as it is"), []),
        (component("d", "data.text", alias=5), ["bad_setting"]),
        (component("d", "provider.credential"), ["missing_setting"]),
    ],
)
def test_settings_off_the_path_are_checked_too(made: Json, expected: list[str]) -> None:
    assert [item.code for item in found(document([START, made], []))] == expected


def test_a_setting_may_be_a_bare_text() -> None:
    bare = with_ports("c", "logic.code", port("", "language", "python"), port("", "code", "x = 1"))

    assert found(document([START, bare], [flow("s", "c")])) == []
    assert code_text(parse(document([bare], [])).components[0]) == "x = 1"


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ([flow("s", "a"), flow("a", "b"), flow("b", "a")], ["a"]),
        ([flow("s", "a"), flow("a", "a")], ["a"]),
        ([flow("s", "a"), flow("a", "b")], []),
        ([flow("s", "a"), flow("a", "i"), flow("i", "a", "true"), flow("i", "b", "false")], []),
        ([flow("s", "a"), flow("a", "i"), flow("i", "a", "true")], []),  # `false` ends the path
        ([flow("s", "a"), flow("a", "i"), flow("i", "a", "true"), flow("i", "a", "false")], ["a"]),
        (
            [flow("s", "a"), flow("a", "b"), flow("a", "i"), flow("b", "a"), flow("i", "b", "true")],
            ["a"],
        ),  # both are followed
        ([flow("s", "a"), flow("a", "e"), flow("a", "a")], []),  # the end ends all
        ([flow("s", "l"), flow("l", "a", "item"), flow("a", "l")], []),  # ends the round
        ([flow("s", "l"), flow("l", "a", "done"), flow("a", "l")], ["a"]),  # the loop begins anew
        ([flow("s", "l"), flow("l", "b", "item"), flow("l", "a", "done"), flow("a", "l")], ["a"]),
        ([flow("s", "c"), flow("c", "c", "again")], []),  # the code chooses
        ([flow("s", "f"), flow("f", "f", "success")], ["f"]),  # the code never chooses
        ([flow("s", "f"), flow("f", "f", "success"), flow("f", "b", "failure")], []),
    ],
)
def test_a_circle_without_a_way_out_is_found_and_no_other(edges: list[Json], expected: list[str]) -> None:
    parts = [
        START,
        *(component(i, "io.sleep", seconds=1) for i in "ab"),
        component("i", "logic.condition", operator="eq"),
        component("l", "logic.loop"),
        component("e", "flow.end"),
        python("c", "set_result('again')"),
        python("f", "x = 1"),
    ]

    circles = [item.component_id for item in found(document(parts, edges)) if item.code == "cycle_without_exit"]

    assert circles == expected


def test_a_result_that_leads_nowhere_is_a_warning_only_beside_one_that_leads_on() -> None:
    parts = [START, component("i", "logic.condition", operator="eq"), python("c")]

    assert codes(document(parts[:2], [flow("s", "i")])) == []
    assert codes(document(parts, [flow("s", "i"), flow("i", "c", "true")])) == [("unhandled_route", "i")]
    assert codes(document(parts, [flow("s", "i"), flow("i", "c", "maybe")])) == [
        ("unknown_route", "i"),
        ("unhandled_route", "i"),
        ("unhandled_route", "i"),
    ]


def test_a_switch_has_the_results_of_its_cases() -> None:
    switch = component("w", "logic.switch", cases=[{"route": "a", "equals": 1}])
    edges = [flow("s", "w"), flow("w", "c", "a"), flow("w", "c", "default")]

    assert codes(document([START, switch, python("c")], edges)) == []


def test_findings_about_code_name_their_component_and_line() -> None:
    seen = []

    def check_code(code: str) -> list[CodeLine]:
        seen.append(code)
        return [CodeLine("code_import", 3, "Leave it out.")]

    (item,) = found(document([START, python("c", "import os")], [flow("s", "c")]), check_code)

    assert seen == ["import os"]
    assert (item.type, item.component_id, item.line, item.message) == ("error", "c", 3, "line 3: Leave it out.")


def test_all_that_the_sandbox_finds_is_a_finding_of_the_check() -> None:
    assert {*REFUSED, "unknown_name", "unsupported_name"} <= set(FINDINGS)


def test_warnings_alone_are_a_success() -> None:
    warning, error = (Finding(level, "x", "m") for level in ("warning", "error"))

    assert (status_of([]), status_of([warning]), status_of([warning, error])) == ("success", "success", "failure")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (None, "expected an object"),
        ([], "expected an object"),
        ({"components": {}}, "components is dict"),
        ({"components": [1]}, "components[0] is int"),
        ({"components": [{"type": "flow.start"}]}, "has no id"),
        ({"components": [{"id": "s", "type": "flow.start", "ports": {"a": 1}}]}, "ports is dict"),
        ({"components": [{"id": "s", "type": "flow.start", "ports": [1]}]}, "a port is no object"),
        ({"components": [], "connections": 5}, "connections is int"),
        ({"connections": [{"source_port": "flow_output", "target_port": "data_input"}]}, "two kinds"),
    ],
)
def test_what_cannot_be_read_is_a_finding(raw: Any, message: str) -> None:
    assert any(item.code == "bad_document" and message in item.message for item in found(raw))


_IDS = ("id", "type", "name", "ports", "category", "route", "value", "text", "json")
_ENDS = ("source_id", "target_id", "source_port", "target_port", "source_route", "target_route")
WORDS = [*CATALOGUE, "flow_output", "data_input", "provider_output", "alias", "code", "cases", "a", "b", "text", "json"]
odd_values = st.recursive(
    scalars | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_IDS + _ENDS), inner, max_size=6),
    max_leaves=20,
)


@given(odd_values | st.fixed_dictionaries({"components": st.lists(odd_values), "connections": st.lists(odd_values)}))
def test_no_document_breaks_the_check(raw: Any) -> None:
    assert {item.code for item in found(raw)} <= set(FINDINGS)


@given(st.integers(0, 2**63), st.integers(1, 9))
def test_every_error_of_a_random_document_has_a_place(seed: int, size: int) -> None:
    raw = random_document(seed, size)

    ids = {c["id"] for c in raw["components"]}
    assert all(item.component_id in ids for item in found(raw) if item.code != "dangling_connection")


@pytest.mark.parametrize(
    ("edge", "expected"),
    [
        ({"route": "x"}, ("flow", "", "")),
        ({"source_port": "data_output", "target_port": "data_input", "route": "x"}, ("data", "x", "x")),
        ({"source_port": "data_output", "target_port": "data_input", "target_route": "x"}, ("data", "value", "x")),
        (
            {"source_port": "data_output", "source_id": "c", "target_id": "d", "source_route": "x"},
            ("data", "x", "value"),
        ),
        ({"target_route": "x"}, ("data", "value", "x")),
        ({"target_port": "provider_input", "target_route": "credential"}, ("provider", "", "credential")),
    ],
)
def test_an_edge_is_read_with_what_it_says(edge: Json, expected: tuple[str, str, str]) -> None:
    ends = {"source_id": "d", "target_id": "c"}
    raw = {"components": [component("d", "data.text"), python("c")], "connections": [ends | edge]}

    (made,) = parse(raw).connections

    assert (made.kind, made.source_route, made.target_route) == expected


def test_a_port_is_found_by_its_route_whatever_its_category() -> None:
    (made,) = parse(
        document(
            [
                with_ports("c", "x.y", port("odd", "alias", "a")),
            ],
            [],
        )
    ).components

    assert made.setting("alias") == "a"
    assert made.setting("other") is None


def test_a_person_can_register_a_component_once() -> None:
    mine = ComponentType("acme.ocr", (PortType("image", "data_input", "file"),), ("success",), "flow", "OCR", "Reads.")
    catalogue.register(mine)
    try:
        assert codes(document([START, component("c", "acme.ocr")], [flow("s", "c")])) == []
        with pytest.raises(ValueError, match="already"):
            catalogue.register(mine)
    finally:
        del CATALOGUE["acme.ocr"]


@pytest.mark.parametrize("name", ["ocr", "Acme.ocr", "acme.", "acme..x", ""])
def test_a_component_type_is_dotted_words(name: str) -> None:
    with pytest.raises(ValueError, match="dotted"):
        catalogue.register(ComponentType(name, (), (), "flow", "", ""))


def test_a_component_type_has_no_port_twice() -> None:
    twice = (PortType("a", "data_input"), PortType("a", "data_input"))

    with pytest.raises(ValueError, match="twice"):
        catalogue.register(ComponentType("acme.twice", twice, (), "flow", "", ""))


def test_the_catalogue_has_every_type_of_the_documents() -> None:
    named = """flow.start flow.end flow.parallel flow.join data.message data.messages data.text data.integer data.float
        data.boolean data.choice data.json logic.code logic.condition logic.switch logic.loop io.http io.wait_input
        io.sleep genai.chat.openai genai.chat.echo provider.credential workflow.execute session.object_read
        session.object_write review.ask"""

    assert set(CATALOGUE) == set(named.split())


GRID = {"type": "grid", "columns": 12}


def widget(name: str, *position: Any) -> Json:
    return {"id": name, "type": "widget.chat", "position": dict(zip("xywh", position, strict=False))}


@pytest.mark.parametrize(
    "layout", [{}, {"type": "rows"}, {"type": "grid"}, {"type": "grid", "columns": 0}, GRID | {"a": 1}]
)
def test_a_playground_has_one_of_two_layouts(layout: Json) -> None:
    with pytest.raises(HubRefused) as refused:
        playground.check_layout(layout)

    assert refused.value.code == "invalid_layout"


@pytest.mark.parametrize(
    ("document_", "layout", "code"),
    [
        ({"layout": GRID}, {"type": "free_form"}, "invalid_layout"),
        ({}, GRID, "invalid_layout"),
        ([], GRID, "invalid_layout"),
        ({"layout": GRID, "components": [widget("a", 10, 0, 3, 1)]}, GRID, "invalid_component_position"),
        ({"layout": GRID, "components": [widget("a", 0, 0, 0, 1)]}, GRID, "invalid_component_position"),
        ({"layout": GRID, "components": [widget("a", 0, 0)]}, GRID, "invalid_component_position"),
        (
            {"layout": GRID, "components": [widget("a", 0, 0, 2, 2), widget("b", 1, 1, 2, 2)]},
            GRID,
            "invalid_component_position",
        ),
    ],
)
def test_a_playground_that_does_not_fit_its_layout_is_refused(document_: Any, layout: Json, code: str) -> None:
    with pytest.raises(HubRefused) as refused:
        playground.check_document(document_, layout)

    assert refused.value.code == code


def test_a_playground_that_fits_is_taken() -> None:
    playground.check_document({"components": [widget("a", -5.5, 3)]}, playground.check_layout({"type": "free_form"}))
    beside = [widget("a", 0, 0, 2, 2), widget("b", 2, 0, 10, 2), widget("c", 0, 2, 12, 1)]
    playground.check_document({"layout": GRID, "components": beside}, playground.check_layout(GRID))
