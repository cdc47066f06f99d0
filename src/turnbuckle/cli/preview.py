"""`turnbuckle preview`: what a triggered workflow would write, ask and spend on records of a live graph."""

import asyncio
import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx

from lbb import AsyncLbbClient, LbbError
from lbb.workflows import CapturedReview, CapturedWrite
from turnbuckle.cli.api import DEFAULT_URL
from turnbuckle.cli.factory import Factory, find_factory
from turnbuckle.cli.failure import Failure
from turnbuckle.cli.output import json_option, plain, print_json, short
from turnbuckle.cli.preview_diff import Change, RecordDiff
from turnbuckle.cli.preview_run import Preview
from turnbuckle.cli.preview_run import preview as run_preview

_MARKS = {"set": ("+", "green"), "changed": ("~", "yellow"), "removed": ("-", "red")}
_WIDTH = 160


@click.command()
@click.argument("factory", metavar="MODULE:FACTORY")
@click.argument("more", nargs=-1, metavar="[IRI]...")
@click.option("--instances", multiple=True, metavar="IRI", help="Records to run on; more of them may follow.")
@click.option("--query", metavar="SPARQL", help="Run on what the first variable selects; @PATH reads it from a file.")
@click.option("--workflow", help="The name the message carries; by default the workflow's own.")
@click.option("--graph", envvar="LBB_GRAPH", default="main", show_default=True, help="The graph to work in.")
@json_option
def preview(
    factory: str,
    more: tuple[str, ...],
    instances: tuple[str, ...],
    query: str | None,
    workflow: str | None,
    graph: str,
    as_json: bool,
) -> None:
    """Run a triggered workflow on records of a live graph without writing, and show what it would do.

    FACTORY is a function (lbb, version) that returns the workflow over the activities `lbb`. Reads and models run, and
    cost what they cost live. Ends with 1 when a write would be refused, or the turn does not come to its end.
    """
    iris = [*instances, *more]
    if not iris and query is None:
        raise click.UsageError("say on which records: --instances IRI..., or --query SPARQL")
    found = asyncio.run(_run(find_factory(factory), iris, _text(query), workflow, graph))
    if as_json:
        print_json(_json(found))
    else:
        for line in _lines(found):
            click.echo(line)
    sys.exit(1 if found.refusals else 0)


async def _run(factory: Factory, iris: list[str], query: str | None, workflow: str | None, graph: str) -> Preview:
    url = os.environ.get("LBB_URL") or DEFAULT_URL
    try:
        async with AsyncLbbClient(url, api_key=os.environ.get("LBB_API_KEY") or None, graph=graph) as client:
            return await run_preview(client, factory, iris, query, workflow)
    except LbbError as exc:
        raise Failure(f"{exc} ({exc.code})") from exc
    except httpx.ConnectError as exc:
        what = f"no server answers at {url} ({exc.__cause__ or exc})"
        raise Failure(f"{what}; start one, such as `turnbuckle dev`, or set LBB_URL") from exc
    except httpx.RequestError as exc:
        raise Failure(f"no answer from {url}: {type(exc).__name__} {exc}") from exc


def _text(query: str | None) -> str | None:
    if query is None or not query.startswith("@"):
        return query
    try:
        return Path(query[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise Failure(f"cannot read {query[1:]}: {exc}") from exc


# -- for people ------------------------------------------------------------------------------------------------------


def _lines(found: Preview) -> Iterator[str]:
    yield f"{found.workflow} on {len(found.instances)} of {found.graph}, as of commit {found.as_of_commit_seq}"
    for write, records in zip(found.captured.writes, found.diffs, strict=True):
        yield from ("", *_write_lines(write, records))
    for review in found.captured.reviews:
        yield from ("", *_review_lines(review))
    failed = [one for one in found.captured.results if one.get("outcome") == "failed"]
    for one in failed:
        yield ""
        yield f"would give back {one.get('iri')}: {_safe(one.get('error') or 'no reason given')}"
    yield ""
    yield from _end_lines(found)


def _write_lines(write: CapturedWrite, records: list[RecordDiff]) -> Iterator[str]:
    where = "" if write.graph is None else f" to {write.graph}"
    yield f"step {write.step_key} would write{where}:" if write.body is not None else f"step {write.step_key}: nothing"
    for record in records:
        changes = [change for change in record.changes if change.kind != "same"]
        if changes:
            yield _safe(f"  {record.type} {record.label or record.iri}") + ("" if record.iri else "  (new)")
            yield from (_change_line(change) for change in changes)
    unchanged = sum(all(change.kind == "same" for change in record.changes) for record in records)
    if unchanged:
        yield f"  {unchanged} records stay as they are"
    for error in write.errors:
        yield click.style(f"  refused: {_safe(error)}", fg="red")


def _change_line(change: Change) -> str:
    mark, color = _MARKS[change.kind]
    value = " -> ".join(text for text in (change.before, change.after) if text is not None)
    quote = f'  "{change.quote}"' if change.quote is not None and change.quote != change.after else ""
    return click.style(_safe(f"    {mark} {change.name}: {value}{quote}"), fg=color)


def _review_lines(review: CapturedReview) -> Iterator[str]:
    asked = review.request
    yield _safe(f"would ask: {asked.get('title')}")
    if asked.get("rationale"):
        yield _safe(f"    {asked['rationale']}")
    for evidence in asked.get("evidence") or []:
        yield _safe(f'    "{evidence.get("quote")}"')


def _end_lines(found: Preview) -> Iterator[str]:
    usage = found.usage
    errors = f", {usage['errors']} refused or broken" if usage["errors"] else ""
    yield (
        f"spent {usage['calls']} model calls{errors}, {usage['tokens_in']} tokens in, {usage['tokens_out']} out, "
        f"${usage['cost_micro_usd'] / 1_000_000:.6f}"
    )
    for refusal in found.refusals:
        yield click.style(f"would fail: {_safe(refusal)}", fg="red")
    yield "nothing was written"


def _safe(text: str) -> str:
    indent = len(text) - len(text.lstrip(" "))
    return " " * indent + plain(short(text, _WIDTH))


# -- for programs ----------------------------------------------------------------------------------------------------


def _json(found: Preview) -> dict[str, Any]:
    return {
        "workflow": found.workflow,
        "graph": found.graph,
        "as_of_commit_seq": found.as_of_commit_seq,
        "instances": found.instances,
        "writes": [_write(write, records) for write, records in zip(found.captured.writes, found.diffs, strict=True)],
        "reviews": [review.request for review in found.captured.reviews],
        "results": found.captured.results,
        "usage": found.usage,
        "result": found.result,
        "refusals": found.refusals,
    }


def _write(write: CapturedWrite, records: list[RecordDiff]) -> dict[str, Any]:
    return {
        "step_key": write.step_key,
        "graph": write.graph,
        "check": write.check,
        "errors": write.errors,
        "report": None if write.report is None else write.report.model_dump(mode="json", exclude_none=True),
        "records": [dataclasses.asdict(record) for record in records],
        "body": write.body,
    }
