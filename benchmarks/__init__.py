"""Measured comparisons with the peers that users have today. Not tests: each module is a command (see README.md)."""
