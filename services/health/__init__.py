"""The health service: how the system is, and reading its record (SPEC §13, §9, §10)."""
