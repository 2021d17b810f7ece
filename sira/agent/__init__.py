"""Agent mode: a model that searches, pages and reads an index with tools, under a budget of time, on the record.

The tools and their texts follow Pi-Serini (arXiv number in docs/agent.md); what is ours beside it has a switch each.
"""
