"""One module per generated page."""
