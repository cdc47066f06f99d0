"""How a step's function is called: with the step context or without, on the loop or in a thread (lbb-engine 5.5)."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple


class Shape(NamedTuple):
    takes_context: bool
    is_async: bool


def shape_of(fn: Callable[..., Any]) -> Shape:
    """One argument or none, async or sync. TypeError when it needs more.

    A parameter with a default is no place for the context: `lambda page=page: read(page)` keeps its page.
    """
    if type(fn) is FunctionType and not fn.__dict__:
        return _shape_of_code(fn)
    return Shape(_takes_context(fn), _is_async(fn))


def _shape_of_code(fn: FunctionType) -> Shape:
    """The same for a plain function, without the 20 us of inspect.signature."""
    code = fn.__code__
    required = code.co_argcount - len(fn.__defaults__ or ())
    if required > 1 or code.co_kwonlyargcount > len(fn.__kwdefaults__ or ()):
        raise _too_many(fn)
    has_rest = bool(code.co_flags & inspect.CO_VARARGS)
    return Shape(required == 1 or has_rest, bool(code.co_flags & inspect.CO_COROUTINE))


def _takes_context(fn: Callable[..., Any]) -> bool:
    if inspect.iscoroutine(fn):
        fn.close()
        raise TypeError("this is a call already: pass the function itself, or `lambda s: function(s, ...)`")
    if not callable(fn):
        raise TypeError(f"a step takes a function to run, not {fn!r:.100}; for a value, `lambda s: value`")
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:  # a builtin that does not tell, such as time.time
        return False
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if len(required) > 1 or any(p.kind is p.KEYWORD_ONLY for p in required):
        raise _too_many(fn)
    return bool(required) or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def _is_async(fn: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004


def _too_many(fn: Callable[..., Any]) -> TypeError:
    name = getattr(fn, "__qualname__", repr(fn))
    return TypeError(f"a step's function takes the step context or nothing; {name} needs more arguments")
