"""`python -m values_extract try`: put the samples on a graph and create the workflow there; `start`: run the worker.

Both read LBB_URL and LBB_API_KEY, `start` also LBB_GRAPH.
"""

import argparse
import asyncio
import logging
import os

import httpx
from lbb import AsyncLbbClient, LbbError
from lbb.workflows import WorkflowWorker, lbb_activities

from values_extract import samples
from values_extract.ontology import ontology, trigger
from values_extract.settings import DEFAULTS, WORKFLOW
from values_extract.workflow import create_workflow

TRY_GRAPH = "try-values-extract"
_URL = "http://127.0.0.1:7400"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m values_extract", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("try", help=f"put the samples on the graph {TRY_GRAPH} and create the workflow there")
    commands.add_parser("start", help="run the worker on the graph LBB_GRAPH")
    commands.add_parser("mock-answers", help="renew samples/mock_answers.json after a change of the samples")
    functions = {"try": _try, "start": start, "mock-answers": _renew_mock_answers}
    try:
        functions[parser.parse_args().command]()
    except KeyboardInterrupt:  # the second Ctrl-C
        raise SystemExit(130) from None


def _try() -> None:
    try:
        asyncio.run(put_samples())
    except (LbbError, httpx.TransportError) as exc:
        raise SystemExit(f"{os.environ.get('LBB_URL', _URL)}: {exc or type(exc).__name__}") from exc
    print(f"the samples are on {TRY_GRAPH}; LBB_GRAPH={TRY_GRAPH} python -m values_extract start works on them")


def _renew_mock_answers() -> None:
    print(f"written: {samples.write_mock_answers()}")


async def put_samples() -> None:
    """Repeatable: what is there already stays as it is."""
    async with connect(TRY_GRAPH) as client:
        await _create_graph(client)
        await client.ontology.evolve({"ops": ontology(DEFAULTS)})
        body, key = samples.commit(DEFAULTS)
        await client.commit(body, idempotency_key=key)
        await client.use_workflow_starter("workflow", **trigger(DEFAULTS))


async def _create_graph(client: AsyncLbbClient) -> None:
    try:
        await client.create_graph()
    except LbbError as exc:
        if exc.status_code != 409:  # it is there already
            raise


def start() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    client = connect(os.environ.get("LBB_GRAPH", "main"))
    WorkflowWorker(client, [create_workflow(lbb_activities(client))], worker=WORKFLOW).run()


def connect(graph: str) -> AsyncLbbClient:
    return AsyncLbbClient(os.environ.get("LBB_URL", _URL), api_key=os.environ.get("LBB_API_KEY"), graph=graph)


if __name__ == "__main__":
    main()
