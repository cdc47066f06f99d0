from lbb.workflows import WorkflowWorker


client = connect()
WorkflowWorker(client, [counter], worker="counter-1").run()
