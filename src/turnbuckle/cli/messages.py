"""`turnbuckle start`, `send` and `signal`: what a program sends with the SDK, by hand.

Each is safe to repeat: the same id with the same content changes nothing, with another it is refused.
"""

import click

from turnbuckle.cli.api import Answer, Api, json_argument, of_server
from turnbuckle.cli.output import plain

_JSON = "JSON: as an argument, from the file @PATH, or - for stdin."


@click.command()
@click.argument("instance_id", metavar="ID")
@click.option("--type", "workflow_type", required=True, help="The workflow's type, as its worker registers it.")
@click.option("--version", required=True, help="The workflow's version.")
@click.option("--state", help=f"The initial state, null by default. {_JSON}")
@of_server
def start(api: Api, instance_id: str, workflow_type: str, version: str, state: str | None, as_json: bool) -> None:
    """Start an instance, or find the one that the same command started."""
    value = None if state is None else json_argument(state)
    answer = api.post("instances", id=instance_id, workflow_type=workflow_type, version=version, state=value)
    _print(answer, f"{instance_id}: {workflow_type}@{version}, {answer.data['status']}", as_json)


@click.command()
@click.argument("instance_id", metavar="ID")
@click.argument("message", metavar="JSON")
@click.option("--id", "message_id", required=True, help="The message's own id: it is admitted once.")
@of_server
def send(api: Api, instance_id: str, message: str, message_id: str, as_json: bool) -> None:
    """Send a message to an instance; it becomes a turn. JSON is an argument, @PATH, or - for stdin."""
    body = json_argument(message)
    answer = api.post("instances/message", workflow_id=instance_id, id=message_id, message=body)
    _print(answer, f"{instance_id}: turn {answer.data['number']} {answer.data['status']}", as_json)


@click.command()
@click.argument("instance_id", metavar="ID")
@click.argument("name")
@click.argument("value", metavar="JSON")
@click.option("--turn", type=click.IntRange(1), required=True, help="The turn that waits for it, or will.")
@click.option("--id", "event_id", required=True, help="The event's own id: it is delivered once.")
@of_server
def signal(api: Api, instance_id: str, name: str, value: str, turn: int, event_id: str, as_json: bool) -> None:
    """Deliver a signal to one turn. JSON is an argument, @PATH, or - for stdin."""
    body = json_argument(value)
    answer = api.post("turns/signal", workflow_id=instance_id, turn=turn, id=event_id, name=name, value=body)
    taken = [one.get("consumed_by") for one in answer.data.get("signals") or () if one["id"] == event_id]
    what = f'taken by step "{taken[0]}"' if taken and taken[0] else "kept until a step waits for it"
    _print(answer, f"{instance_id}: turn {turn} {answer.data['status']}, signal {name} {what}", as_json)


def _print(answer: Answer, line: str, as_json: bool) -> None:
    click.echo(answer.text if as_json else plain(line))
