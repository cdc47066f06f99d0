"""What a person does to an instance: retry, skip, cancel, pause, resume, wake."""

import click

from turnbuckle.cli.api import Api, of_server
from turnbuckle.cli.output import plain
from turnbuckle.cli.words import why

_turn = click.option(
    "--turn", type=click.IntRange(1), required=True, help="Its number, so that a repeat hits no other."
)


def _on_instance(name: str, action: str, sentence: str) -> click.Command:
    @click.command(name, help=sentence)
    @click.argument("instance_id", metavar="ID")
    @of_server
    def command(api: Api, instance_id: str, as_json: bool) -> None:
        _control(api, as_json, instance_id, action)

    return command


def _on_turn(name: str, action: str, sentence: str) -> click.Command:
    @click.command(name, help=sentence)
    @click.argument("instance_id", metavar="ID")
    @_turn
    @of_server
    def command(api: Api, instance_id: str, turn: int, as_json: bool) -> None:
        _control(api, as_json, instance_id, action, turn)

    return command


def _control(api: Api, as_json: bool, instance_id: str, action: str, turn: int | None = None) -> None:
    answer = api.post("instances/control", workflow_id=instance_id, action=action, turn=turn)
    if as_json:
        click.echo(answer.text)
        return
    click.echo(plain(f"{instance_id}: {answer.data['status']}; {why(answer.data, api.get('served').data)}"))


retry = _on_turn("retry", "retry", "Run a turn that failed for good again, with all its attempts; saved steps stay.")
skip = _on_turn("skip", "skip", "Leave a turn that failed for good behind and go on with the next.")
cancel = _on_turn("cancel", "cancel_turn", "End an unfinished turn; its worker learns it at its next call.")
pause = _on_instance("pause", "pause", "Let no worker claim the instance any more; it still takes messages.")
resume = _on_instance("resume", "resume", "Let workers claim the instance again, and end the delay before a retry.")
wake = _on_instance("wake", "wake", "End a wait that counts no attempt; a sleep or a wait for a signal lasts.")
