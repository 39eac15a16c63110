"""OpenAPI of the REST routes, made from the contract's descriptors (SPEC §11)."""
