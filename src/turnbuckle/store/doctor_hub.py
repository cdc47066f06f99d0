"""What a check of the second API counts: rows that no operation can have left so. Each reads whole tables."""

from turnbuckle.store.transaction import Transaction

# What is counted, and the rule it breaks.
RULES = {
    "sessions": "sessions have another number of executions than they say",
    "revisions": "revisions have another number of sessions than they say",
    "definitions": "revisions have another number of definitions than they say",
    "documents": "definitions have lost their document",
    "lost": "executions go on without a turn that could end them",
    "running": "executions have ended while their turns go on",
    "events": "executions have more events than they say",
}


def count(tx: Transaction, rule: str) -> int:
    """How many rows break one of RULES."""
    row = tx.row(f"doctor_hub_{rule}")
    return int(row[0]) if row else 0
