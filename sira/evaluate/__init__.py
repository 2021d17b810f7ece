"""Measures, significance, experiments and their reports."""
