"""The version of the distribution this package came in."""

from importlib.metadata import version

__version__ = version("turnbuckle")
USER_AGENT = f"turnbuckle-lbb/{__version__}"
