"""The agent service: what an agent may do, how far it has come, what it did (SPEC §6)."""
