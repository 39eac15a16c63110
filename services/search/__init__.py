"""The search service: jobs, providers, documents, cited answers (SPEC §7)."""
