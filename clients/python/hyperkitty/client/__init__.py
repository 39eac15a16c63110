"""The Python client: typed calls over gRPC, and errors that say what to do."""
