"""Requests that executions send outside: which hosts, with which secrets, within which bounds (decisions 30 and 50).

settings.py reads what is allowed; address.py looks hosts up and refuses private addresses; request.py sends.
"""
