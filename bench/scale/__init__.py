"""What an execution on a Temporal cluster costs, and whom."""
