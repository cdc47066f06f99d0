"""The compiler of code components (blobhub 6.4): each rule, and that the blocks run as the files would."""

import dataclasses
import datetime
import importlib
import json
import math
import runpy
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from turnbuckle.hub_deploy.compiler import Compiled, compile_code
from turnbuckle.hub_deploy.imports import ImportRoots
from turnbuckle.hub_deploy.manifest import CodeBinding
from turnbuckle.hub_deploy.problem import DeployProblem

Compile = Callable[..., Compiled]
UNKNOWN = ImportRoots()


@pytest.fixture
def compiled(tmp_path: Path) -> Compile:
    """`compiled("main.py", {"main.py": "x = 1"})`: the blocks of these files."""

    def run(files: dict[str, str], entry: str = "main.py", roots: ImportRoots = UNKNOWN) -> Compiled:
        for name, text in files.items():
            path = tmp_path / "base" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return compile_code(CodeBinding(tmp_path / "base", entry), roots)

    return run


def bodies(made: Compiled) -> dict[str, str]:
    """Each block's text without its first line, by the path in that line, in the order of the blocks."""
    parts = [block.split("\n", 1) for block in made.blocks]
    return {head.removeprefix("# blobhub:source "): body for head, body in parts}


def namespace_after(made: Compiled) -> dict[str, Any]:
    """What the blocks leave in one namespace that has the sandbox's modules and no `import`."""
    names: dict[str, Any] = {"json": json, "math": math, "datetime": datetime, "dataclasses": dataclasses}
    names["__builtins__"] = {"len": len, "int": int, "__build_class__": __build_class__, "__name__": "code"}
    exec("\n".join(made.blocks), names)
    return names


def refused(compiled: Compile, code: str, files: dict[str, str], **options: Any) -> str:
    with pytest.raises(DeployProblem) as caught:
        compiled(files, **options)
    assert caught.value.code == code, caught.value.message
    assert caught.value.hint
    return caught.value.message


# -- one file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "becomes"),
    [
        ("import json", ""),
        ("import json, math", ""),
        ("import math as m", "m = math"),
        ("import math as math", ""),
        ("import json, math as m, re as r", "m = math; r = re"),
        ("from math import sqrt", "sqrt = math.sqrt"),
        ("from math import sqrt as root, pi", "root = math.sqrt; pi = math.pi"),
        ("from typing import Any, Union", "Any = typing.Any"),
        ("from typing import Literal", ""),
        ("from __future__ import annotations", ""),
        ("from datetime import datetime, timedelta", "timedelta = datetime.timedelta; datetime = datetime.datetime"),
    ],
)
def test_an_import_is_replaced_where_it_stands(compiled: Compile, statement: str, becomes: str) -> None:
    made = compiled({"main.py": f"a = 1\n{statement}\nb = 2"})

    assert bodies(made) == {"main.py": f"a = 1\n{becomes}\nb = 2"}


def test_lines_keep_their_numbers(compiled: Compile) -> None:
    text = "from math import (\n    sqrt,\n    pi,\n)  # needed\nx = sqrt(4)\n"

    made = bodies(compiled({"main.py": text}))["main.py"]

    assert made.split("\n")[0] == "sqrt = math.sqrt; pi = math.pi  # needed"
    assert made.split("\n").index("x = sqrt(4)") == text.split("\n").index("x = sqrt(4)")


def test_what_looks_like_an_import_in_a_text_stays(compiled: Compile) -> None:
    text = '"""\nimport json\n"""\nx = "é; import os"; import json; y = len(x)  # import math'

    made = bodies(compiled({"main.py": text}))["main.py"]

    assert made == '"""\nimport json\n"""\nx = "é; import os"; pass; y = len(x)  # import math'


def test_a_suite_of_imports_alone_gets_pass(compiled: Compile) -> None:
    text = "def f():\n    import json\n    import math\n\n\nif len('a'): import json\nelse:\n    import math as m"

    made = bodies(compiled({"main.py": text}))["main.py"]

    assert made == "def f():\n    pass\n\n\n\nif len('a'): pass\nelse:\n    m = math"
    namespace_after(compiled({"main.py": text}))


def test_a_file_without_a_statement_gets_pass(compiled: Compile) -> None:
    files = {"main.py": "from empty import *\nfrom bare import *\n", "empty.py": "", "bare.py": "import json\n"}

    assert bodies(compiled(files)) == {"empty.py": "pass", "bare.py": "pass\n", "main.py": "pass\n\n"}


def test_imports_in_functions_bind_there(compiled: Compile) -> None:
    made = compiled({"main.py": "def f(x):\n    from math import sqrt\n    return sqrt(x)\ny = f(9)"})

    names = namespace_after(made)

    assert names["y"] == 3
    assert "sqrt" not in names


def test_a_module_hidden_inside_a_function_is_refused(compiled: Compile) -> None:
    """`datetime = datetime.datetime` in a function reads its own name before it is bound."""
    text = "def f():\n    from datetime import datetime\n    return datetime"

    assert "line 2" in refused(compiled, "UNSUPPORTED_IMPORT_FORM", {"main.py": text})


def test_a_foreign_star_is_refused(compiled: Compile) -> None:
    refused(compiled, "UNSUPPORTED_IMPORT_FORM", {"main.py": "from math import *"})


def test_code_that_is_not_python_is_refused_with_its_line(compiled: Compile) -> None:
    assert "main.py, line 2" in refused(compiled, "FORMAT_PARSE_ERROR", {"main.py": "x = 1\ny = ("})
    refused(compiled, "FORMAT_PARSE_ERROR", {"main.py": "x = '\0'"})


def test_line_ends_of_another_system_become_line_feeds(compiled: Compile) -> None:
    assert bodies(compiled({"main.py": "\ufeffimport json\r\nx = 1\r\n"})) == {"main.py": "\nx = 1\n"}


# -- several files ---------------------------------------------------------------------------------------------------

PACKAGE = {
    "main.py": "from shop.prices import price as cost\nfrom shop import VAT\nresult_of = cost(100)\n",
    "shop/__init__.py": "from .rates import VAT\n",
    "shop/prices.py": "from .rates import VAT\nfrom .. import rounding_digits\n\n\ndef price(n):\n    return n * VAT\n",
    "shop/rates.py": "VAT = 2\n",
    "__init__.py": "rounding_digits = 2\n",
}


def test_dependencies_come_before_dependents_each_once(compiled: Compile) -> None:
    made = compiled(PACKAGE)

    assert list(bodies(made)) == ["shop/rates.py", "__init__.py", "shop/prices.py", "shop/__init__.py", "main.py"]
    assert bodies(made)["main.py"] == "cost = price\n\nresult_of = cost(100)\n"
    assert namespace_after(made)["result_of"] == 200


def test_a_module_comes_before_a_package_of_its_name(compiled: Compile) -> None:
    files = {"main.py": "from a import x", "a.py": "x = 1", "a/__init__.py": "x = 2"}

    assert list(bodies(compiled(files))) == ["a.py", "main.py"]


def test_parents_are_not_visited(compiled: Compile) -> None:
    files = {"main.py": "from pkg.a import x", "pkg/__init__.py": "raise ValueError", "pkg/a.py": "x = 1"}

    assert list(bodies(compiled(files))) == ["pkg/a.py", "main.py"]


def test_a_star_of_ones_own_offers_everything(compiled: Compile) -> None:
    files = {"main.py": "from b import deep", "b.py": "from a import *", "a.py": "deep = 1"}

    assert namespace_after(compiled(files))["deep"] == 1


def test_a_name_may_come_through_another_file(compiled: Compile) -> None:
    files = {
        "main.py": "from b import root, of_a\ny = root(4) + of_a",
        "b.py": "from math import sqrt as root\nfrom a import x as of_a",
        "a.py": "x = 1",
    }

    assert namespace_after(compiled(files))["y"] == 3


@pytest.mark.parametrize("text", ["x = 1", "def x(): pass", "class x: pass", "if len('a'):\n    x = 1", "x: int = 1"])
def test_top_level_names_can_be_imported(compiled: Compile, text: str) -> None:
    made = compiled({"main.py": "from a import x\ny = x", "a.py": text})

    assert "y" in namespace_after(made)


def test_a_name_that_is_not_there_is_refused(compiled: Compile) -> None:
    files = {"main.py": "x = 1\nfrom a import wrong", "a.py": "def f():\n    wrong = 1"}

    assert "main.py, line 2: a.py has no 'wrong'" in refused(compiled, "IMPORT_NAME_NOT_FOUND", files)
    refused(compiled, "IMPORT_NAME_NOT_FOUND", {"main.py": "from .nowhere import x"})


@pytest.mark.parametrize(
    "statement",
    ["import a", "import pkg.b", "from pkg import b", "from . import a", "import bare.c", "from bare import c"],
)
def test_a_module_of_ones_own_is_no_object(compiled: Compile, statement: str) -> None:
    files = {"main.py": statement, "a.py": "", "pkg/__init__.py": "", "pkg/b.py": "", "bare/c.py": ""}

    refused(compiled, "LOCAL_MODULE_IMPORT_FORM", files)


def test_a_circle_is_refused_as_one_reads_it(compiled: Compile) -> None:
    a, b = "def f():\n    from b import y\nx = 1", "from a import x\ny = 1"
    files = {"main.py": "from a import x", "a.py": a, "b.py": b}

    assert refused(compiled, "IMPORT_CYCLE", files) == "a.py -> b.py -> a.py"


# -- one namespace ---------------------------------------------------------------------------------------------------


def test_a_name_of_two_files_is_refused(compiled: Compile) -> None:
    files = {"main.py": "from a import x\ndef helper(): pass", "a.py": "x = 1\nhelper = 2"}

    assert "'helper' in a.py and in main.py" in refused(compiled, "SYMBOL_COLLISION", files)


def test_two_files_may_bind_the_same(compiled: Compile) -> None:
    files = {
        "main.py": "from a import x\nfrom math import sqrt\nimport math as m\n__all__ = []\ny = sqrt(x) + m.pi",
        "a.py": "from math import sqrt\nimport math as m\n__all__ = ['x']\nx = sqrt(16)",
    }

    assert namespace_after(compiled(files))["y"] == 2 + math.pi


def test_two_files_may_not_import_two_things_under_one_name(compiled: Compile) -> None:
    files = {"main.py": "from a import x\nfrom math import sqrt as f", "a.py": "from math import pow as f\nx = 1"}

    refused(compiled, "SYMBOL_COLLISION", files)


@pytest.mark.parametrize(
    "text", ["len = 1", "def result(): pass", "class Exit: pass", "typing = 1", "from math import pow", "__tb_x = 1"]
)
def test_a_name_of_the_sandbox_is_refused(compiled: Compile, text: str) -> None:
    assert "line 2" in refused(compiled, "SANDBOX_NAME_SHADOWED", {"main.py": f"\n{text}"})


def test_a_modules_name_may_be_bound(compiled: Compile) -> None:
    files = {"main.py": "from a import copy\nx = copy(1)", "a.py": "def copy(x):\n    return x"}

    assert namespace_after(compiled(files))["x"] == 1


def test_names_from_a_hidden_module_are_bound_before_it_is_hidden(compiled: Compile) -> None:
    """Each file is ordinary Python; in one namespace the second import would find the class, not the module."""
    files = {
        "main.py": "from a import A\nfrom datetime import UTC, datetime\nx = datetime(2026, 1, 1, tzinfo=UTC) + A",
        "a.py": "from datetime import datetime, timedelta\nA = timedelta(days=1)",
    }

    made = compiled(files)

    assert namespace_after(made)["x"] == datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "text",
    [
        "import datetime\nx = datetime.datetime(2026, 1, 1)",
        "x = datetime.datetime(2026, 1, 1)",
        "def f():\n    from datetime import timedelta",
    ],
)
def test_a_file_that_needs_a_module_that_another_hides_is_refused(compiled: Compile, text: str) -> None:
    files = {"main.py": f"from a import A\n{text}", "a.py": "from datetime import datetime\nA = datetime"}

    refused(compiled, "SYMBOL_COLLISION", files)


def test_a_definition_that_hides_a_module_another_file_needs_is_refused(compiled: Compile) -> None:
    files = {"main.py": "from a import A\nimport json\nx = json", "a.py": "json = 1\nA = 2"}

    refused(compiled, "SYMBOL_COLLISION", files)


# -- paths -----------------------------------------------------------------------------------------------------------


def test_the_entry_point_has_to_exist(compiled: Compile) -> None:
    refused(compiled, "ENTRY_POINT_NOT_FOUND", {"main.py": ""}, entry="other.py")


def test_nothing_leaves_the_base_path(compiled: Compile, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("x = 1")

    refused(compiled, "BASE_PATH_ESCAPE", {"main.py": ""}, entry="../outside.py")
    refused(compiled, "BASE_PATH_ESCAPE", {"main.py": "from ..outside import x"})
    (tmp_path / "base" / "link.py").symlink_to(tmp_path / "outside.py")
    refused(compiled, "BASE_PATH_ESCAPE", {"main.py": "from link import x"})


# -- what the sandbox has --------------------------------------------------------------------------------------------


def test_an_unknown_module_is_refused_or_told(compiled: Compile) -> None:
    """An unknown list leaves room for doubt; a known one or a strict build does not."""
    files = {"main.py": "import numpy as np\nx = np"}

    told = compiled(files)

    assert [one.code for one in told.advisories] == ["IMPORT_UNVERIFIED"]
    refused(compiled, "IMPORT_UNAVAILABLE", files, roots=ImportRoots(is_strict=True))
    refused(compiled, "IMPORT_UNAVAILABLE", files, roots=ImportRoots(frozenset({"pandas", "*"})))
    allowed = compiled(files, roots=ImportRoots(frozenset({"numpy"}), is_strict=True))
    assert bodies(allowed)["main.py"] == "np = numpy\nx = np"
    assert allowed.advisories == ()


def test_a_file_that_hides_a_module_of_the_sandbox_is_told(compiled: Compile) -> None:
    made = compiled({"main.py": "from json import load_all", "json.py": "load_all = 1"})

    assert [one.code for one in made.advisories] == ["LOCAL_SHADOWS_SANDBOX_MODULE"]
    assert list(bodies(made)) == ["json.py", "main.py"]


# -- against Python itself -------------------------------------------------------------------------------------------

FOREIGN = [
    ("from math import floor", "floor(2.5)"),
    ("from math import floor as down", "down(3.5)"),
    ("import math as m", "m.floor(4.5)"),
    ("import math", "math.floor(5.5)"),
    ("from datetime import datetime", "datetime(2026, 1, 6).day"),
    ("from datetime import datetime, timedelta", "timedelta(days=7).days"),
    ("from datetime import date", "date(2026, 1, 8).day"),
    ("import datetime", "datetime.date(2026, 1, 9).day"),
]


@st.composite
def packages(draw: st.DrawFn) -> dict[str, str]:
    """Files m0, m1 ... in packages or not, each importing from those before it; the last adds up what all give."""
    count = draw(st.integers(1, 6))
    modules = [draw(st.sampled_from(["m{}", "pkg.m{}", "pkg.sub.m{}"])).format(n) for n in range(count)]
    files = {f"{folder}/__init__.py": "" for folder in ("pkg", "pkg/sub")}
    for n, module in enumerate(modules):
        lines, terms = [], [str(n + 1)]
        for k in draw(st.sets(st.integers(0, n - 1), max_size=3) if n else st.just(set())):
            line, term = draw(st.sampled_from(_own_imports(modules[k], k, n)))
            lines.append(line)
            terms.append(term)
        for line, term in draw(st.lists(st.sampled_from(FOREIGN), max_size=2, unique=True)):
            lines.append(line)
            terms.append(term)
        text = "\n".join([*draw(st.permutations(lines)), f"v{n} = {' + '.join(terms)}", ""])
        files[f"{module.replace('.', '/')}.py"] = text
    return {**files, "main.py": f"from {modules[-1]} import v{count - 1} as total\n"}


def _own_imports(module: str, k: int, n: int) -> list[tuple[str, str]]:
    return [
        (f"from {module} import v{k}", f"v{k}"),
        (f"from {module} import v{k} as w{n}_{k}", f"w{n}_{k}"),
        (f"from {module} import *", f"v{k}"),
        (f"def f{n}_{k}():\n    from {module} import v{k} as inner\n    return inner", f"f{n}_{k}()"),
        (f"if True:\n    from {module} import (\n        v{k},\n    )", f"v{k}"),
    ]


def total_by_python(folder: Path) -> int:
    """What the files make when they are modules."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        found: int = runpy.run_path(str(folder / "main.py"))["total"]
        return found
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            del sys.modules[name]


@settings(deadline=None)
@given(packages())
def test_blocks_do_what_modules_do(files: dict[str, str]) -> None:
    """Or the compiler says that they would not: never something else."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        try:
            expected = total_by_python(folder)
        except (AttributeError, TypeError):  # one file took `datetime` for the module and for the class
            reject()

        made, refusal = compiled_or_refused(folder)

    assert refusal in (None, "SYMBOL_COLLISION")
    assert made is None or namespace_after(made)["total"] == expected


def compiled_or_refused(folder: Path) -> tuple[Compiled | None, str | None]:
    try:
        return compile_code(CodeBinding(folder, "main.py"), ImportRoots(is_strict=True)), None
    except DeployProblem as problem:
        return None, problem.code
