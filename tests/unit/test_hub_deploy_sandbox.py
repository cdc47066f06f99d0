"""What the compiler makes of a package runs in the sandbox, and its check has nothing to say (blobhub 5.6, 6.4)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.sandbox import Sandbox, with_inputs
from turnbuckle.flow.sandbox import SandboxPool, check_code
from turnbuckle.hub_deploy.compiler import compile_code
from turnbuckle.hub_deploy.imports import ImportRoots
from turnbuckle.hub_deploy.manifest import CodeBinding

FILES = {
    "answer.py": (
        "from __future__ import annotations\n"
        "import math as m\n"
        "from datetime import date, datetime\n"
        "from typing import Any, Literal\n"
        "from orders.find import find as find_order\n"
        "def answer(question: str) -> dict[str, Any]:\n"
        "    from json import dumps\n"
        "    order = find_order(question)\n"
        "    return create_message('assistant', dumps([order.id, m.floor(1.5), date(2026, 1, 2).isoformat()]))\n"
        "kind: Literal['a'] = 'a'\n"
        "set_data_output('answer', answer(get_data_input('question')['text']))\n"
        "set_result(datetime(2026, 1, 1).isoformat() + SINCE.isoformat())\n"
    ),
    "orders/__init__.py": "",
    "orders/find.py": (
        "import re\nfrom .model import Order\n"
        "def find(text):\n    return Order(int(re.search('[0-9]+', text).group(0)))\n"
    ),
    "orders/model.py": (
        "import dataclasses\nfrom datetime import datetime\nSINCE = datetime(2026, 1, 1)\n"
        "@dataclasses.dataclass\nclass Order:\n    id: int\n"
    ),
}


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with SandboxPool(processes=1) as pool:
        yield Sandbox(pool)


async def test_a_package_runs_as_one_component(sandbox: Sandbox, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    blocks = compile_code(CodeBinding(tmp_path, "answer.py"), ImportRoots(is_strict=True)).blocks
    code = "\n".join(blocks)

    outcome = await sandbox.run(code, with_inputs({"question": {"type": "text", "text": "Where is 17?"}}, ["answer"]))

    assert check_code(code) == []
    assert outcome.error is None
    assert outcome.route == "2026-01-01T00:00:002026-01-01T00:00:00"
    assert outcome.outputs["answer"].value["message"]["content"][0]["text"] == '[17, 1, "2026-01-02"]'
