"""The front door: REST, WebSocket, gRPC and the pages, all driven by the contract: `python -m gateway`."""
