"""`python bench/sandbox.py [--runs N]`: what one run of a component's code costs, in milliseconds.

The floor beside it is the same pool of the same interpreter with nothing of ours around it: a checkout and `1`.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_monty import AsyncMonty

from turnbuckle.flow.sandbox import RecordingHost, SandboxLimits, SandboxNames, SandboxPool, check_code, run_code
from turnbuckle.flow.sandbox.check import _examined, program_for

TEXT = {"type": "text", "text": "Where is my order?"}
ANSWER = (
    'text = get_data_input("question")["text"]\n'
    'set_data_output("answer", create_message("assistant", f"You asked: {text}"))\n'
    'set_result("next")\n'
)
COMPONENT = """
def total_{n}(items, rate=0.2):
    amount = decimal.Decimal("0")
    for item in items:
        if item.get("price") is None or not item.get("count"):
            continue
        amount += decimal.Decimal(str(item["price"])) * item["count"]
    return {{"net": str(amount), "gross": str(amount * decimal.Decimal(str(1 + rate)))}}

order_{n} = json.loads(get_data_input("order")["text"]) if get_data_input("order") else {{"items": []}}
"""
CODES = {
    "empty": "",
    "answers a question": ANSWER,
    "1,000 turns of a loop": "x = 0\nfor i in range(1000): x += i * i\n",
    "uuid, clock (2 questions to the host)": "print(uuid.uuid4(), current_time_utc_iso())",
    "3 session helpers": "for i in range(3): download_session_object('memory')",
    "json, re, dataclasses": (
        "@dataclasses.dataclass\nclass P:\n  x: int\n"
        "print(json.dumps(dataclasses.asdict(P(1))), re.sub('a', 'b', 'cat'), textwrap.dedent(' x'))"
    ),
}


def answer(name: str, *args: Any, **kwargs: Any) -> Any:
    return {"clock": 1_700_000_000_000_000, "random_bytes": "ab" * 16}.get(name)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    runs = parser.parse_args().runs
    names = SandboxNames(data_inputs=[{"route": "question", "value": TEXT}], data_outputs=["answer"])
    async with AsyncMonty(max_processes=1) as bare:
        show("floor: Monty alone", await times(lambda: floor(bare), runs))
    async with SandboxPool() as pool:

        def run(code: str) -> Callable[[], Awaitable[Any]]:
            return lambda: run_code(code, names, RecordingHost(answer), SandboxLimits(), pool)

        for title, code in CODES.items():
            show(title, await times(run(code), runs))
        started = time.perf_counter()
        at_once = asyncio.Semaphore(32)

        async def one() -> None:
            async with at_once:
                await run(ANSWER)()

        await asyncio.gather(*[one() for _ in range(runs)])
        print(f"{'32 at once':42} {runs / (time.perf_counter() - started):8.0f} runs/s")
    show("first run of a new text: check, rewrite", [fresh(n) for n in range(200)])
    show("check_code, 2 kB", [checked(n) for n in range(200)])


async def floor(pool: AsyncMonty) -> None:
    async with pool.checkout() as session:
        await session.feed_run("1")


async def times(run: Callable[[], Awaitable[Any]], runs: int) -> list[float]:
    """Milliseconds of each run, after some to warm up."""
    taken = []
    for _ in range(runs + 50):
        started = time.perf_counter()
        await run()
        taken.append((time.perf_counter() - started) * 1_000)
    return taken[50:]


def fresh(n: int) -> float:
    code = f"{ANSWER}# {n}\nmarker = object()\n"
    started = time.perf_counter()
    assert check_code(code) == []
    program_for(code)
    return (time.perf_counter() - started) * 1_000


def checked(n: int) -> float:
    code = "".join(COMPONENT.format(n=f"{n}_{part}") for part in range(4))
    _examined.cache_clear()
    started = time.perf_counter()
    assert check_code(code) == []
    return (time.perf_counter() - started) * 1_000


def show(title: str, taken: list[float]) -> None:
    p99 = sorted(taken)[int(len(taken) * 0.99)]
    print(f"{title:42} p50 {statistics.median(taken):7.3f} ms   p99 {p99:7.3f} ms")


if __name__ == "__main__":
    asyncio.run(main())
