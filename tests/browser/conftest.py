"""A real browser: Debian's Chromium, driven by Playwright (`make browser`)."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.browser import fake_hub
from tests.browser.fake_hub import FakeHub

try:
    from playwright.sync_api import Browser, Page, expect, sync_playwright
except ImportError:  # the extra `browser` is not installed: `make browser` does that
    collect_ignore_glob = ["test_*.py"]
else:
    expect.set_options(timeout=10_000)

    @pytest.fixture(scope="module")
    def browser() -> Iterator[Browser]:
        """No longer than it must: while it is there, its loop runs in this thread, and no async test can."""
        chromium = shutil.which("chromium")
        assert chromium is not None, "these tests need Chromium: apt-get install chromium"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium)
            yield browser
            browser.close()

    @pytest.fixture
    def look(browser: Browser) -> Iterator[Callable[..., Page]]:
        """Open the page of a run; at the end nothing in it may have failed, and nothing come from elsewhere."""
        with ExitStack() as stack:
            failed: list[str] = []

            def open_page(hub: FakeHub | str, **context: Any) -> Page:
                address = hub if isinstance(hub, str) else stack.enter_context(fake_hub.serve(hub))
                made = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | context))
                stack.callback(made.close)
                page = made.new_page()
                origin = address.split("/")[2]
                page.on("pageerror", lambda error: failed.append(str(error)))
                page.on("console", lambda told: failed.append(told.text) if "Content Security" in told.text else None)
                page.on("dialog", lambda dialog: failed.append(f"a script asked: {dialog.message}"))
                page.on("request", lambda asked: None if origin in asked.url else failed.append(asked.url))
                page.goto(address)
                return page

            yield open_page
            assert failed == []
