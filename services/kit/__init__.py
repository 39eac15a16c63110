"""What every service shares; knows no service."""
