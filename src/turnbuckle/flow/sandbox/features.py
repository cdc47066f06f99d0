"""The syntax that Monty may lack: for each piece how to see it in a tree, and a snippet that tells whether it works.

The probe runs the snippets through the same pass that user code takes; the check reports what they showed.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from turnbuckle.flow.sandbox.rewrite import deletes_an_item


@dataclass(frozen=True)
class Feature:
    title: str  # as the page and the finding name it
    snippet: str  # runs to its end when the feature works
    kinds: tuple[str, ...] = ()  # classes of nodes to look at; by name, since newer versions of Python have more
    is_in: Callable[[ast.AST], bool] = lambda node: True


def _methods(node: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    if not isinstance(node, ast.ClassDef):
        return []
    return [part for part in node.body if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _inherits(node: ast.AST) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    only_object = len(node.bases) == 1 and isinstance(node.bases[0], ast.Name) and node.bases[0].id == "object"
    return bool(node.keywords or (node.bases and not only_object))


def _is_plain_member(part: ast.stmt) -> bool:
    if isinstance(part, ast.Assign):
        return all(isinstance(target, ast.Name) for target in part.targets)
    if isinstance(part, ast.AnnAssign):
        return isinstance(part.target, ast.Name)
    if isinstance(part, ast.Expr):
        return isinstance(part.value, ast.Constant)
    return isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Pass))


def _has_other_members(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and not all(_is_plain_member(part) for part in node.body)


def _deletes(kind: type[ast.expr]) -> Callable[[ast.AST], bool]:
    def is_in(node: ast.AST) -> bool:
        if not isinstance(node, ast.Delete):
            return False
        return any(isinstance(target, kind) and not deletes_an_item(target) for target in node.targets)

    return is_in


def _asynchronous_comprehension(node: ast.AST) -> bool:
    return isinstance(node, ast.comprehension) and bool(node.is_async)


_CLASS = "class A:\n  def __enter__(self): return 1\n  def __exit__(self, *a): return False\n"
_ASYNC_CLASS = "class A:\n  async def __aenter__(self): return 1\n  async def __aexit__(self, *a): return False\n"

FEATURES: dict[str, Feature] = {
    "functions": Feature(
        "functions: defaults, `*args`, `**kwargs`, positional-only, keyword-only, closures, `nonlocal`, `global`",
        "def f(a, /, b=1, *c, d=2, **e):\n  x = 1\n  def g():\n    nonlocal x\n    x = 2\n  g()\n  return x\nf(1)",
        ("FunctionDef",),
    ),
    "lambda": Feature("`lambda`", "(lambda x, *a, k=1: x)(1)", ("Lambda",)),
    "decorator": Feature(
        "decorators of functions and classes",
        "def d(f): return f\n@d\ndef g(): return 1\n@d\nclass A: pass\ng()",
        (),
    ),
    "method_decorator": Feature(
        "decorators of methods (`@property`, `@staticmethod`, `@classmethod`, any other)",
        "def d(f): return f\nclass A:\n  @d\n  def f(self): return 1\nA().f()",
        ("ClassDef",),
        lambda node: any(method.decorator_list for method in _methods(node)),
    ),
    "class": Feature(
        "classes with methods and class variables", "class A:\n  x = 1\n  def f(self): return 2\nA().f()", ()
    ),
    "dataclass": Feature(
        "`@dataclasses.dataclass`",
        "@dataclasses.dataclass\nclass P:\n  x: int\n  y: list = dataclasses.field(default_factory=list)\nP(1)",
        (),
    ),
    "inheritance": Feature(
        "inheritance and metaclasses", "class A: pass\nclass B(A): pass\nB()", ("ClassDef",), _inherits
    ),
    "class_body": Feature(
        "class bodies with anything but methods and plain class variables",
        "class A:\n  class B: pass\nA()",
        ("ClassDef",),
        _has_other_members,
    ),
    "generator": Feature("generators (`yield`)", "def f():\n  yield 1\nlist(f())", ("Yield",)),
    "yield_from": Feature("`yield from`", "def f():\n  yield from [1]\nlist(f())", ("YieldFrom",)),
    "comprehension": Feature(
        "comprehensions and generator expressions",
        "[x for x in [1]], {x for x in [1]}, sum(x for x in [1])",
        (),
    ),
    "async_comprehension": Feature(
        "asynchronous comprehensions",
        "async def f():\n  return [x async for x in []]\nawait f()",
        ("comprehension",),
        _asynchronous_comprehension,
    ),
    "async_function": Feature(
        "`async def` and `await` in it", "async def g(): return 1\nasync def f(): return await g()\nf", ()
    ),
    "async_for": Feature("`async for`", "async def f():\n  async for x in []: pass", ("AsyncFor",)),
    "async_with": Feature("`async with`", f"{_ASYNC_CLASS}async def f():\n  async with A(): pass", ("AsyncWith",)),
    "with": Feature("`with`", f"{_CLASS}with A() as x: pass", ("With",)),
    "try": Feature(
        "`try`, `except`, `else`, `finally`, `raise ... from`",
        "try:\n  raise ValueError('x') from None\nexcept (IndexError, ValueError) as e: pass\nfinally: pass",
        ("Try",),
    ),
    "exception_group": Feature("`except*`", "try:\n  pass\nexcept* ValueError:\n  pass", ("TryStar",)),
    "match": Feature("`match`", "match {'a': [1, 2]}:\n  case {'a': [x, *y], **z} if x: pass", ("Match",)),
    "del_item": Feature("`del holder[key]`", "d = {1: 2}\ndel d[1]\nl = [1]\ndel l[0]", ()),
    "del_slice": Feature("`del holder[a:b]`", "l = [1, 2]\ndel l[0:1]", ("Delete",), _deletes(ast.Subscript)),
    "del_name": Feature("`del name`", "x = 1\ndel x", ("Delete",), _deletes(ast.Name)),
    "del_attribute": Feature(
        "`del holder.name`", "class A: pass\na = A()\na.x = 1\ndel a.x", ("Delete",), _deletes(ast.Attribute)
    ),
    "assignment": Feature(
        "assignments: unpacking, `*rest`, `+=`, `:=`, annotations",
        "a, *b = [1, 2]\na += 1\n(c := 1)\nd: int = 2",
        (),
    ),
    "loops": Feature(
        "`for` and `while` with `else`, `break`, `continue`",
        "for i in [1]:\n  continue\nelse: pass\nwhile False: break\nelse: pass",
        (),
    ),
    "fstring": Feature("f-strings", "x = 3\nf'{x!r:>5} {x=}'", ("JoinedStr",)),
    "tstring": Feature("t-strings (a server on Python 3.14)", "t'{1}'", ("TemplateStr",)),
    "matrix": Feature(
        "`a @ b` of your own classes",
        "class A:\n  def __matmul__(self, o): return 1\nA() @ A()",
        ("BinOp",),
        lambda node: isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult),
    ),
    "type_alias": Feature("`type X = ...` (a server on Python 3.12)", "type X = int", ("TypeAlias",)),
    "type_parameters": Feature(
        "type parameters of functions and classes (a server on Python 3.12)", "def f[T](x: T) -> T: return x\nf(1)", ()
    ),
    "assert": Feature("`assert`", "assert 1 == 1", ("Assert",)),
}

_OTHER = "class A:\n  def {name}(self, *a): return {value}\n"
# Special methods that a class may define: a snippet that works only when Monty calls the method.
SPECIAL_METHODS: dict[str, str] = {
    "__init__": "class A:\n  def __init__(self): self.x = 1\nassert A().x == 1",
    "__repr__": _OTHER.format(name="__repr__", value="'zz'") + "assert repr(A()) == 'zz'",
    "__str__": _OTHER.format(name="__str__", value="'zz'") + "assert str(A()) == 'zz'",
    "__format__": _OTHER.format(name="__format__", value="'zz'") + "assert format(A(), 'x') == 'zz'",
    "__eq__": _OTHER.format(name="__eq__", value="True") + "assert A() == 1",
    "__ne__": _OTHER.format(name="__ne__", value="False") + "assert not (A() != 1)",
    "__hash__": _OTHER.format(name="__hash__", value="7") + "assert hash(A()) == 7",
    "__bool__": _OTHER.format(name="__bool__", value="False") + "assert not A()",
    "__len__": _OTHER.format(name="__len__", value="7") + "assert len(A()) == 7",
    "__getitem__": _OTHER.format(name="__getitem__", value="7") + "assert A()[1] == 7",
    "__setitem__": _OTHER.format(name="__setitem__", value="7") + "A()[1] = 2",
    "__contains__": _OTHER.format(name="__contains__", value="True") + "assert 1 in A()",
    "__iter__": _OTHER.format(name="__iter__", value="iter([1])") + "assert list(A()) == [1]",
    "__next__": "class A:\n  def __iter__(self): return self\n  def __next__(self): return 7\nassert next(A()) == 7",
    "__call__": _OTHER.format(name="__call__", value="7") + "assert A()() == 7",
    "__enter__": _CLASS + "with A() as x: assert x == 1",
    "__exit__": _CLASS + "with A() as x: assert x == 1",
    "__getattr__": _OTHER.format(name="__getattr__", value="7") + "assert A().zz == 7",
    "__setattr__": _OTHER.format(name="__setattr__", value="7") + "a = A()\na.x = 1\nassert not hasattr(a, 'x')",
    "__lt__": _OTHER.format(name="__lt__", value="True") + "assert A() < 1",
    "__le__": _OTHER.format(name="__le__", value="True") + "assert A() <= 1",
    "__gt__": _OTHER.format(name="__gt__", value="True") + "assert A() > 1",
    "__ge__": _OTHER.format(name="__ge__", value="True") + "assert A() >= 1",
    "__add__": _OTHER.format(name="__add__", value="7") + "assert A() + 1 == 7",
    "__radd__": _OTHER.format(name="__radd__", value="7") + "assert 1 + A() == 7",
    "__iadd__": _OTHER.format(name="__iadd__", value="7") + "a = A()\na += 1\nassert a == 7",
    "__sub__": _OTHER.format(name="__sub__", value="7") + "assert A() - 1 == 7",
    "__mul__": _OTHER.format(name="__mul__", value="7") + "assert A() * 1 == 7",
    "__truediv__": _OTHER.format(name="__truediv__", value="7") + "assert A() / 1 == 7",
    "__floordiv__": _OTHER.format(name="__floordiv__", value="7") + "assert A() // 1 == 7",
    "__mod__": _OTHER.format(name="__mod__", value="7") + "assert A() % 1 == 7",
    "__pow__": _OTHER.format(name="__pow__", value="7") + "assert A() ** 1 == 7",
    "__neg__": _OTHER.format(name="__neg__", value="7") + "assert -A() == 7",
    "__abs__": _OTHER.format(name="__abs__", value="7") + "assert abs(A()) == 7",
    "__int__": _OTHER.format(name="__int__", value="7") + "assert int(A()) == 7",
    "__float__": _OTHER.format(name="__float__", value="7.0") + "assert float(A()) == 7.0",
    "__and__": _OTHER.format(name="__and__", value="7") + "assert A() & 1 == 7",
    "__or__": _OTHER.format(name="__or__", value="7") + "assert A() | 1 == 7",
    "__post_init__": "@dataclasses.dataclass\nclass A:\n  x: int\n  def __post_init__(self): self.y = 7\n"
    "assert A(1).y == 7",
    "__new__": "class A:\n  def __new__(cls): return 7\nassert A() == 7",
    "__del__": "class A:\n  def __del__(self): pass\nassert False",  # nothing tells code when an object goes
}
