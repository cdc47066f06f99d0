"""Decisions about instances, turns, steps, signals and runs: frozen data in, frozen data out.

Nothing here opens, waits, logs or looks at a clock. A decision that cannot be made raises `Refused`.
The rows are here too, since a rule reads and answers them; `store` only finds and writes them.
Start at turn.py; instance.py says when something happens next.
"""
