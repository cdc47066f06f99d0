"""The debugger page in a real browser, on a server that plays a run."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import documents
from tests.browser.documents import SUPPORT, message
from tests.browser.fake_hub import KEY, READ_KEY, FakeHub

Look = Callable[..., Page]
QUESTION = message("Where is my order?")
FOUND = {"type": "json", "json": {"order": 36}}


def support(**more: Any) -> FakeHub:
    """A run that is at the model."""
    hub = FakeHub(SUPPORT, record={"input_data": [{"alias": "question", "value": QUESTION}]}, **more)
    hub.post("flow.entered", "The run of answer-question begins")
    hub.enter("start")
    hub.leave("start", "next", duration_ms=0)
    hub.enter("look")
    hub.leave("look", "known", {"question": QUESTION}, {"found": FOUND}, duration_ms=1530)
    hub.enter("model")
    return hub


def node(page: Page, component_id: str) -> Locator:
    return page.locator(f'[data-id="{component_id}"]')


def inspector(page: Page) -> Locator:
    return page.locator("#inspector")


def expect_state(page: Page, component_id: str, state: str) -> None:
    expect(node(page, component_id)).to_have_attribute("data-state", state)


def follows(hub: FakeHub) -> None:
    """The page has looked at the run once more from now on."""
    looks = hub.queries.count("get_execution")
    deadline = time.monotonic() + 10
    while hub.queries.count("get_execution") <= looks + 1:
        assert time.monotonic() < deadline, "the page does not look any more"
        time.sleep(0.02)


# -- following -----------------------------------------------------------------------------------------------------


def test_the_picture_follows_the_run(look: Look) -> None:
    hub = support()
    page = look(hub)
    expect_state(page, "look", "done")
    expect_state(page, "model", "running")
    expect_state(page, "review", "waiting")
    expect(page.locator("#status")).to_have_text("running")

    hub.leave("model", "success", duration_ms=823)
    expect_state(page, "model", "done")
    hub.enter("end")
    hub.leave("end", "next")
    hub.end("completed")

    expect(page.locator("#status")).to_have_text("completed")
    expect_state(page, "end", "done")
    expect_state(page, "review", "unreached")
    expect(node(page, "look")).to_contain_text("known · 1.53 s")
    expect(page.locator(".edge.taken")).to_have_count(3)
    expect(page).to_have_title("answer-question · completed")


def test_the_page_leaves_a_run_that_has_ended(look: Look) -> None:
    hub = support()
    page = look(hub)
    expect_state(page, "model", "running")
    hub.end("stopped", "The run was stopped")
    expect(page.locator("#status")).to_have_text("stopped")
    expect_state(page, "model", "stopped")
    page.wait_for_timeout(4_000)  # it looks twice more, for last events

    looks = len(hub.queries)
    page.wait_for_timeout(2_500)

    assert len(hub.queries) == looks


def test_a_failed_run_says_why_and_where(look: Look) -> None:
    hub = support()
    hub.post("processor.error", "Ask the model: no answer in 30 s", attributes=hub._about("model"))
    hub.leave("model", "failure", error={"code": "timeout", "message": "no answer in 30 s"})
    hub.end("failed", error={"code": "timeout", "message": "No answer in 30 s", "component_id": "model"})
    page = look(hub)

    expect(page.locator("#banner")).to_contain_text("No answer in 30 s (timeout)")
    expect_state(page, "model", "failed")
    page.get_by_role("button", name="Show the component").click()

    expect(inspector(page)).to_contain_text("Ask the model: no answer in 30 s")


def test_every_event_is_shown_once_across_pages_equal_times_and_late_ones(look: Look) -> None:
    hub = support()
    for number in range(3_000):
        hub.post("processor.output", f"line {number}", at_ms=100 + number // 150, attributes=hub._about("model"))
    page = look(hub)
    expect(page.locator("#count")).to_have_text("3,006")

    hub.post("processor.output", "of the same moment", at_ms=100 + 2_999 // 150, attributes=hub._about("model"))
    late = {**hub.events[5], "id": "late", "message": "a late one", "created_at": hub.events[-300]["created_at"]}
    hub.events.insert(-300, late)

    expect(page.locator("#count")).to_have_text("3,008")
    follows(hub)
    texts = page.locator("#events .message").all_text_contents()
    assert len(texts) == 3_008
    assert {"a late one", "of the same moment", *(f"line {n}" for n in range(3_000))} <= set(texts)


def test_ten_thousand_events_are_there_soon(look: Look) -> None:
    hub = support(page_events=1_000)
    for number in range(10_000):
        hub.post("processor.output", f"line {number}", at_ms=100 + number, attributes=hub._about("model"))
    hub.end("completed")
    began = time.monotonic()

    page = look(hub)
    expect(page.locator("#count")).to_have_text("10,007")
    expect(page.locator("#events li").last).to_be_in_viewport()

    assert time.monotonic() - began < 10


# -- a component ---------------------------------------------------------------------------------------------------


def test_what_a_component_took_and_gave_is_fetched_when_somebody_looks(look: Look) -> None:
    hub = support()
    page = look(hub)
    expect_state(page, "look", "done")
    follows(hub)
    assert "get_execution_data" not in hub.queries

    node(page, "look").click()

    expect(inspector(page)).to_contain_text("Where is my order?")
    expect(inspector(page)).to_contain_text('"order": 36')
    expect(inspector(page)).to_contain_text("1.53 s")
    expect(inspector(page).locator("dd", has_text="known")).to_be_visible()
    follows(hub)
    assert hub.queries.count("get_execution_data") == 1


def test_numbers_and_texts_are_shown_exactly_and_never_as_html(look: Look) -> None:
    odd = '{"n": 123456789012345678901, "f": 1.0, "e": 1E5, "z": -0, "nul": "a\\u0000b"}'
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    hub = support()
    hub.data["data-4"]["value"]["outputs"] = {
        "found": {"type": "json", "json": "ODD"},
        "said": documents.text(f"{markup}\x00\u202eabc"),
    }
    hub.raw = {'"ODD"': odd}
    hub.post("processor.output", markup, attributes=hub._about("look") | {"processor_name": markup})
    page = look(hub)

    node(page, "look").click()

    found = inspector(page).locator(".value", has_text="found").locator("pre")
    expect(found).to_contain_text('"n": 123456789012345678901')
    for shown in ('"f": 1.0', '"e": 1E5', '"z": -0', '"nul": "a\\u0000b"'):
        expect(found).to_contain_text(shown)
    expect(inspector(page).locator(".prose", has_text="onerror")).to_have_text(f"{markup}\\u0000\\u202eabc")
    expect(page.locator("#events .message", has_text="onerror")).to_have_text(markup)
    assert page.locator("main img, main script").count() == 0


def test_each_round_of_a_loop_can_be_looked_at(look: Look) -> None:
    hub = FakeHub(documents.looped(10))
    for number in range(12):
        hub.enter("loop")
        hub.leave("loop", "item", outputs={"index": {"type": "integer", "integer": number}})
    page = look(hub)
    expect(node(page, "loop")).to_contain_text(re.compile(r"12.\ · item"))

    node(page, "loop").click()
    expect(inspector(page)).to_contain_text("Run 12 of 12")
    expect(inspector(page).locator(".prose")).to_have_text("11")
    page.get_by_role("button", name="Run before").click()

    expect(inspector(page)).to_contain_text("Run 11 of 12")
    expect(inspector(page).locator(".prose")).to_have_text("10")


def test_a_data_component_shows_what_it_was_given_and_held_at_the_end(look: Look) -> None:
    hub = support()
    hub.end("completed", outputs={"answer": message("On its way", "assistant"), "question": QUESTION})
    page = look(hub)

    node(page, "question").click()
    expect(inspector(page).locator(".prose").first).to_have_text("Where is my order?")
    node(page, "answer").click()

    expect(inspector(page)).to_contain_text("At the end")
    expect(inspector(page).locator(".payload .prose")).to_have_text("On its way")


def test_the_log_finds_events_and_gives_them_as_json_lines(look: Look) -> None:
    hub = support()
    page = look(hub)
    shown = page.locator("#events li:visible")
    expect(shown).to_have_count(6)

    page.locator("#filter").fill("look it up")
    expect(shown).to_have_count(2)
    shown.first.click()
    expect(inspector(page).locator("h2")).to_have_text("Look it up")
    with page.expect_download() as download:
        page.locator("#download").click()

    lines = download.value.path().read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == hub.events


# -- who may look --------------------------------------------------------------------------------------------------


def test_a_key_is_asked_for_once_and_never_stands_in_an_address(look: Look) -> None:
    hub = support(is_public=False)
    page = look(hub)
    expect(page.get_by_role("heading", name="A key is needed")).to_be_visible()

    page.get_by_label("API key").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The key was not accepted")).to_be_visible()
    page.get_by_label("API key").fill(READ_KEY)
    page.keyboard.press("Enter")
    expect_state(page, "look", "done")
    page.reload()
    expect_state(page, "look", "done")

    assert READ_KEY not in page.url
    assert not any(READ_KEY in address for address in hub.addresses)
    assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
    page.get_by_role("button", name="Forget key").click()
    expect(page.get_by_role("heading", name="A key is needed")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_an_unknown_run_is_named_as_such(look: Look) -> None:
    hub = support(is_public=False)
    page = look(hub)
    page.get_by_label("API key").fill(READ_KEY)
    page.keyboard.press("Enter")
    expect_state(page, "look", "done")

    page.goto(page.url.replace("01/5f2c", "99/5f2c"))

    expect(page.get_by_role("heading", name="This run is unknown here")).to_be_visible()


def test_a_key_of_odd_characters_is_refused_and_not_tried_for_ever(look: Look) -> None:
    page = look(support(is_public=False))
    page.get_by_label("API key").fill("Schlüssel €")

    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="The key was not accepted")).to_be_visible()


def test_a_server_that_goes_away_is_waited_for(look: Look) -> None:
    hub = support()
    page = look(hub)
    expect_state(page, "model", "running")

    hub.is_away = True
    expect(page.locator("#banner")).to_contain_text("The server does not answer.")
    expect_state(page, "look", "done")
    hub.leave("model", "success")
    hub.is_away = False

    expect_state(page, "model", "done")
    expect(page.locator("#banner")).to_be_hidden()


def test_a_server_that_is_away_at_first_is_waited_for(look: Look) -> None:
    hub = support(is_away=True)
    page = look(hub)
    expect(page.get_by_role("heading", name="The server is away")).to_be_visible()

    hub.is_away = False

    expect_state(page, "look", "done")


def test_a_definition_out_of_reach_leaves_the_components_that_ran(look: Look) -> None:
    hub = support(hides_definition=True)
    page = look(hub)
    expect(page.locator(".node")).to_have_count(3)
    expect(page.locator("#banner")).to_contain_text("out of this key's reach")

    hub.leave("model", "success")
    hub.enter("end")

    expect(page.locator(".node")).to_have_count(4)
    expect_state(page, "end", "running")


# -- what can be done ----------------------------------------------------------------------------------------------


def with_key(page: Page, key: str = KEY) -> None:
    page.get_by_role("button", name="Use a key").click()
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Forget key")).to_be_visible()


def test_a_run_is_stopped_after_a_question(look: Look) -> None:
    hub = support()
    page = look(hub)
    with_key(page)

    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Cancel").click()
    assert hub.commands == []
    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop the run").click()

    expect(page.locator("#status")).to_have_text("stopping")
    expect(page.get_by_role("button", name="Stop…")).to_have_count(0)
    assert [one["command"] for one in hub.commands] == ["stop_execution"]


@pytest.mark.parametrize(
    ("key", "told"), [(None, "This needs a key"), (READ_KEY, "not change it: use one of role write")]
)
def test_who_may_only_read_is_told_so(look: Look, key: str | None, told: str) -> None:
    page = look(support())
    if key is not None:
        with_key(page, key)

    page.get_by_role("button", name="Stop…").click()
    page.get_by_role("button", name="Stop the run").click()

    expect(page.locator("dialog")).to_contain_text(told)


def test_what_was_refused_can_be_read_for_a_while(look: Look) -> None:
    hub = support()
    hub.post("processor.paused", "Paused before End", attributes=hub._about("end"))
    page = look(hub)

    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#banner")).to_have_text("This needs a key: choose “Use a key”.")
    follows(hub)

    expect(page.locator("#banner")).to_be_visible()


def test_a_run_at_a_breakpoint_is_continued(look: Look) -> None:
    hub = support()
    hub.leave("model", "success")
    hub.post("processor.paused", "Paused before End", attributes=hub._about("end") | {"component_key": "c.6"})
    page = look(hub)
    with_key(page)
    expect(page.locator("#status")).to_have_text("paused")
    expect_state(page, "end", "paused")

    page.get_by_role("button", name="Continue").click()
    hub.enter("end")

    expect(page.locator("#status")).to_have_text("running")
    expect_state(page, "end", "running")
    assert [one["command"] for one in hub.commands] == ["continue_execution"]


def test_a_fork_takes_edited_outputs_exactly(look: Look) -> None:
    hub = support()
    page = look(hub)
    with_key(page)
    node(page, "look").click()
    page.get_by_role("button", name="Fork from here…").click()
    box = page.get_by_label("Output found")

    box.fill('{"type": "json", "json": ')
    page.get_by_role("button", name="Start the fork").click()
    expect(page.locator("dialog")).to_contain_text("The output found is no JSON")
    box.fill('{"type": "json", "json": 123456789012345678901}')
    page.get_by_label("Leaves by").fill("unknown")
    page.get_by_text("Dry run").click()
    page.get_by_role("button", name="Start the fork").click()

    page.wait_for_url("**/5f2c1f0e-31c8-4f0b-8f0a-6a0f7d5c9bff?revision=*")
    [fork] = hub.commands
    assert fork["outputs"] == [{"route": "found", "value": {"type": "json", "json": 123456789012345678901}}]
    assert (fork["component_key"], fork["route"], fork["dry_run"]) == ("c.look.4", "unknown", True)


# -- how it looks --------------------------------------------------------------------------------------------------


def boxes(page: Page) -> list[dict[str, float]]:
    measure = "(n) => ({x: n.offsetLeft, y: n.offsetTop, w: n.offsetWidth, h: n.offsetHeight})"
    found: list[dict[str, float]] = page.locator(".node").evaluate_all(f"nodes => nodes.map({measure})")
    return found


def overlapping(found: list[dict[str, float]]) -> int:
    return sum(
        a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]
        for i, a in enumerate(found)
        for b in found[i + 1 :]
    )


@pytest.mark.parametrize("size", [60, 400])
def test_many_components_lie_left_to_right_without_overlap(look: Look, size: int) -> None:
    hub = FakeHub(documents.looped(size))
    page = look(hub)
    expect(page.locator(".node")).to_have_count(size)

    found = boxes(page)

    assert overlapping(found) == 0
    starts = node(page, "start").evaluate("node => node.offsetLeft")
    assert starts == min(box["x"] for box in found)


def test_positions_of_the_document_are_kept_and_spread(look: Look) -> None:
    page = look(FakeHub(documents.positioned()))
    expect(page.locator(".node")).to_have_count(7)
    places = {
        id: node(page, id).evaluate("node => [node.offsetLeft, node.offsetTop]") for id in ("start", "model", "end")
    }

    assert overlapping(boxes(page)) == 0
    assert places["start"][0] < places["model"][0] < places["end"][0]
    assert places["model"][1] < places["start"][1] == places["end"][1]


def test_positions_on_one_another_are_not_used(look: Look) -> None:
    components = [one | {"position": {"x": 0, "y": 0}} for one in SUPPORT["components"]]
    page = look(FakeHub(documents.document(components, SUPPORT["connections"])))
    expect(page.locator(".node")).to_have_count(7)

    assert overlapping(boxes(page)) == 0


def test_a_document_that_is_odd_everywhere_is_drawn_as_far_as_it_goes(look: Look) -> None:
    odd: dict[str, Any] = {
        "components": [{"id": "a", "type": 3, "ports": {}}, {"id": "a"}, {"id": 7}, None, {"id": "b", "position": "x"}],
        "connections": [{"source_id": "a", "target_id": "b"}, {"source_id": "a", "target_id": "gone"}, 4,
                        {"source_id": "b", "target_id": "b"}],
    }  # fmt: skip
    page = look(FakeHub(odd))

    expect(page.locator(".node")).to_have_count(2)
    expect(page.locator(".edge")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_in_both_schemes(look: Look, scheme: str) -> None:
    """Contrast of at least 4.5, as WCAG AA asks for."""
    hub = support()
    hub.post("processor.error", "an error", attributes=hub._about("model"))
    hub.leave("model", "failure")
    hub.post("processor.warning", "a warning", attributes=hub._about("end"))
    hub.end("failed", error={"code": "x", "message": "An error", "component_id": "model"})
    page = look(hub, color_scheme=scheme)
    node(page, "look").click()
    expect(inspector(page)).to_contain_text("Outputs")

    assert page.evaluate(_LOW_CONTRAST) == []


_LOW_CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const over = ([r, g, b, a], [x, y, z]) => [r, g, b].map((c, i) => c * a / 255 + [x, y, z][i] * (1 - a / 255));
  const behind = (element) => {
    const chain = [];
    for (let e = element; e; e = e.parentElement) chain.unshift(getComputedStyle(e).backgroundColor);
    return chain.reduce((under, color) => over(rgba(color), under), [255, 255, 255]);
  };
  const light = (color) => {
    const [r, g, b] = [...color].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const low = [];
  for (const element of document.querySelectorAll("body *:not(svg *)")) {
    const texts = [...element.childNodes].filter((n) => n.nodeType === 3 && n.data.trim());
    if (!texts.length || !element.checkVisibility() || element.matches(":disabled")) continue;
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push([texts[0].data.slice(0, 30), ((a + 0.05) / (b + 0.05)).toFixed(2)]);
  }
  return low;
}"""


def test_a_narrow_window_needs_no_scrolling_sideways(look: Look) -> None:
    hub = support()
    page = look(hub, viewport={"width": 360, "height": 740})
    node(page, "look").click()
    expect(inspector(page)).to_contain_text("Outputs")

    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_graph_is_used_by_keyboard(look: Look) -> None:
    page = look(support())
    expect_state(page, "look", "done")
    page.locator("#fit").focus()

    page.keyboard.press("Tab")
    expect(node(page, "start")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(node(page, "look")).to_be_focused()
    page.keyboard.press("Enter")
    expect(inspector(page).locator("h2")).to_have_text("Look it up")
    expect(node(page, "look")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")

    expect(inspector(page).locator("h2")).to_have_text("The run")


def test_the_events_are_used_by_keyboard(look: Look) -> None:
    page = look(support())
    expect(page.locator("#events li").nth(5)).to_be_visible()
    page.locator("#download").focus()

    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")

    expect(page.locator("#events li").nth(4).locator("pre")).to_contain_text('"route": "known"')
    expect(inspector(page).locator("h2")).to_have_text("Look it up")


def test_a_banner_stays_as_it_is_while_nothing_new_is_to_be_said(look: Look) -> None:
    """A reader of the screen hears it once, and its button keeps the focus."""
    hub = support()
    hub.end("failed", error={"code": "timeout", "message": "No answer in 30 s", "component_id": "model"})
    page = look(hub)
    show = page.get_by_role("button", name="Show the component")
    show.focus()

    follows(hub)

    expect(show).to_be_focused()


def test_a_question_for_a_key_can_be_left(look: Look) -> None:
    hub = support()
    page = look(hub)
    page.get_by_role("button", name="Use a key").click()
    expect(page.locator("#workspace")).to_be_hidden()

    page.get_by_role("button", name="Back to the run").click()
    hub.leave("model", "success")

    expect_state(page, "model", "done")


def test_the_picture_goes_to_where_the_run_is(look: Look) -> None:
    hub = FakeHub(documents.looped(60))
    page = look(hub)
    expect(page.locator(".node")).to_have_count(60)
    expect(node(page, "end")).not_to_be_in_viewport()

    hub.enter("end")

    expect(node(page, "end")).to_be_in_viewport()
