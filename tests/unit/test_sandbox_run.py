"""Code of components: what comes out of a run, its limits, and the same answers after a crash (blobhub 5.6)."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.sandbox import Sandbox, answer, with_inputs
from turnbuckle.flow.sandbox import (
    OUTWARD,
    CodeDiverged,
    CodeOutput,
    HostRefusal,
    RecordingHost,
    SandboxNames,
    SandboxPool,
)
from turnbuckle.flow.sandbox.names import CARRIERS, EXCEPTIONS

ROOT = Path(__file__).parents[2]
TEXT = {"type": "text", "text": "Where is my order?"}


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with SandboxPool(processes=1) as pool:
        yield Sandbox(pool)


async def test_code_reads_inputs_and_sets_outputs_and_a_route(sandbox: Sandbox) -> None:
    code = (
        'text = get_data_input("question")["text"]\n'
        'set_data_output("answer", create_message("assistant", text.upper()), persist=True)\n'
        'set_result("done", terminal=True)\n'
    )

    outcome = await sandbox.run(code, with_inputs({"question": TEXT}, ["answer", "unused"]))

    message = {"role": "assistant", "content": [{"type": "text", "text": "WHERE IS MY ORDER?"}]}
    assert (outcome.route, outcome.terminal, outcome.error) == ("done", True, None)
    assert outcome.outputs == {"answer": CodeOutput({"type": "message", "message": message}, True)}


async def test_a_run_without_a_result_succeeds(sandbox: Sandbox) -> None:
    assert (await sandbox.run("")).route == "success"


async def test_exit_ends_the_code_and_keeps_what_it_set(sandbox: Sandbox) -> None:
    code = (
        'set_data_output("a", create_value("integer", 3))\nset_result("left")\n'
        "try:\n  exit()\nexcept Exception:\n  pass\nraise ValueError('not reached')"
    )

    outcome = await sandbox.run(code)

    assert (outcome.route, outcome.error) == ("left", None)
    assert outcome.outputs["a"].value == {"type": "integer", "integer": 3}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ('create_value("boolean", True)', {"type": "boolean", "flag": True}),
        ('create_value("choice", "x")', {"type": "choice", "id": "x"}),
        ('create_value("json", [1, {"a": None}])', {"type": "json", "json": [1, {"a": None}]}),
        ('create_message("user")', {"type": "message", "message": {"role": "user", "content": []}}),
        (
            'create_message("user", "x", "m1")',
            {
                "type": "message",
                "message": {"role": "user", "content": [{"type": "text", "text": "x"}], "attributes": {"id": "m1"}},
            },
        ),
    ],
)
async def test_values_have_the_shapes_of_the_api(sandbox: Sandbox, code: str, value: Any) -> None:
    outcome = await sandbox.run(f'set_data_output("a", {code})')

    assert outcome.outputs["a"].value == value


async def test_names_about_the_run_are_there(sandbox: Sandbox) -> None:
    names = SandboxNames(
        data_inputs=[{"route": "q", "value": TEXT}],
        data_outputs=["a"],
        flow_outputs=["next"],
        provider_inputs=[{"route": "llm", "credential": {"handle": "opaque"}}],
        blob={"id": "b"},
        session={"id": "s"},
        definition={"id": "d"},
        execution={"id": "e"},
        attributes={"component_id": "c"},
    )
    code = (
        "print(blob['id'], session['id'], definition['id'], execution['id'], attributes['component_id'])\n"
        "print(flow_outputs, data_inputs[0]['route'], data_outputs, result)\n"
        "print(get_provider_credential('llm'), get_provider_credential('none'), get_data_input('none'))\n"
        "print(get_input_value('q') == get_data_input('q'))"
    )

    assert (await sandbox.printed(code, names)).splitlines() == [
        "b s d e c",
        "['next'] q [{'route': 'a', 'value': None}] {'route': None, 'terminal': False}",
        "{'handle': 'opaque'} None None",
        "True",
    ]


async def test_events_and_printed_text_come_out_also_when_the_code_fails(sandbox: Sandbox) -> None:
    code = "print('one')\npost_output_event('two', {'n': 2})\npost_warning_event('three')\npost_event('four')\n1 / 0"

    outcome = await sandbox.run(code)

    assert outcome.printed == "one\n"
    assert [(event.type, event.message, event.attributes) for event in outcome.events] == [
        ("processor.output", "two", {"n": 2}),
        ("processor.warning", "three", None),
        ("processor.output", "four", None),
    ]
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.type, outcome.error.line) == ("exception", "ZeroDivisionError", 5)


async def test_an_exception_names_the_authors_lines(sandbox: Sandbox) -> None:
    """Also where the code was rewritten before it ran, as with `object()` and a statement over several lines."""
    code = "marker = object()\n\nvalues = [\n  1,\n\n  2,\n]\n\ndef fail(x):\n  return (\n    x / 0)\n\nfail(1)\n"

    outcome = await sandbox.run(code)

    assert outcome.error is not None
    assert outcome.error.traceback.splitlines() == [
        "Traceback (most recent call last):",
        "  line 13, in <module>",
        "  line 10, in fail",
        "ZeroDivisionError: division by zero",
    ]


@pytest.mark.parametrize("name", [name for name in EXCEPTIONS if name in CARRIERS])
async def test_an_exception_of_a_helper_is_caught_by_its_name_alone(sandbox: Sandbox, name: str) -> None:
    others = ", ".join(["ValueError", "IndexError", *(CARRIERS.keys() - {name, "Exit"})])
    code = (
        f"try:\n  download_session_object('alias')\nexcept ({others}):\n  print('other')\n"
        f"except {name} as e:\n  print(type(e).__name__, e)"
    )

    def refuse(*_: Any) -> None:
        raise HostRefusal(name, "no")

    outcome = await sandbox.run(code, host=refuse)

    assert outcome.printed == f"{name} no\n"


@pytest.mark.parametrize("name", [name for name in EXCEPTIONS if name in CARRIERS])
async def test_an_uncaught_exception_of_a_helper_keeps_its_name(sandbox: Sandbox, name: str) -> None:
    outcome = await sandbox.run(f"\nraise {name}('rev 3')")

    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.type) == ("exception", name)
    assert (outcome.error.message, outcome.error.line) == ("rev 3", 2)


async def test_what_the_parser_of_the_sandbox_refuses_is_a_refusal(sandbox: Sandbox) -> None:
    """When the check missed it."""
    outcome = await sandbox.run_unchecked("x = 1\ndef f():\n  yield 1")

    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.type, outcome.error.line) == ("refused", "unsupported_syntax", 3)


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("download_session_object('a')", ["download_session_object", ["a"], {}]),
        ("upload_session_object('a', {'type': 'text', 'text': 'x'})", ["upload_session_object", ["a", {"type": "text", "text": "x"}], {}]),  # noqa: E501
        ("delete_session_object('a')", ["delete_session_object", ["a"], {}]),
        ("list_session_objects(prefix='p', limit=3)", ["list_session_objects", [], {"prefix": "p", "limit": 3}]),
        ("post_session_thread_item('t', [], metadata={})", ["post_session_thread_item", ["t", []], {"metadata": {}}]),
        ("list_session_thread_items('t', ascending=True)", ["list_session_thread_items", ["t"], {"ascending": True}]),
        ("get_session_thread_item('t', 'i')", ["get_session_thread_item", ["t", "i"], {}]),
        ("apply_session_graph_mutations('g', [{}])", ["apply_session_graph_mutations", ["g", [{}]], {}]),
        ("query_session_graph('g', {'start': ['V']})", ["query_session_graph", ["g", {"start": ["V"]}], {}]),
        ("list_session_graph_elements('g', type='edge')", ["list_session_graph_elements", ["g"], {"type": "edge"}]),
        ("get_session_graph_element('g', 'e')", ["get_session_graph_element", ["g", "e"], {}]),
        ("get_session_graph_elements('g', ['e'])", ["get_session_graph_elements", ["g", ["e"]], {}]),
        ("list_session_graph_neighbors('g', ['e'], direction='in')", ["list_session_graph_neighbors", ["g", ["e"]], {"direction": "in"}]),  # noqa: E501
    ],
)  # fmt: skip
async def test_a_helper_that_reaches_out_asks_the_host(sandbox: Sandbox, code: str, asked: list[Any]) -> None:
    outcome = await sandbox.run(f"print(json.dumps({code}))")

    name, args, kwargs = asked
    assert name in OUTWARD
    assert outcome.error is None
    assert outcome.printed.replace('"', "'") == f"{answer(name, *args, **kwargs)}\n".replace("True", "true")


async def test_what_is_no_json_cannot_leave(sandbox: Sandbox) -> None:
    for value in ("{1}", "float('nan')", "10 ** 500", "object()", "{(1, 2): 3}"):
        outcome = await sandbox.run(f"upload_session_object('a', {value})")
        assert outcome.error is not None, value
        assert outcome.error.type in ("TypeError", "ValueError"), value


@pytest.mark.parametrize(
    "code", ["result['route'] = 3", "data_outputs.append(3)", "data_outputs.append({'route': 'a', 'value': 3})"]
)
async def test_a_broken_result_is_a_failure(sandbox: Sandbox, code: str) -> None:
    outcome = await sandbox.run(code)

    assert outcome.error is not None
    assert (outcome.route, outcome.error.type) == (None, "ValueError")


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("time", "while True:\n  pass"),
        ("time", "while True:\n  try:\n    while True: pass\n  except: pass"),
        ("memory", "x = [0]\nwhile True: x = x + x"),
        ("recursion", "def f(): return f()\nf()"),
        ("calls", "while True:\n  try:\n    time.time()\n  except: pass"),
        ("calls", "while True: post_output_event('x')"),
        ("printed", "while True:\n  try:\n    print('x' * 1000)\n  except: pass"),
        ("output", "set_data_output('a', create_value('text', 'x' * 2_000_000))"),
        ("output", "for i in range(9): set_data_output(str(i), create_value('text', 'x' * 900_000))"),
        ("event", "post_output_event('x' * 70_000)"),
        ("event", "try:\n  post_output_event('', {'a': 'x' * 70_000})\nexcept: pass"),
        ("output", "while True: post_output_event('x' * 50_000)"),
        ("output", "download_session_object('x' * 2_000_000)"),
    ],
)
async def test_a_breach_names_its_limit(sandbox: Sandbox, limit: str, code: str) -> None:
    outcome = await sandbox.run(code)

    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.limit) == ("limit", limit)
    assert outcome.error.message.endswith(f"Limit: {limit}.")
    assert outcome.outputs == {}
    assert await sandbox.is_well()


async def test_code_over_its_size_is_not_started(sandbox: Sandbox) -> None:
    outcome = await sandbox.run("#" * 100, code_bytes=99)

    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.type) == ("refused", "code_too_long")


ASKING = (
    "names = [str(uuid.uuid4()), current_time_utc_iso(), str(time.time())]\n"
    "item = download_session_object('memory')\n"
    "try:\n  upload_session_object('memory', item)\nexcept LimitExceeded as e:\n  names.append(str(e))\n"
    "print(names, item)\nset_data_output('a', create_value('json', names))"
)


class Busy:
    """A host that never gives the same answer twice and refuses to write."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        self.asked += 1
        if name == "upload_session_object":
            raise HostRefusal("LimitExceeded", f"refusal {self.asked}")
        return f"{self.asked:032x}" if name == "random_bytes" else self.asked


async def test_the_same_answers_give_the_same_outcome(sandbox: Sandbox) -> None:
    """After a crash code runs again from its top: nothing is asked a second time, and nothing comes out different."""
    busy = Busy()
    first = RecordingHost(busy)
    before = await sandbox.run(ASKING, host=first)
    asked = busy.asked

    after = await sandbox.run(ASKING, host=RecordingHost(busy, first.record))

    assert before.error is None
    assert after == before
    assert busy.asked == asked == 5


async def test_a_run_goes_on_after_the_recorded_answers(sandbox: Sandbox) -> None:
    """The crash came in the middle: the first answers are recorded, the others are asked for."""
    busy = Busy()
    first = RecordingHost(busy)
    before = await sandbox.run(ASKING, host=first)

    half = Busy()
    half.asked = 2
    again = RecordingHost(half, first.record[:2])
    after = await sandbox.run(ASKING, host=again)

    assert after == before
    assert again.record == first.record


async def test_changed_code_that_asks_something_else_is_told_where(sandbox: Sandbox) -> None:
    first = RecordingHost(answer)
    await sandbox.run("download_session_object('a')\ndownload_session_object('b')", host=first)

    with pytest.raises(CodeDiverged) as caught:
        await sandbox.run(
            "download_session_object('a')\ntry:\n  download_session_object('c')\nexcept: pass",
            host=RecordingHost(answer, first.record),
        )

    assert caught.value.position == 2
    assert '["b"]' in str(caught.value)
    assert '["c"]' in str(caught.value)
    assert await sandbox.is_well()


async def test_equal_values_hash_and_order_the_same_in_every_process() -> None:
    """Otherwise code that walks a set would ask in another order after a crash."""
    code = "print(hash('abc'), hash((1, 'x')), list({'x', 'y', 'zz', 'a'}), list(frozenset('hello')))"
    seen = set()
    for _ in range(3):
        async with SandboxPool(processes=1) as pool:
            seen.add(await Sandbox(pool).printed(code))

    assert len(seen) == 1


async def test_a_cancelled_run_stops_and_the_pool_goes_on(sandbox: Sandbox) -> None:
    """Cancelled in the middle of a computation, and again while it waits for its host."""
    began = asyncio.Event()

    class Telling:
        async def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            began.set()
            if name == "sleep":
                await asyncio.Event().wait()
            return 0

    for code in ("time.time()\nwhile True: pass", "time.sleep(1)"):
        began.clear()
        task = asyncio.create_task(sandbox.run(code, host=Telling(), time_s=60))
        await began.wait()
        for _ in range(20):  # until the answer is back in the sandbox
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 20)
        assert await asyncio.wait_for(sandbox.is_well(), 20)


def test_a_process_that_ran_code_ends_as_it_should() -> None:
    """Whatever the interpreter's own threads are doing when Python takes itself down."""
    program = (
        "import asyncio\nfrom tests.unit.sandbox import Sandbox, SandboxPool\n"
        "async def main():\n  async with SandboxPool(processes=1) as pool:\n"
        "    for _ in range(20): await Sandbox(pool).run('x = 1')\n"
        "asyncio.run(main())"
    )

    ended = [subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode for _ in range(5)]

    assert ended == [0] * 5


async def test_an_endless_run_leaves_the_event_loop_alone(sandbox: Sandbox) -> None:
    run = asyncio.create_task(sandbox.run("while True: pass", time_s=0.5))
    turns = 0
    while not run.done():
        await asyncio.sleep(0.005)
        turns += 1

    assert turns > 20


async def test_runs_share_nothing(sandbox: Sandbox) -> None:
    await sandbox.run("secret = 'abc'")

    outcome = await sandbox.run("print(secret)")

    assert outcome.error is not None
    assert outcome.error.type == "NameError"
