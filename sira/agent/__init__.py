"""Agent mode: a model that searches, pages and reads an index with tools, under a budget of time, on the record.

The tools and their texts follow Pi-Serini (Hsu, Yang and Lin 2026, arXiv 2605.10848); what is ours beside it has a
switch each.
"""
