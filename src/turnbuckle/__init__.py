"""Turnbuckle: a durable turn engine. This package is the server; `lbb` is the worker SDK.

Rooms, each importing only those before it:
`wire` <- `engine` <- `store` <- `operations` <- `http`. `cli`, `testing` and `upkeep` compose them.
"""

__version__ = "0.1.0"
CONTRACT_VERSION = "2026-10-21"  # the contract date clients send as `lbb-version` (lbb-engine 2.2)
