"""HTTP and WebSocket on ASGI: from a request to a call and back."""
