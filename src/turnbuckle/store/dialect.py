"""What differs between SQLite and PostgreSQL, all of it. One SQL text serves both through these slots."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    name: str
    slots: dict[str, str]
    lock: str  # how a select locks the rows of table \\1 that it returns; slot `{lock TABLE}`
    each: str  # the texts of parameter \\1, a JSON list, as rows of one column `id`; slot `{each PARAMETER}`
    parameter: str  # how a named parameter is written
    position: str  # how the parameters of a whole row are written

    def adapt(self, sql: str) -> str:
        """The text as this database reads it."""
        for slot, text in self.slots.items():
            sql = sql.replace("{" + slot + "}", text)
        return _PARAMETER.sub(self.parameter, _EACH.sub(self.each, _LOCK.sub(self.lock, sql)))


_LOCK = re.compile(r"\{lock (\w+)\}")
_EACH = re.compile(r"\{each (\w+)\}")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")

SQLITE = Dialect(
    "sqlite",
    {
        "skip_locked": "",
        "bytes_order": "",
        "clustered": "without rowid",  # one tree instead of two for narrow rows that are found by key
    },
    "",  # the one writer is alone
    r"select value as id from json_each(:\1)",
    r":\1",
    "?",
)
POSTGRES = Dialect(
    "postgresql",
    {
        "skip_locked": "skip locked",
        "bytes_order": 'collate "C"',  # paging order must not depend on the locale
        "clustered": "",
    },
    r"for update of \1",
    r"select json_array_elements_text(:\1::json) as id",
    r"%(\1)s",
    "%s",
)
