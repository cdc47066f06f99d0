"""`turnbuckle reviews`: what persons are asked, and their answers."""

import datetime
from collections.abc import Iterator
from typing import Any, get_args

import click
from rich.text import Text

from lbb import LbbClient
from turnbuckle.cli.api import Answer, Api, json_argument, json_object, of_server
from turnbuckle.cli.output import compact, console, plain, short, table, tell_none
from turnbuckle.cli.words import age
from turnbuckle.wire.limits import PAGE_MAX
from turnbuckle.wire.review import ReviewDecisionWord, ReviewKind, ReviewStatus

_STYLES = {"open": "yellow", "answered": "green", "withdrawn": "dim"}
_TITLE_WIDTH = 200
_VALUE_WIDTH = 2_000
_EVERY = "all"
_key_option = click.option("--id", "key", metavar="KEY", help="The request's own id: the same one twice is done once.")


@click.group()
def reviews() -> None:
    """See what persons are asked, and answer it."""


@reviews.command("list")
@click.option(
    "--status", type=click.Choice([*get_args(ReviewStatus), _EVERY]), default="open", show_default=True, help="Which."
)
@click.option("--kind", type=click.Choice(get_args(ReviewKind)), help="Only of this kind.")
@click.option("--workflow", help="Only what this workflow asks.")
@click.option("--key", help="Only these keys, separated by commas.")
@click.option("--cursor", help="Go on after a page; the page before it told the cursor.")
@click.option("--limit", type=click.IntRange(1, PAGE_MAX), default=50, show_default=True, help="How many at most.")
@of_server
def list_items(api: Api, status: str, as_json: bool, **filters: Any) -> None:
    """List items, the last changed first."""
    wanted = None if status == _EVERY else status
    answer = api.ask(lambda client: client.reviews.list(status=wanted, **filters))
    if as_json:
        click.echo(answer.text)
        return
    rows = (
        (one["id"], one["kind"], _styled(one["status"]), _ago(one["updated"]), short(one["title"], _TITLE_WIDTH))
        for one in answer.data["data"]
    )
    console().print(table(("id", "kind", "status", "changed", "question"), rows, long="question"))
    tell_none(answer.data["data"])
    if answer.data["has_more"]:
        click.echo(f"There are more: --cursor {answer.data['next_cursor']}", err=True)


@reviews.command()
@click.argument("review_id", metavar="ID")
@of_server
def show(api: Api, review_id: str, as_json: bool) -> None:
    """Show one item: what is asked, the options, the evidence, and who waits."""
    answer = api.ask(lambda client: client.reviews.get(review_id))
    if as_json:
        click.echo(answer.text)
        return
    item, out = answer.data, console()
    out.print(Text.assemble((plain(item["title"]), "bold"), "  ", _styled(item["status"])))
    for name, text in _lines(item):
        out.print(Text(f"{name:<12}{plain(text)}"))


@reviews.command("answer")
@click.argument("review_id", metavar="ID")
@click.argument("decision", type=click.Choice(get_args(ReviewDecisionWord)))
@click.argument("what", required=False)
@click.option("--note", help="Why; for an item of kind `answer`, the answer itself.")
@click.option("--comment", help="A remark on the item.")
@click.option("--revision", type=click.IntRange(1), help="The revision that was read: refused when it has changed.")
@_key_option
@of_server
def answer_item(
    api: Api,
    review_id: str,
    decision: str,
    what: str | None,
    note: str | None,
    comment: str | None,
    revision: int | None,
    key: str | None,
    as_json: bool,
) -> None:
    """Answer an item. WHAT is the option of `choose`, and JSON (also @PATH, or - for stdin) for `correct`."""
    if (what is not None) != (decision in ("choose", "correct")):
        raise click.UsageError("WHAT belongs to `choose` (an option) and to `correct` (the value as JSON)")
    option = what if decision == "choose" else None
    value = json_argument(what) if what is not None and decision == "correct" else None
    said = json_object(decision=decision, option=option, value=value, note=note)

    def send(client: LbbClient) -> Any:
        """Not through `client.reviews`: the value stays as it is written."""
        return client.raw_request(
            "POST",
            "/v1/reviews/answer",
            params={"id": review_id},
            content=json_object(answer=said, revision=revision, comment=comment),
            content_type="application/json",
            idempotency_key=key or client.idempotency_key("reviews.answer"),
        ).data

    told = api.ask(send)
    _print(told, as_json, _effects(told.data))


@reviews.command()
@click.argument("review_id", metavar="ID")
@click.argument("reason")
@_key_option
@of_server
def withdraw(api: Api, review_id: str, reason: str, key: str | None, as_json: bool) -> None:
    """Take an open item back. Who waits for it waits until the timeout."""
    _print(api.ask(lambda client: client.reviews.withdraw(review_id, reason, idempotency_key=key)), as_json)


@reviews.command()
@click.argument("review_id", metavar="ID")
@click.argument("text")
@click.option("--author", help="Who says it, where the key does not tell.")
@_key_option
@of_server
def comment(api: Api, review_id: str, text: str, author: str | None, key: str | None, as_json: bool) -> None:
    """Add a remark to an item."""
    _print(
        api.ask(lambda client: client.reviews.comment(review_id, text=text, author=author, idempotency_key=key)),
        as_json,
    )


# -- in words ----------------------------------------------------------------------------------------------------


def _lines(item: Any) -> Iterator[tuple[str, str]]:
    question = item["question"]
    yield "id", f"{item['id']}, {item['kind']}, revision {item['revision']}, key {item['key']}"
    yield from _question(question)
    if "subject" in item:
        about = item["subject"]
        yield "about", ", ".join(about[name] for name in ("type", "name", "key", "iri") if name in about)
    if "rationale" in item:
        yield "because", item["rationale"]
    for evidence in item.get("evidence") or ():
        source = f" ({evidence['source_id']})" if "source_id" in evidence else ""
        yield "evidence", f'"{evidence["quote"]}"{source}'
    yield "asked by", f"{_asker(item)}, {_ago(item['created'])} ago"
    yield "waits", _waits(item)
    for name in ("answer", "previous_answer"):
        if name in item:
            yield name.replace("_answer", ""), _said(item[name])
    if "effects" in item:
        yield "effects", _effects(item)
    for remark in item.get("comments") or ():
        yield "comment", f"{remark.get('author') or remark['by']}: {remark['text']}"


def _question(question: Any) -> Iterator[tuple[str, str]]:
    if "property" in question:
        unit = f" {question['unit']}" if "unit" in question else ""
        yield "value", f"{question['property']} = {compact(question['value'], _VALUE_WIDTH)}{unit}"
    if "prompt" in question:
        yield "prompt", question["prompt"]
    if "output" in question:
        yield "output", compact(question["output"], _VALUE_WIDTH)
    for option in question.get("options") or ():
        mark = " (proposed)" if option["id"] == question.get("proposed") else ""
        yield "option", f"{option['id']}: {option['label']}{mark}"
    if "confidence" in question:
        yield "confidence", f"{question['confidence']:.0%}"


def _asker(item: Any) -> str:
    workflow = item.get("workflow")
    if workflow is not None:
        return f"workflow {workflow['name']}"
    origin = item["origin"]
    return " ".join(origin[name] for name in ("kind", "label", "id") if name in origin)


def _waits(item: Any) -> str:
    wait = item.get("wait")
    if wait is None:
        return "nobody"
    more = item.get("waiting", 1) - 1
    others = f" and {more} more" if more > 0 else ""
    done = "" if item["status"] == "open" else " waited"
    return f"{wait['identity']}, turn {wait['turn']}{others}{done}"


def _said(answer: Any) -> str:
    parts = [answer["decision"]]
    if "option" in answer:
        parts.append(answer["option"])
    if "value" in answer:
        parts.append(compact(answer["value"], _VALUE_WIDTH))
    note = f": {answer['note']}" if "note" in answer else ""
    return f"{' '.join(parts)}{note} ({answer['by']}, {answer['at']})"


def _effects(item: Any) -> str:
    """What the answer has done so far."""
    effects = item.get("effects") or {}
    delivery = effects.get("delivery") or {"state": "none"}
    parts = []
    if "commit_error" in effects:
        parts.append(f"not written: {effects['commit_error']}")
    elif "commit_seq" in effects:
        parts.append(f"written as commit {effects['commit_seq']}")
    if delivery["state"] == "sent":
        parts.append(f"sent to {', '.join(delivery['sent_to'])}")
    elif delivery["state"] == "none":
        parts.append("nobody waited for it")
    else:
        why = f" ({delivery['error']})" if "error" in delivery else ""
        parts.append(f"delivery {delivery['state']}{why}")
    return "; ".join(parts)


def _print(answer: Answer, as_json: bool, more: str = "") -> None:
    item = answer.data
    line = f"{item['id']}: {item['status']}{', ' + more if more else ''}"
    click.echo(answer.text if as_json else plain(line))


def _ago(at: str) -> str:
    then = datetime.datetime.fromisoformat(at)
    return age(int((datetime.datetime.now(datetime.UTC) - then).total_seconds() * 1_000))


def _styled(status: str) -> Text:
    return Text(status, style=_STYLES.get(status, ""))
