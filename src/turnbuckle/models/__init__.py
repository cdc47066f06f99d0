"""Model providers behind reason, decide and embed: mock, OpenAI-compatible, local embedding; prices and their settings.

They know nothing of stores and graphs: who may call, what is kept and what is charged is in `operations`.
"""
