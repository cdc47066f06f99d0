"""The runner of hub executions: an ordinary `lbb` worker (docs/explanation/architecture.md, "Flow")."""
