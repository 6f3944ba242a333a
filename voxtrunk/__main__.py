"""``python -m voxtrunk`` is the ``voxtrunk`` command."""

from __future__ import annotations

from voxtrunk.cli import main

if __name__ == "__main__":
    main()
