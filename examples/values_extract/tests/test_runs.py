"""Whole turns over texts that change and people who answer: what the graph holds afterwards."""

from dataclasses import replace

from tests.fake_server import FakeServer
from values_extract.ontology import ontology, trigger
from values_extract.review_items import legacy_value_key, value_item_key
from values_extract.settings import DEFAULTS

DESK = "Width 120 cm, depth about 60 cm. Made of oak."


async def with_desk() -> tuple[FakeServer, str]:
    """A desk that was read once: width and material are written, the depth is asked."""
    server = FakeServer()
    desk = server.put("Desk", DESK)
    await server.run()
    assert server.values(desk) == {"width_cm": 120.0, "material": "oak"}
    return server, desk


async def test_what_a_later_text_does_not_say_any_more_is_removed_with_its_source() -> None:
    server, desk = await with_desk()
    server.put("Desk", "Width 120 cm.")

    await server.run()

    assert server.values(desk) == {"width_cm": 120.0}
    assert set(server.sources(desk)) == {"width_cm"}
    assert len([fields for fields in server.fields.values() if "support" in fields]) == 1


async def test_a_text_that_is_gone_takes_its_values_along_and_costs_no_model_call() -> None:
    server, desk = await with_desk()
    server.put("Desk", "")

    await server.run()

    assert server.values(desk) == {}
    assert server.sources(desk) == {}
    assert server.calls == {"reason": 1, "decide": 1}


async def test_the_same_value_quoted_elsewhere_has_its_new_quote_as_evidence() -> None:
    server, desk = await with_desk()
    server.put("Desk", "Made of oak. It is 120 cm wide.")

    await server.run()

    assert server.values(desk)["width_cm"] == 120.0
    assert server.sources(desk)["width_cm"]["text"] == "120 cm wide"


async def test_an_accepted_value_is_written_with_the_others_from_the_next_run_on() -> None:
    server, desk = await with_desk()
    server.answer(desk, "depth_cm", "accept")

    counters = await server.run()

    assert server.values(desk) == {"width_cm": 120.0, "depth_cm": 60.0, "material": "oak"}
    assert server.sources(desk)["depth_cm"]["text"] == "depth about 60 cm"
    assert counters["review"] == 0


async def test_a_new_text_against_a_persons_value_asks_again_and_leaves_value_and_source() -> None:
    server, desk = await with_desk()
    shelf = server.put("Shelf", "Width 80 cm, depth 30 cm.")
    server.answer(desk, "depth_cm", "correct", 62.0)
    await server.run()
    server.put("Desk", "Width 120 cm, depth 70 cm. Made of oak.")
    server.put("Shelf", "Width 80 cm.")

    await server.run()

    assert server.values(desk) == {"width_cm": 120.0, "depth_cm": 62.0, "material": "oak"}
    assert set(server.sources(desk)) == {"width_cm", "depth_cm", "material"}
    asked = server.item(desk, "depth_cm")
    assert (asked["status"], asked["question"]["value"]) == ("open", 70.0)
    assert asked["previous_answer"] == {"decision": "correct", "value": 62.0}
    assert server.values(shelf) == {"width_cm": 80.0}, "what one instance holds keeps nothing of another"
    assert set(server.sources(shelf)) == {"width_cm"}


async def test_a_rejected_value_is_not_written_even_when_the_text_says_it_plainly_now() -> None:
    server, desk = await with_desk()
    server.answer(desk, "depth_cm", "reject")
    server.put("Desk", "Width 120 cm, depth 60 cm. Made of oak.")

    await server.run()

    assert "depth_cm" not in server.values(desk)
    assert server.open_items() == []


async def test_a_value_the_graph_refused_is_not_written() -> None:
    server, desk = await with_desk()
    server.answer(desk, "depth_cm", "correct", -5.0, error="depth_cm must be positive")

    await server.run()

    assert "depth_cm" not in server.values(desk)


async def test_an_answer_under_a_key_of_the_older_form_counts() -> None:
    server, desk = await with_desk()
    item = server.item(desk, "depth_cm")
    del server.reviews[item["key"]]
    old = legacy_value_key("values-extract", desk.rpartition("/")[2], "depth_cm", 60.0)
    server.reviews[old] = item | {"key": old, "status": "answered", "answer": {"decision": "reject"}}

    counters = await server.run()

    assert counters["review"] == 0
    assert server.open_items() == []


async def test_a_question_names_the_case_and_holds_what_an_accept_writes() -> None:
    server, desk = await with_desk()

    item = server.item(desk, "depth_cm")

    assert item["key"] == value_item_key("values-extract", desk.rpartition("/")[2], "depth_cm")
    assert item["question"] == {"property": "depth_cm", "value": 60.0, "unit": "cm", "confidence": 0.6}
    assert item["subject"] == {"iri": desk, "type": "Product", "name": "Desk"}
    assert item["origin"] == {"kind": "agent", "id": "starter:values-extract", "label": "values.extract"}
    assert item["workflow"]["name"] == "values-extract"
    instance, source = item["facts"]["entity_properties"]
    assert instance["properties"] == {"depth_cm": 60.0}
    assert source["properties"] == {"property": "depth_cm", "value": "60", "support": 0.6}
    assert item["facts"]["summary"] == "Desk: depth_cm = 60 cm"


async def test_an_instance_the_model_refuses_goes_back_to_the_watch_and_keeps_what_it_has() -> None:
    server, desk = await with_desk()
    server.put("Shelf", "Width 80 cm.")
    server.refuses = {"Desk"}

    counters = await server.run()

    assert [item["instance"] for item in server.requeued] == [desk]
    assert "too large" in server.requeued[0]["error"]
    assert server.values(desk) == {"width_cm": 120.0, "material": "oak"}
    assert (counters["instances"], counters["failed"], counters["written"]) == (2, 1, 1)


async def test_a_text_too_long_for_one_call_fails_its_instance_without_a_call() -> None:
    server = FakeServer()
    server.put("Novel", "long " * 50_000)

    counters = await server.run()

    assert counters["failed"] == 1
    assert not server.calls


async def test_a_model_that_says_more_than_a_step_can_save_fails_its_instance_alone() -> None:
    server = FakeServer()
    server.put("Desk", DESK)
    shelf = server.put("Shelf", "Width 80 cm.")
    server.proposals["Desk"] = [{"property": "color", "value": "x" * 70_000, "unit": "", "quote": "x"}]

    counters = await server.run()

    assert server.values(shelf) == {"width_cm": 80.0}
    assert (counters["failed"], counters["written"]) == (1, 1)


async def test_a_large_message_takes_several_turns() -> None:
    """A turn has 64 steps, a message up to 64 instances."""
    server = FakeServer()
    products = [server.put(f"Desk {number}", f"Width {number + 1} cm.") for number in range(40)]

    counters = await server.run(removed=("https://littlebigbrain.com/e/" + "0" * 32,))

    assert [server.values(iri)["width_cm"] for iri in products] == [number + 1 for number in range(40)]
    assert (counters["instances"], counters["removed"], counters["commits"]) == (40, 1, 3)


async def test_bad_proposals_are_counted_each_by_its_kind() -> None:
    server = FakeServer()
    desk = server.put("Desk", DESK)
    server.proposals["Desk"] = [
        {"property": "height_cm", "value": "70", "unit": "cm", "quote": "70 cm"},
        {"property": "width_cm", "value": "120", "unit": "cm", "quote": "Width 120 cm"},
        {"property": "width_cm", "value": "60", "unit": "cm", "quote": "about 60 cm"},
        {"property": "depth_cm", "value": "deep", "unit": "", "quote": "depth"},
        {"property": "material", "value": "pine", "unit": "", "quote": "Made of oak"},
    ]

    counters = await server.run()

    assert server.values(desk) == {"width_cm": 120.0}
    bad = ("unknown_property", "duplicate", "invalid_value", "quote_not_found")
    assert [counters[name] for name in bad] == [1, 1, 1, 1]
    assert counters["values_proposed"] == 5


async def test_the_gate_is_a_setting() -> None:
    server = FakeServer(replace(DEFAULTS, gate=0.5))
    desk = server.put("Desk", DESK)

    await server.run()

    assert server.values(desk)["depth_cm"] == 60.0
    assert server.open_items() == []


def test_the_trigger_owns_what_the_workflow_writes_and_the_ontology_declares_it() -> None:
    owned = trigger()["owns"]
    declared = {op["name"] for op in ontology()}

    assert owned["properties"] == ["width_cm", "depth_cm", "material", "color"]
    assert {*owned["properties"], *owned["relations"], *owned["classes"], "Product", "text"} <= declared
    assert {op["name"]: op["unit"] for op in ontology() if "unit" in op} == {"width_cm": "cm", "depth_cm": "cm"}
