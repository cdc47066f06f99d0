"""One call of the API, said once for both clients: what is sent and how the answer is read.

A function that returns a `Call` becomes a method with `Blocking(function)` on a class that has `ask`, and with
`Asynchronous(function)` on one whose `ask` is awaited. Signature and docstring are the function's.
"""

import functools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from pydantic import BaseModel

from lbb.answer import RawLbbResponse
from lbb.request import RequestArguments

Answer = TypeVar("Answer")
Result = TypeVar("Result")
Model = TypeVar("Model", bound=BaseModel)
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    method: str
    path: str
    arguments: RequestArguments
    read: Callable[[RawLbbResponse], Answer]
    is_graph_read: bool = False  # takes the client's `default_consistency`

    def in_graph(self, name: str) -> "Call[Answer]":
        """The same for another graph than the client's."""
        params = {**(self.arguments.get("params") or {}), "graph": name}
        return replace(self, arguments={**self.arguments, "params": params})

    def arguments_for(self, default_consistency: str | None) -> RequestArguments:
        """The arguments of `raw_request`."""
        params = self.arguments.get("params") or {}
        if not self.is_graph_read or default_consistency is None or params.get("consistency") is not None:
            return self.arguments
        return {**self.arguments, "params": {**params, "consistency": default_consistency}}


def as_json(answer: RawLbbResponse) -> Any:
    return answer.data


def as_mapping(answer: RawLbbResponse) -> dict[str, Any]:
    data: dict[str, Any] = answer.data
    return data


def as_model(cls: type[Model]) -> Callable[[RawLbbResponse], Model]:
    """pydantic.ValidationError when the answer does not fit."""
    return lambda answer: answer.model(cls)


def given(**named: Any) -> dict[str, Any]:
    """The arguments that are not None, for a body where an absent field and a null differ."""
    return {name: value for name, value in named.items() if value is not None}


class Asks(Protocol):
    def ask(self, call: Call[Answer]) -> Answer: ...


class AsksAsync(Protocol):
    def ask(self, call: Call[Answer]) -> Coroutine[Any, Any, Answer]: ...


class Blocking(Generic[Arguments, Result]):
    """A method that sends the call and returns its answer."""

    def __init__(self, build: Callable[Arguments, Call[Result]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "Blocking[Arguments, Result]": ...

    @overload
    def __get__(self, instance: Asks, owner: type) -> Callable[Arguments, Result]: ...

    def __get__(self, instance: Asks | None, owner: type) -> Any:
        if instance is None:
            return self

        @functools.wraps(self._build)
        def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return instance.ask(self._build(*args, **kwargs))

        return asked


class Asynchronous(Generic[Arguments, Result]):
    """A coroutine method that sends the call and returns its answer."""

    def __init__(self, build: Callable[Arguments, Call[Result]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "Asynchronous[Arguments, Result]": ...

    @overload
    def __get__(self, instance: AsksAsync, owner: type) -> Callable[Arguments, Coroutine[Any, Any, Result]]: ...

    def __get__(self, instance: AsksAsync | None, owner: type) -> Any:
        if instance is None:
            return self

        @functools.wraps(self._build)
        async def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return await instance.ask(self._build(*args, **kwargs))

        return asked
