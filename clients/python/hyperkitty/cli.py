"""The `hyperkitty` command."""


def main() -> int:
    """Entry point of the console script."""
    raise SystemExit("hyperkitty: not built yet")
