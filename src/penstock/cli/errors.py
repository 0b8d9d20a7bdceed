"""How a command says that it cannot be done. Brings nothing with it: not every command needs a database."""


class CommandError(Exception):
    """A command that cannot be done. The message says why, and what to do."""
