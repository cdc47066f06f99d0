"""What a person's browser gets: the first page, and /docs."""

import re

from turnbuckle.http.endpoints import ENDPOINTS
from turnbuckle.http.openapi import document
from turnbuckle.http.pages import pages


def page(path: str) -> str:
    _, write = pages(lambda: b"{}")[path]
    return write().decode()


def test_the_page_shows_each_endpoint_once_and_each_of_its_refusals_once() -> None:
    _, *sections = page("/docs").split("<h2>")

    assert len(sections) == len(ENDPOINTS)
    for section in sections:
        refusals = re.findall(r"\d{3} <code>\w+</code>", section)
        assert refusals
        assert len(refusals) == len(set(refusals)), section


def test_each_shape_that_is_named_is_shown_with_all_its_fields() -> None:
    _, *sections = page("/docs").split("<h3 ")
    shown = {re.findall(r'id="(\w+)"', one)[0]: re.findall(r"<li><code>(\w+)</code>", one) for one in sections}

    assert shown == {name: list(shape["properties"]) for name, shape in document()["components"]["schemas"].items()}
    assert set(re.findall(r'href="#(\w+)"', page("/docs"))) <= shown.keys()


def test_a_field_tells_its_kind_and_whether_it_is_required() -> None:
    shapes = page("/docs").split('<h3 id="WorkflowMessageRequest">')[1].split("<h3 ")[0]

    assert "<li><code>id</code>: string, required</li>" in shapes
    assert "<li><code>message</code>: any JSON, required</li>" in shapes


def test_query_parameters_are_told_with_their_kind() -> None:
    section = page("/docs").split("<h2><code>GET /v1/workflows/instances/inbox</code></h2>")[1].split("<h2>")[0]

    assert "<li><code>id</code>: string, required</li><li><code>after</code>: integer</li>" in section


def test_the_first_page_leads_to_the_others() -> None:
    paths = re.findall(r'href="([^"]+)"', page("/"))

    known = {"/docs", "/openapi.json", *(one.path for one in ENDPOINTS if one.method == "GET")}
    assert "/docs" in paths
    assert set(paths) <= known
