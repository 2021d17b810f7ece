"""Serving: one or several indexes, the compiler and the paged tools to other processes, over HTTP and MCP.

`sira.serve.service` does the work and knows no transport; the adapters are `sira.serve.http` and `sira.serve.mcp`.
"""
