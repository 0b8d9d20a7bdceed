"""Who are you, and let me in: the session lookup and the password sign-in, of Penstock and its peers side by side."""
