"""A company's identity providers: what they are, whether they work, who comes in through them, and with what roles."""
