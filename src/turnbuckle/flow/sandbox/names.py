"""The names that code of a component finds in its one flat namespace (blobhub 5.6), by group.

Which of them work is in supported.py, which the probe writes.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MODULES = _words(
    "json uuid time datetime zoneinfo functools traceback copy dataclasses decimal textwrap math re abc io base64"
)
TYPING = _words("typing Union Literal")
EXCEPTIONS = _words(
    "Exception ValueError IndexError GraphMutationConflict GraphTraversalLimitExceeded InvalidGraphQuery"
    " InvalidSessionObjectAlias InvalidThreadEnvelope InvalidGraphEnvelope LimitExceeded"
)
BUILTINS = _words(
    "abs all any ascii bin bool breakpoint bytearray bytes callable chr classmethod complex delattr dict dir divmod"
    " enumerate filter float format frozenset getattr hasattr hash hex id int isinstance issubclass iter len list map"
    " max min next object oct ord pow print property range round repr reversed set setattr slice sorted staticmethod"
    " str sum super tuple type vars zip"
)
HELPERS = _words(
    "data_inputs get_data_input data_outputs set_data_output flow_outputs set_result result exit Exit create_message"
    " create_value provider_inputs get_provider_credential post_output_event post_warning_event post_error_event"
    " download_session_object upload_session_object delete_session_object list_session_objects"
    " post_session_thread_item list_session_thread_items get_session_thread_item apply_session_graph_mutations"
    " query_session_graph list_session_graph_elements get_session_graph_element get_session_graph_elements"
    " list_session_graph_neighbors current_time_utc_iso blob session definition execution attributes"
)
DEPRECATED = {
    "post_event": "post_output_event",
    "get_input_value": "get_data_input",
    "set_output_value": "set_data_output",
}

ALL = frozenset([*MODULES, *TYPING, *EXCEPTIONS, *BUILTINS, *HELPERS, *DEPRECATED])
# What code may not bind at its top level (blobhub 5.8, name_redefined); a module's name it may (blobhub 6.4).
RESERVED = ALL - set(MODULES)
# What Monty gives every module by itself.
GIVEN = frozenset({"__name__"})
# Names of ours inside the sandbox. No name of user code may begin so.
PRIVATE = "__tb_"

# Monty has no inheritance, so no classes of exceptions: each of these names stands for a built-in exception that
# nothing in the sandbox raises by itself and that code cannot name, since it is not in the lists above.
CARRIERS = {
    "GraphMutationConflict": "FileExistsError",
    "GraphTraversalLimitExceeded": "IsADirectoryError",
    "InvalidGraphQuery": "NotADirectoryError",
    "InvalidSessionObjectAlias": "FileNotFoundError",
    "InvalidThreadEnvelope": "ModuleNotFoundError",
    "InvalidGraphEnvelope": "NotImplementedError",
    "LimitExceeded": "PermissionError",
    "Exit": "SystemExit",  # not an Exception, so that `except Exception` does not keep code from leaving
}
CARRIED = {carrier: name for name, carrier in CARRIERS.items()}
