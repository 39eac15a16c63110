"""Where searches are answered from."""
