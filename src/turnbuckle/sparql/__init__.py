"""SPARQL over an index beside the store: a supervised child process that has pyoxigraph and nothing else.

`child.py` and what it imports run in that process, `process.py`, `index.py` and `copies.py` in the server; `frames.py`
is what they say to each other. This room never sees the store: `http/sparql.py` brings it quads and commit numbers.
"""
