"""`client.workflows.named`: the workflows a graph runs by themselves (lbb-graph 5.2)."""

from collections.abc import AsyncIterator, Iterator

from lbb import models, named_calls
from lbb.call import Asks, AsksAsync, Asynchronous, Blocking


class NamedWorkflowsNamespace:
    def __init__(self, client: Asks) -> None:
        self.ask = client.ask

    list = Blocking(named_calls.list_named)
    get = Blocking(named_calls.get)
    put = Blocking(named_calls.put)
    delete = Blocking(named_calls.delete)
    run = Blocking(named_calls.run)
    pause = Blocking(named_calls.pause)
    requeue = Blocking(named_calls.requeue)
    queue = Blocking(named_calls.queue)
    runs = Blocking(named_calls.runs)
    get_run = Blocking(named_calls.get_run)
    run_stats = Blocking(named_calls.run_stats)
    run_results = Blocking(named_calls.run_results)
    send_events = Blocking(named_calls.send_events)

    def all(self) -> Iterator[models.NamedWorkflow]:
        """Every workflow, by name, a page at a time."""
        page = self.list()
        yield from page
        while page.has_more:
            page = self.list(cursor=page.next_cursor)
            yield from page


class AsyncNamedWorkflowsNamespace:
    def __init__(self, client: AsksAsync) -> None:
        self.ask = client.ask

    list = Asynchronous(named_calls.list_named)
    get = Asynchronous(named_calls.get)
    put = Asynchronous(named_calls.put)
    delete = Asynchronous(named_calls.delete)
    run = Asynchronous(named_calls.run)
    pause = Asynchronous(named_calls.pause)
    requeue = Asynchronous(named_calls.requeue)
    queue = Asynchronous(named_calls.queue)
    runs = Asynchronous(named_calls.runs)
    get_run = Asynchronous(named_calls.get_run)
    run_stats = Asynchronous(named_calls.run_stats)
    run_results = Asynchronous(named_calls.run_results)
    send_events = Asynchronous(named_calls.send_events)

    async def all(self) -> AsyncIterator[models.NamedWorkflow]:
        """Every workflow, by name, a page at a time."""
        page = await self.list()
        for workflow in page:
            yield workflow
        while page.has_more:
            page = await self.list(cursor=page.next_cursor)
            for workflow in page:
                yield workflow


class BlockingWorkflows:
    """`client.workflows` of a blocking client. Instances and the worker are on `AsyncLbbClient`."""

    def __init__(self, client: Asks) -> None:
        self.named = NamedWorkflowsNamespace(client)
