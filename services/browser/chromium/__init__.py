"""Finding, starting, isolating, watching and ending Chromium: one process tree a session."""
