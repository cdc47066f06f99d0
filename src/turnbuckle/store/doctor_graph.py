"""What a check of all graphs counts: rows that no commit can have left so. Each reads whole tables."""

from turnbuckle.store.transaction import Transaction

# What is counted, and the rule it breaks.
RULES = {
    "values": "fields belong to a record that is not there",
    "links": "links lead from or to a record that is not there",
    "records_twice": "records have two names at once",
    "values_twice": "fields have two values at once",
    "spans": "rows of graphs ended before they began",
    "heads": "graphs have another number of commits than their head says",
    "beyond": "rows are of a commit that is not there",
}


def count(tx: Transaction, rule: str) -> int:
    """How many rows break one of RULES."""
    row = tx.row(f"doctor_graph_{rule}")
    return int(row[0]) if row else 0
