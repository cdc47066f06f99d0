"""`python bench/hub_check.py [--components N] [--bytes N]`: reading and checking one large definition.

A document of 2 MB with 1,000 components: code, conditions, sleeps and data in one long path. Wanted is under 1 s.
The check of the code is the sandbox's; its cost grows with the code, so it is measured apart, for three shares of it.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec

from turnbuckle.flow.sandbox import check_code
from turnbuckle.hub.check import check, code_text
from turnbuckle.hub.document import parse

Json = dict[str, Any]
KINDS = ("logic.code", "data.text", "logic.condition", "logic.code", "io.sleep")
ROUTES = {"logic.condition": ("true", "false"), "logic.code": ("success", "next")}
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--components", type=int, default=1_000)
    parser.add_argument("--bytes", type=int, default=2_000_000)
    args = parser.parse_args()
    for share in (0.0, 0.2, 1.0):
        raw = document(args.components, args.bytes, share)
        print(f"{args.components:,} components, {len(raw):,} bytes, of the padding {share:.0%} is code; CPU time in ms")
        rows = [one_round(raw, share > 0) for _ in range(ROUNDS)]
        for name, times in zip(("decode", "read", "check", "code's check"), zip(*rows, strict=True), strict=True):
            print(f"  {name}: median {statistics.median(times):.0f}, {min(times):.0f} to {max(times):.0f}")


def one_round(raw: bytes, with_code: bool) -> tuple[float, float, float, float]:
    """The sandbox remembers code that it has checked, so it is asked for other code each time."""
    decode_ms, loaded = timed(lambda: msgspec.json.decode(raw))
    read_ms, parsed = timed(lambda: parse(loaded))
    check_ms, _ = timed(lambda: check(parsed, lambda code: ()))
    codes = [code_text(part) for part in parsed.components if part.type == "logic.code"] if with_code else []
    mark = time.perf_counter_ns()
    code_ms, _ = timed(lambda: [check_code(f"{code}\nx = {mark}") for code in codes])
    return decode_ms, read_ms, check_ms, code_ms


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = act()
    return (time.process_time() - start) * 1_000, made


def document(components: int, size: int, code_share: float) -> bytes:
    """A path of `components`, padded until the whole has about `size` bytes; each code has its part of `code_share`."""
    room = size - len(json.dumps(_document(components, 0, 0)))
    codes, texts = (len([1 for i in range(components) if _kind(i) == kind]) for kind in ("logic.code", "data.text"))
    made = _document(components, int(room * code_share / codes), int(room * (1 - code_share) / texts))
    return json.dumps(made).encode()


def _document(components: int, code_bytes: int, text_bytes: int) -> Json:
    parts = [_component(0, "flow.start", 0, 0)]
    edges: list[Json] = []
    last = 0
    for i in range(1, components):
        kind = KINDS[i % len(KINDS)]
        parts.append(_component(i, kind, code_bytes, text_bytes))
        if kind.startswith("data."):
            edges.append(_edge(len(edges), i, i - 1, "data", source_route="value", target_route="left"))
            continue
        for route in {"flow.start": ["next"], "logic.condition": ["true", "false"]}.get(
            _kind(last), ["success", "next"]
        ):
            edges.append(_edge(len(edges), last, i, "flow", route=route))
        last = i
    return {"type": "workflow_definition", "version": "1.0.1", "components": parts, "connections": edges}


def _kind(index: int) -> str:
    return KINDS[index % len(KINDS)] if index else "flow.start"


def _component(index: int, kind: str, code_bytes: int, text_bytes: int) -> Json:
    settings: dict[str, Json] = {
        "logic.code": {
            "language": {"type": "choice", "id": "python"},
            "code": {"type": "message", "message": {"role": "interpreter", "content": [_code(index, code_bytes)]}},
        },
        "data.text": {"alias": f"alias-{index}", "persistence": "execution", "value": "x" * text_bytes},
        "logic.condition": {"operator": {"type": "choice", "id": "eq"}},
        "io.sleep": {"seconds": {"type": "integer", "integer": 1}},
    }
    of_kind = settings.get(kind, {})
    ports = [{"category": "setting", "route": route, "value": value} for route, value in of_kind.items()]
    position = {"x": index * 10, "y": index % 7}
    return {"id": f"component-{index}", "type": kind, "name": f"Part {index}", "position": position, "ports": ports}


def _code(index: int, size: int) -> Json:
    line = f"total_{index} = sum(i * {index} for i in range(10)) if get_data_input('left') else None\n"
    return {"type": "text", "text": line * (size // len(line)) + "set_result('next')"}


def _edge(number: int, source: int, target: int, kind: str, **routes: str) -> Json:
    ends = {"source_id": f"component-{source}", "target_id": f"component-{target}"}
    return {"id": f"edge-{number}", "source_port": f"{kind}_output", "target_port": f"{kind}_input", **ends, **routes}


if __name__ == "__main__":
    main()
