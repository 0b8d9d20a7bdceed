"""What an expression costs: at once, in a process, and beside jq in the same process."""
