"""The version of the distribution this package came in."""

import platform
from importlib.metadata import version

import httpx

__version__ = version("turnbuckle")
USER_AGENT = f"turnbuckle-blobhub/{__version__} python/{platform.python_version()} httpx/{httpx.__version__}"
