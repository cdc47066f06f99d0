"""What a question from the sandbox is, and who answers it."""

import datetime
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_monty import ExcType, MontyClassProxy

from turnbuckle.flow.sandbox import names
from turnbuckle.flow.sandbox.host import CLOCK, OUTWARD, RANDOM_BYTES, SLEEP, Host, HostRefusal
from turnbuckle.flow.sandbox.limits import Limit, SandboxLimits
from turnbuckle.flow.sandbox.outcome import CodeEvent
from turnbuckle.flow.sandbox.plain import decode, fits

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_RANDOM_BYTES = 4096  # in one answer; Monty asks for 2496 to start its generator
_SLEEP_S = 86_400.0  # at a time; what of it the run may take is the host's matter
_EVENT_TYPES = frozenset({"processor.output", "processor.warning", "processor.error"})


@dataclass(frozen=True)
class Ask:
    function: str
    is_os_function: bool
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class Breach(Exception):
    """A limit that is held here, outside the sandbox. Nothing in the code can catch it."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit)
        self.limit = limit


class Refused(Exception):
    """The code gets this exception instead of an answer. `carrier` is the exception that Monty knows."""

    def __init__(self, carrier: ExcType, message: str) -> None:
        super().__init__(message)
        self.carrier = carrier
        self.message = message


async def answer_to(ask: Ask, host: Host, limits: SandboxLimits, post: Callable[[CodeEvent], None]) -> Any:
    if ask.is_os_function:
        return await _from_system(ask, host)
    if ask.function == "__tb_host_attributes":
        return _attributes(ask)
    if ask.function != "__tb_host":
        # Monty asks its host about a call of a name that nothing binds.
        raise Refused("NameError", f"name '{ask.function}' is not defined")
    name, args, kwargs = _question(ask, limits)
    match name, args:
        case "event", _:
            return post(_event(args))
        case "zone", [str(key), str(naive), bool(is_wall_time)]:
            return _zone_offset(key, naive, is_wall_time)
        case ("clock", []) | ("random_bytes", [int()]):
            _check_count(args)
        case _ if name not in OUTWARD:
            raise Refused("OSError", f"The sandbox does not do this: {name}.")
    return await _from_host(host, name, args, kwargs)


def _check_count(args: list[Any]) -> None:
    if any(not 0 < count <= _RANDOM_BYTES for count in args):
        raise Refused("ValueError", f"1 to {_RANDOM_BYTES} random bytes at a time.")


async def _from_host(host: Host, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return await host.call(name, args, kwargs)
    except HostRefusal as refusal:
        known = refusal.exception in names.EXCEPTIONS
        carrier: Any = names.CARRIERS.get(refusal.exception, refusal.exception) if known else "ValueError"
        raise Refused(carrier, refusal.message) from refusal


async def _from_system(ask: Ask, host: Host) -> Any:
    """The clock, sleeping and chance; every file, process and variable of the environment is refused."""
    match ask.function, ask.args:
        case "datetime.now", (zone,):
            return await _now(host, zone)
        case "date.today", ():
            return (await _now(host, None)).date()
        case "time.time", _:
            return await _clock_us(host) / 1_000_000
        case "time.sleep", (float(seconds),) if 0 <= seconds <= _SLEEP_S:
            return await _from_host(host, SLEEP, [seconds], {})
        case "os.urandom", (int(count),) if 0 < count <= _RANDOM_BYTES:
            return bytes.fromhex(await _from_host(host, RANDOM_BYTES, [count], {}))
        case _:
            raise Refused("OSError", f"The sandbox does not do this: {ask.function}.")


async def _clock_us(host: Host) -> int:
    return int(await _from_host(host, CLOCK, [], {}))


async def _now(host: Host, zone: datetime.tzinfo | None) -> datetime.datetime:
    now = _EPOCH + datetime.timedelta(microseconds=await _clock_us(host))
    return now.replace(tzinfo=None) if zone is None else now.astimezone(zone)


def _question(ask: Ask, limits: SandboxLimits) -> tuple[str, list[Any], dict[str, Any]]:
    match ask.args:
        case (str(text),) if fits(text, limits.value_bytes):
            pass
        case (str(),):
            raise Breach("output")
        case _:
            raise Refused("ValueError", "The question has no text.")
    try:
        question = decode(text)
    except ValueError as exc:
        raise Refused("ValueError", f"An argument cannot leave the sandbox: {exc}.") from exc
    match question:
        case [str(name), list(args), dict(kwargs)]:
            return name, args, kwargs
        case _:
            raise Refused("ValueError", "A question is a name with arguments.")


def _event(args: list[Any]) -> CodeEvent:
    match args:
        case [str(kind), str(message), dict() | None as attributes] if kind in _EVENT_TYPES:
            return CodeEvent(kind, message, attributes)
        case _:
            raise Refused("ValueError", "An event has a text and, if any, a dict of attributes.")


def _attributes(ask: Ask) -> dict[str, Any]:
    """The attributes of an object of the sandbox, which Monty shows only to its host."""
    match ask.args:
        case (MontyClassProxy() as proxy,):
            return proxy.attributes
        case _:
            raise Refused("TypeError", "This object has no attributes to show.")


def _zone_offset(key: str, naive: str, is_wall_time: bool) -> list[Any]:
    """[seconds east of UTC, abbreviation] of a zone at a moment given in UTC or, as wall time, in the zone."""
    try:
        zone = zoneinfo.ZoneInfo(key)
        moment = datetime.datetime.fromisoformat(naive).replace(tzinfo=zone if is_wall_time else datetime.UTC)
        moment = moment.astimezone(zone)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError, OverflowError) as exc:
        raise Refused("ValueError", f"No time zone found with key {key}") from exc
    offset = moment.utcoffset() or datetime.timedelta()
    return [int(offset.total_seconds()), moment.tzname() or key]
