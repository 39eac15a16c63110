"""HyperKitty on Kubernetes: manifests, and the command that makes their secrets."""
