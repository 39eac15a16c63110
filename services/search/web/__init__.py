"""Documents over HTTP: checked addresses, robots.txt, limits (SPEC §5, §7)."""
