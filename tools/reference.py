"""The reference pages that come from the code: `tools/reference.py` writes them, `--check` fails when one is stale.

Errors, limits, endpoints and commands are tables of the program; a page about them written by hand would drift.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from reference_pages.commands import commands_page
from reference_pages.components import components_page
from reference_pages.endpoints import endpoints_page
from reference_pages.errors import errors_page
from reference_pages.hub import hub_page
from reference_pages.limits import limits_page

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "limits.md": limits_page,
    "endpoints.md": endpoints_page,
    "cli.md": commands_page,
    "hub.md": hub_page,
    "components.md": components_page,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is stale")
    check = parser.parse_args().check
    pages = {REFERENCE / name: page() for name, page in PAGES.items()}
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        print(f"{'stale, run `make docs`' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(pages[path], "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
