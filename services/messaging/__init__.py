"""The messaging service: addressed messages, conversations, delivery (SPEC §8)."""
