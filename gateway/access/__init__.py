"""Who may call: tokens, scopes, hosts and origins (SPEC §11)."""
