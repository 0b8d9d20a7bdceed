"""What an execution costs: here, through the API, asleep, after a million others, and beside peers."""
