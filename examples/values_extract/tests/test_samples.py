"""The workflow on the samples, with mock models and no server: what it writes is what the answer key says."""

import json

import pytest

from tests.fake_server import FakeServer, WorkerDied
from values_extract import samples
from values_extract.coerce import coerce
from values_extract.quotes import quote_holds
from values_extract.settings import DEFAULTS

OUTCOME = {
    "instances": 6,
    "values_proposed": 22,
    "written": 16,
    "review": 4,
    "weak_support": 2,
    "quote_not_found": 0,
    "invalid_value": 0,
    "unknown_property": 0,
    "duplicate": 0,
    "failed": 0,
    "commits": 1,
    "removed": 0,
}


def with_samples() -> tuple[FakeServer, dict[str, str]]:
    """A server with the sample records, and their IRIs by name."""
    server = FakeServer()
    return server, {one["name"]: server.put(one["name"], one["text"]) for one in samples.records()}


async def test_the_samples_give_what_the_answer_key_says() -> None:
    server, iris = with_samples()

    counters = await server.run()

    assert counters == OUTCOME
    for record in samples.expected()["records"]:
        sure = [value for value in record["values"] if "stated" not in value]
        expected = {one["property"]: coerce(one["value"], DEFAULTS.properties[one["property"]]).value for one in sure}
        assert server.values(iris[record["name"]]) == expected


async def test_the_samples_cost_twelve_model_calls_and_one_commit() -> None:
    server, _ = with_samples()

    await server.run()

    assert server.calls == {"reason": 6, "decide": 6}
    assert len(server.commit_keys_sent) == 1


async def test_a_person_is_asked_for_each_value_that_the_key_says_is_not_plain() -> None:
    server, _ = with_samples()

    await server.run()

    asked = {(item["subject"]["name"], item["question"]["property"]) for item in server.open_items()}
    assert asked == {
        (record["name"], value["property"])
        for record in samples.expected()["records"]
        for value in record["values"]
        if "stated" in value
    }
    reasons = {item["subject"]["name"]: item["rationale"] for item in server.open_items()}
    assert "the text says m, not cm" in reasons["Fjord wall shelf"]
    assert "the text says mm, not cm" in reasons["Quay hall bench"]
    assert "the text states no unit" in reasons["Lantern side table"]
    assert "by 0.60, less than 0.80" in reasons["Ember armchair"]


async def test_each_written_value_has_a_source_whose_evidence_is_a_quote_of_the_text() -> None:
    server, iris = with_samples()

    await server.run()

    for record in samples.records():
        iri = iris[record["name"]]
        sources = server.sources(iri)
        assert set(sources) == set(server.values(iri))
        assert all(quote_holds(record["text"], evidence["text"]) for evidence in sources.values())
        assert all(evidence["source_id"] == iri for evidence in sources.values())


async def test_a_second_run_over_the_same_texts_changes_nothing() -> None:
    server, iris = with_samples()
    await server.run()
    before = ({iri: dict(server.values(iri)) for iri in iris.values()}, set(server.edges))

    counters = await server.run()

    assert counters == OUTCOME
    assert ({iri: dict(server.values(iri)) for iri in iris.values()}, set(server.edges)) == before
    assert len(server.reviews) == 4
    assert "retract_entities" not in list(server.commits.values())[-1]["replace_owned"]


def test_the_mock_models_of_a_server_answer_the_samples_as_those_here() -> None:
    """`python -m values_extract mock-answers` renews the file."""
    written = json.loads((samples.FOLDER / "mock_answers.json").read_text("utf-8"))

    assert written == samples.mock_answers()
    assert (len(written["reason"]), len(written["decide"])) == (6, 22)


@pytest.mark.parametrize("step", ["values-0", "support-3", "answers-5", "review", "write"])
async def test_a_worker_that_dies_before_it_saves_repeats_no_model_call_and_no_commit(step: str) -> None:
    """The effect has happened and the step is not saved: the next attempt does it again, with the same id."""
    server, _ = with_samples()
    server.dies_before_saving = step
    with pytest.raises(WorkerDied):
        await server.run()

    await server.work()

    assert server.calls == {"reason": 6, "decide": 6}
    assert len(server.commits) == 1
    assert set(server.commit_keys_sent) == {"prefix1/write"}
    assert len(server.commit_keys_sent) == (2 if step == "write" else 1)
    assert server.state == OUTCOME | {"commits": 0 if step == "write" else 1}
    assert len(server.open_items()) == 4
