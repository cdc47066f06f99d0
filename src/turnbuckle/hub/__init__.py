"""Decisions of the hub, the second API: documents and their check, sessions, executions, revisions, the walk of a run.

Nothing here opens, waits, logs or looks at a clock; frozen data in, frozen data out. A decision that cannot be made
raises `HubRefused`. `operations` asks it for the API, `flow` for the runner.
Start at walk.py, how a run goes through a definition; document.py reads one, check.py says what is wrong with it.
"""
