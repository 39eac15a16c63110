"""JSON ↔ protobuf, driven by descriptors and the contract's JSON options (SPEC §11)."""
