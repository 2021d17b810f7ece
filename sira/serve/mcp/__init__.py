"""The tools over MCP (Model Context Protocol), by the official SDK: `stdio` for one client, `http` for many.

Adapters only: a call goes to the same controller as the agent's, and its text comes back as it is.
"""
