"""From an HTTP request to the rpc it means, by the contract's google.api.http rules."""
