"""Rules about graphs and what watches them: ontology, commits, owned outputs, watches, schedules, streams. No I/O."""
