"""What the command line cannot do, as one sentence for people."""


class CommandError(Exception):
    """The command cannot be carried out; the sentence names field, value and fix."""


class NegativeAnswer(CommandError):
    """The command was carried out and the answer is bad news: exit code 1 instead of 2."""
