"""What the address of an endpoint tells."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def public_address(base_url: str) -> str:
    """The address without the name and password that may stand in it."""
    parts = urlsplit(base_url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def is_loopback(base_url: str) -> bool:
    """Whether the server is on this machine itself."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_hosted(base_url: str) -> bool:
    """OpenAI's own service, which refuses the fields that it does not know."""
    host = urlsplit(base_url).hostname or ""
    return host == "api.openai.com" or host.endswith(".api.openai.com")
