"""Typed modules: views over a revision, by the type of its blob (blobhub 4.7)."""

from blobhub.types.registry import registered, resolve
from blobhub.types.typed_module import TypedModule

__all__ = ["TypedModule", "registered", "resolve"]
