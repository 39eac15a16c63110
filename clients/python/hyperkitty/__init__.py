"""HyperKitty: the generated contract (hyperkitty.<area>.v1) and the client."""
