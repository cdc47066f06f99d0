"""The HTTP face: one table of endpoints, and loops over it. No rules, no SQL."""
