"""Calls to the services: channels, deadlines, ids."""
