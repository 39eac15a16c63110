"""The one-machine supervisor: starts the processes of deploy/processes.py and restarts each on its own."""
