"""Agents as systems: a model that searches the index in several rounds, compared on the same index as the rest."""
