"""`turnbuckle turns`: the history and the inbox of an instance; with --turn one turn in full."""

from collections.abc import Iterator
from typing import Any

import click
from rich.text import Text

from turnbuckle.cli.api import Api, of_server
from turnbuckle.cli.instances import styled
from turnbuckle.cli.output import compact, console, plain, short, table
from turnbuckle.cli.steps import print_steps
from turnbuckle.cli.words import age, amount, attempt, clock, size
from turnbuckle.wire.limits import HISTORY_PAGE_MAX, PAGE_MAX

_VALUE_WIDTH = 2_000
_ERROR_WIDTH = 200


@click.command()
@click.argument("instance_id", metavar="ID")
@click.option("--turn", type=click.IntRange(1), help="One turn, with its steps, signals, error and run.")
@click.option("--after", type=click.IntRange(0), help="Only turns after this number; the newest ones by default.")
@click.option(
    "--limit", type=click.IntRange(1, HISTORY_PAGE_MAX), default=20, show_default=True, help="Finished turns."
)
@of_server
def turns(api: Api, instance_id: str, turn: int | None, after: int | None, limit: int, as_json: bool) -> None:
    """List the turns of an instance, finished ones first, then its inbox."""
    if turn is not None:
        _show(api, instance_id, turn, as_json)
        return
    if after is None:
        newest = api.get("instances/get", id=instance_id, payloads=False).data["history_through"]
        after = max(0, newest - limit)
    history = api.get("instances/history", id=instance_id, after=after, limit=limit, payloads=False)
    inbox = api.get("instances/inbox", id=instance_id, limit=PAGE_MAX)
    if as_json:
        click.echo(f'{{"history":{history.text},"inbox":{inbox.text}}}')
        return
    now_ms = api.get("served").data["now_ms"]
    rows = [*_finished(history.data["turns"], now_ms), *_unfinished(inbox.data["messages"], now_ms)]
    console().print(table(("turn", "message", "status", "attempt", "received", "finished", "what"), rows, long="what"))
    _print_more(history.data, inbox.data)


def _finished(found: list[Any], now_ms: int) -> Iterator[tuple[str | Text, ...]]:
    for turn in found:
        yield (
            str(turn["number"]),
            turn["message_id"],
            styled(turn["status"]),
            str(turn["attempt"]),
            clock(turn["created_at_ms"], now_ms),
            clock(turn["finished_at_ms"], now_ms),
            _ended(turn),
        )


def _ended(turn: Any) -> str:
    if turn.get("error"):
        return short(turn["error"], _ERROR_WIDTH)
    steps = f"{len(turn['steps'])} steps"
    goes_on = turn.get("continued_to")
    return steps if goes_on is None else f"{steps}, continued in turn {goes_on}"


def _unfinished(found: list[Any], now_ms: int) -> Iterator[tuple[str | Text, ...]]:
    for message in found:
        yield (
            str(message["turn"]),
            message["message_id"],
            styled(message["status"]),
            str(message["attempt"]),
            clock(message["received_at_ms"], now_ms),
            "-",
            _open(message),
        )


def _open(message: Any) -> str:
    if message.get("error"):
        return short(message["error"], _ERROR_WIDTH)
    if message.get("progress") is not None:
        return amount(message["progress"])
    return f"message of {size(message['message_bytes'])}"


def _print_more(history: Any, inbox: Any) -> None:
    if history.get("next_after") is not None:
        click.echo(f"There are more finished turns: --after {history['next_after']}", err=True)
    if inbox.get("next_after") is not None:
        click.echo(f"The inbox has {inbox['pending_messages']} turns, the first are shown.", err=True)


# -- one turn ----------------------------------------------------------------------------------------------------


def _show(api: Api, instance_id: str, number: int, as_json: bool) -> None:
    answer = api.get("instances/turn", id=instance_id, turn=number)
    if as_json:
        click.echo(answer.text)
        return
    now_ms, turn, out = api.get("served").data["now_ms"], answer.data, console()
    out.print(Text.assemble((f"turn {number}", "bold"), f" of {instance_id}  ", styled(turn["status"])))
    for name, text in _facts(turn, now_ms):
        out.print(Text(f"{name:<12}{plain(text)}"))
    print_steps(out, turn, now_ms)
    if turn.get("signals"):
        out.print(
            table(("signal", "name", "came", "taken by", "value"), _signals(turn["signals"], now_ms), long="value")
        )


def _facts(turn: Any, now_ms: int) -> Iterator[tuple[str, str]]:
    yield "message", f"{turn['message_id']}: {compact(turn['message'], _VALUE_WIDTH)}"
    if turn.get("origin") is not None:
        yield "origin", compact(turn["origin"], _VALUE_WIDTH)
    yield "received", clock(turn["created_at_ms"], now_ms)
    if turn.get("worker") is not None:
        yield "held", f"by worker {turn['worker']}, lease until {clock(turn['deadline_ms'], now_ms)}"
    yield "attempts", attempt(turn)
    if turn.get("error") is not None:
        yield "error", turn["error"]
    if turn.get("finished_at_ms") is not None:
        yield "finished", clock(turn["finished_at_ms"], now_ms)
    if turn["status"] == "completed":
        yield "result", compact(turn["result"], _VALUE_WIDTH)
        yield "state after", compact(turn["state_after"], _VALUE_WIDTH)
    if turn.get("continued_to") is not None:
        yield "continued", f"in turn {turn['continued_to']}"
    if turn.get("run") is not None:
        yield "run", _run(turn["run"], now_ms)


def _run(run: Any, now_ms: int) -> str:
    began = f"{run['id']}, began {clock(run['started_at_ms'], now_ms)}"
    if run.get("ended_at_ms") is None:
        return began
    return f"{began}, took {age(run['ended_at_ms'] - run['started_at_ms'])}"


def _signals(found: list[Any], now_ms: int) -> Iterator[tuple[str, ...]]:
    for signal in found:
        taken = signal.get("consumed_by") or "-"
        yield (
            signal["id"],
            signal["name"],
            clock(signal["at_ms"], now_ms),
            taken,
            compact(signal["value"], _ERROR_WIDTH),
        )
