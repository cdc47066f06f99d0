"""From an entry point to the blocks of one code component (blobhub 6.4)."""

from dataclasses import dataclass

from turnbuckle.hub_deploy.imports import ImportRoots
from turnbuckle.hub_deploy.inline import block
from turnbuckle.hub_deploy.link import link
from turnbuckle.hub_deploy.manifest import CodeBinding
from turnbuckle.hub_deploy.problem import Advisory
from turnbuckle.hub_deploy.source_tree import SourceTree


@dataclass(frozen=True)
class Compiled:
    blocks: tuple[str, ...]  # one for each file, dependencies first
    advisories: tuple[Advisory, ...] = ()


def compile_code(binding: CodeBinding, roots: ImportRoots) -> Compiled:
    """DeployProblem when the files cannot run in one namespace of the sandbox."""
    tree = SourceTree(binding.base_path)
    linked = link(tree, tree.entry(binding.entry_point), roots)
    return Compiled(tuple(block(file) for file in linked.files), linked.advisories)
