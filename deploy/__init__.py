"""Running HyperKitty: on one machine, in containers, on Kubernetes."""
