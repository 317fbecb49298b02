"""The command `armwise` as the package installs it, also `python -m armwise`: the same program as the native one."""

from __future__ import annotations

import signal
import sys

from . import _armwise


def main() -> int:
    """Runs the command with this process's arguments, and gives its exit code."""
    # Ctrl-C ends the command at once, as it ends the native one. Python's own handler would wait until it is done.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _armwise.command(["armwise", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
