"""The session's way out: an HTTP proxy that resolves, checks and connects; nothing else is reachable."""
