"""One module per noun, one function per API operation: load, decide, save, answer. The only conductor.

An operation is a plain function of a Transaction. Start at inbox.py, which every change of a turn goes through.
"""
