"""The gRPC front: every service of the contract, behind a token."""
