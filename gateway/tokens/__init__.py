"""The services that the gateway serves itself."""
