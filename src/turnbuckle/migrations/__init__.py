"""Numbered SQL files, applied once each and in order by store/migrate.py."""
