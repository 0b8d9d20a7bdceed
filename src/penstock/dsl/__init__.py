"""What a workflow says: parse, check, expressions. Pure: no I/O, no clock, no database."""
