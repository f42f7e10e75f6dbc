"""What can go wrong, as one tree of exceptions.

    AzError                     a known fault: its text is one clear sentence for the user
    ├── PositionError           a position (FEN, SFEN, board) that cannot be set up
    │   └── IllegalMoveError    a move that is not legal where it was given
    ├── NetError                a network file that is missing, broken, hostile or for another game
    ├── OptionError             an option or configuration value out of its range
    │   └── UnknownOptionError  an option that does not exist
    ├── DataError               a training record, data set or run directory that cannot be read
    ├── EngineProcessError      an external engine that does not start, answer or obey its protocol
    ├── ClusterError            a Ray cluster that cannot be reached, or whose actors fail
    └── ThreadError             a thread that the system does not start

Anything else that is raised is a bug and is shown as one.
"""

from __future__ import annotations


class AzError(Exception):
    """A known fault; ``str(error)`` is one sentence saying what is wrong and what to do."""


class PositionError(AzError):
    """The position cannot be set up."""


class IllegalMoveError(PositionError):
    """The move is not legal in the position where it was given."""

    place: int = 0  # in the list of moves that it was one of


class NetError(AzError):
    """The network file cannot be used."""


class OptionError(AzError):
    """The option's name or value is not acceptable."""


class UnknownOptionError(OptionError):
    """There is no option of this name."""


class DataError(AzError):
    """A data set, game record or run directory cannot be read."""


class EngineProcessError(AzError):
    """An external engine did not start, answer in time or obey its protocol."""


class ClusterError(AzError):
    """The Ray cluster cannot be reached, or its actors fail."""


class ThreadError(AzError):
    """The system starts no more threads."""


def quoted(text: str, most: int = 60) -> str:
    """Input for an error message: printable, and at most so many characters long."""
    shown = text if len(text) <= most else text[: most - 3] + "..."
    return ascii(shown)


def counted(number: int, noun: str) -> str:
    """A number and what it counts, of regular plural: ``1 move``, ``1,200 moves``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
