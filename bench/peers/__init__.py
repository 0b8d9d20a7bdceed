"""The other servers: the same two routes, written the way their own documentation writes them."""
