"""The workflow of `turnbuckle preview MODULE:FACTORY`, made over activities that write nothing."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

from lbb.workflows import LbbActivities, TriggeredWorkflowDefinition, WorkflowDefinition
from turnbuckle.cli.failure import Failure

Factory = Callable[[LbbActivities, str], TriggeredWorkflowDefinition]


def find_factory(name: str) -> Factory:
    """The function `f(lbb, version)` that `MODULE:FACTORY` names, found in this folder first.

    Failure for a module or name that is not there, and for a workflow that is no function of its activities.
    """
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise Failure(f"{name!r} names no function: write MODULE:FACTORY, such as values_extract:create_workflow")
    found = getattr(_import(module_name), attribute, None)
    if found is None:
        raise Failure(f"module {module_name} has no {attribute}")
    if isinstance(found, WorkflowDefinition):
        raise Failure(
            f"{name} is a workflow that is bound to its activities already, so a preview would write what it writes "
            f"live. Make it a function {attribute}(lbb, version) that returns the workflow"
        )
    if not callable(found):
        raise Failure(f"{name} is a {type(found).__name__}, no function (lbb, version)")
    return _checked(name, found)


def _import(name: str) -> Any:
    sys.path.insert(0, os.getcwd())  # as `python -m` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as exc:
        if exc.name is not None and (name == exc.name or name.startswith(f"{exc.name}.")):
            raise Failure(f"there is no module {name} in this folder, nor is it installed") from exc
        raise  # the module is there, and something it needs is not


def _checked(name: str, function: Callable[..., Any]) -> Factory:
    takes = _takes_version(name, function)

    def make(lbb: LbbActivities, version: str) -> TriggeredWorkflowDefinition:
        made = function(lbb, version=version) if takes == "keyword" else function(lbb, version)
        if not isinstance(made, TriggeredWorkflowDefinition):
            raise Failure(f"{name} returned a {type(made).__name__}; a preview runs what @triggered_workflow makes")
        if made.version != version:
            raise Failure(
                f"{name} made version {made.version} where {version} was asked for, which a live worker could claim: "
                "pass its argument version on to @triggered_workflow"
            )
        return made

    return make


def _takes_version(name: str, function: Callable[..., Any]) -> str:
    """Whether the version is the keyword `version`, or the second argument."""
    parameters = inspect.signature(function).parameters
    if "version" in parameters:
        return "keyword"
    positional = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if len(positional) < 2:
        raise Failure(f"{name} takes no version: a preview calls it as (lbb, version), with a version of its own")
    return "position"
