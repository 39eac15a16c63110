"""One file an operation: a coroutine that takes what it acts on and the request, and returns the result."""
