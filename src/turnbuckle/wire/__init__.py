"""Structs that cross the wire, the error table, the limits, and what a JSON value may be. No decisions."""
