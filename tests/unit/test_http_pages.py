"""What a person's browser gets from /docs."""

import re

from turnbuckle.http.endpoints import ENDPOINTS
from turnbuckle.http.pages import pages


def test_the_page_shows_each_endpoint_once_and_each_of_its_refusals_once() -> None:
    _, write = pages(lambda: b"{}")["/docs"]

    _, *sections = write().decode().split("<h2>")

    assert len(sections) == len(ENDPOINTS)
    for section in sections:
        refusals = re.findall(r"\d{3} <code>\w+</code>", section)
        assert refusals
        assert len(refusals) == len(set(refusals)), section
