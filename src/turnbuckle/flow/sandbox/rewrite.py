"""The pass over the syntax tree that turns the code of blobhub 5.6 into code that Monty runs.

Each rewrite stands for something Monty lacks; the probe (probe.py) shows which, and the tests hold both together.
"""

import ast

from turnbuckle.flow.sandbox import names
from turnbuckle.flow.sandbox.pieces import pieces
from turnbuckle.flow.sandbox.scopes import Names

# What modules of Monty lack, by the name of our piece that stands for it.
ADDED_ATTRIBUTES = {
    "datetime.UTC": "__tb_datetime_UTC",
    "datetime.MINYEAR": "__tb_datetime_MINYEAR",
    "datetime.MAXYEAR": "__tb_datetime_MAXYEAR",
    "datetime.datetime.fromtimestamp": "__tb_datetime_fromtimestamp",
    "datetime.datetime.utcfromtimestamp": "__tb_datetime_utcfromtimestamp",
    "datetime.datetime.utcnow": "__tb_datetime_utcnow",
    "datetime.date.fromtimestamp": "__tb_date_fromtimestamp",
    "functools.wraps": "__tb_functools_wraps",
    "functools.update_wrapper": "__tb_functools_update_wrapper",
    "dataclasses.asdict": "__tb_dataclasses_asdict",
    "dataclasses.astuple": "__tb_dataclasses_astuple",
    "dataclasses.replace": "__tb_dataclasses_replace",
    "re.subn": "__tb_re_subn",
    "re.sub": "__tb_re_sub",
    "re.purge": "__tb_re_purge",
    "re.UNICODE": "__tb_re_UNICODE",
    "re.U": "__tb_re_UNICODE",
}
# Types whose methods Monty calls on values but does not give: `str.strip` becomes a function that calls it.
_TYPES = ("str", "bytes", "list", "dict", "set", "frozenset", "tuple", "int", "float")
_ON_THE_TYPE = ("fromkeys", "fromhex", "from_bytes", "maketrans", "__name__")
_OF_A_HANDLED_EXCEPTION = ("traceback.format_exc", "traceback.print_exc")
_TAKES_A_ZONE = {"astimezone": "__tb_zone_astimezone", "now": "__tb_zone_now"}
_TAKES_TZINFO = {"replace": "__tb_zone_replace", "combine": "__tb_zone_combine"}


def rewrite(tree: ast.Module, resolved: Names) -> tuple[bool, set[str]]:
    """Changes the tree in place. Whether it changed anything, and the free names the result uses.

    RecursionError on code nested deeper than Python's own recursion.
    """
    pass_ = _Pass({id(node) for node in resolved.free})
    pass_.visit(tree)
    return pass_.changed, pass_.used


class _Pass(ast.NodeTransformer):
    def __init__(self, free: set[int]) -> None:
        self.changed = False
        self.used: set[str] = set()
        self._free = free
        self._handled: list[str] = []  # names of the exceptions in whose handlers we are
        self._private = 0

    def _name(self, name: str, at: ast.expr) -> ast.Name:
        """A name of ours or of Monty, in place of an expression."""
        self.changed = True
        self.used.add(name)
        return ast.copy_location(ast.Name(name, ast.Load()), at)

    def _call(self, name: str, arguments: list[ast.expr], at: ast.expr) -> ast.Call:
        call = ast.copy_location(ast.Call(self._name(name, at), arguments, []), at)
        return call

    def _is_free(self, node: ast.AST, name: str) -> bool:
        return isinstance(node, ast.Name) and node.id == name and id(node) in self._free

    def _dotted(self, node: ast.expr) -> str:
        """`datetime.datetime.now` of an attribute of a module, or an empty text."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and id(node) in self._free and node.id in names.MODULES:
            return ".".join([node.id, *reversed(parts)])
        return ""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if id(node) not in self._free:
            return node
        if node.id in names.CARRIERS:
            return self._name(names.CARRIERS[node.id], node)
        known = node.id in names.ALL or node.id in names.GIVEN
        if not known or (node.id in names.MODULES and node.id not in pieces()):
            return self._call("__tb_absent", [ast.copy_location(ast.Constant(node.id), node)], node)
        self.used.add(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        added = ADDED_ATTRIBUTES.get(self._dotted(node))
        if added is not None:
            return self._name(added, node)
        if node.attr == "__name__" and isinstance(node.value, ast.Call) and self._is_free(node.value.func, "type"):
            arguments = [self.visit(argument) for argument in node.value.args]
            return self._call("__tb_type_name", arguments, node)
        if isinstance(node.value, ast.Name) and node.value.id in _TYPES and self._is_free(node.value, node.value.id):
            return node if node.attr in _ON_THE_TYPE else self._method(node)
        self.generic_visit(node)
        return node

    def _method(self, node: ast.Attribute) -> ast.expr:
        self.changed = True
        lambda_ = ast.parse(f"lambda __tb_it, *__tb_more, **__tb_named: __tb_it.{node.attr}(*__tb_more, **__tb_named)")
        statement = lambda_.body[0]
        assert isinstance(statement, ast.Expr)
        for part in ast.walk(statement.value):
            if isinstance(part, (ast.expr, ast.arg)):
                ast.copy_location(part, node)
        return statement.value

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if self._is_free(node.func, "object") and not node.args and not node.keywords:
            return self._call("__tb_object", [], node)
        dotted = self._dotted(node.func)
        if dotted in _OF_A_HANDLED_EXCEPTION and not node.args and self._handled:
            node.args = [ast.copy_location(ast.Name(self._handled[-1], ast.Load()), node)]
            self.changed = True
        if dotted == "json.dumps" and any(keyword.arg == "default" for keyword in node.keywords):
            node.func = self._name("__tb_json_dumps", node.func)
        zoned = self._zoned(node, dotted)
        if zoned is not None:
            return zoned
        self.generic_visit(node)
        return node

    def _zoned(self, node: ast.Call, dotted: str) -> ast.expr | None:
        """A call that may be given a ZoneInfo, through our piece that knows what one is."""
        if not self._with_zones:
            return None
        function = node.func
        if dotted == "datetime.datetime.fromtimestamp":
            name, first = "__tb_zone_fromtimestamp", None
        elif isinstance(function, ast.Attribute) and function.attr in _TAKES_A_ZONE:
            name, first = _TAKES_A_ZONE[function.attr], function.value
        elif not any(keyword.arg == "tzinfo" for keyword in node.keywords):
            return None
        elif isinstance(function, ast.Attribute) and function.attr in _TAKES_TZINFO:
            name, first = _TAKES_TZINFO[function.attr], function.value
        else:
            name, first = "__tb_zone_tzinfo", function
        given = [argument for argument in [first, *node.args] if argument is not None]
        call = self._call(name, [self.visit(argument) for argument in given], node)
        call.keywords = [self.visit(keyword) for keyword in node.keywords]
        return call

    _with_zones = False

    def visit_Module(self, node: ast.Module) -> ast.AST:
        parts = ast.walk(node)
        self._with_zones = any(self._is_free(part, "zoneinfo") for part in parts)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if len(node.bases) == 1 and self._is_free(node.bases[0], "object"):
            node.bases = []
            self.changed = True
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """What is handled where a function is written is not what is handled where it runs."""
        handled, self._handled = self._handled, []
        self.generic_visit(node)
        self._handled = handled
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        if node.name is None and self._asks_what_is_handled(node):
            self._private += 1
            node.name = f"{names.PRIVATE}error_{self._private}"
            # A bare `except` catches more than Exception; leaving with exit() is not caught there any more.
            node.type = node.type or ast.copy_location(ast.Name("Exception", ast.Load()), node.body[0])
            self.changed = True
        if node.name is None:
            self.generic_visit(node)
            return node
        self._handled.append(node.name)
        self.generic_visit(node)
        self._handled.pop()
        return node

    def _asks_what_is_handled(self, node: ast.ExceptHandler) -> bool:
        return any(
            isinstance(part, ast.Attribute) and self._dotted(part) in _OF_A_HANDLED_EXCEPTION for part in ast.walk(node)
        )

    def visit_Delete(self, node: ast.Delete) -> ast.AST | list[ast.stmt]:
        """`del holder[key]` as holder.pop(key); other targets stay, and the check reports them."""
        if not all(deletes_an_item(target) for target in node.targets):
            self.generic_visit(node)
            return node
        return [self._deletion(target) for target in node.targets if isinstance(target, ast.Subscript)]

    def _deletion(self, target: ast.Subscript) -> ast.stmt:
        call = self._call("__tb_del_item", [self.visit(target.value), self.visit(target.slice)], target)
        return ast.copy_location(ast.Expr(call), target)


def deletes_an_item(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice)
