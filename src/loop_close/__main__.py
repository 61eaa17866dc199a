"""``python -m loop_close``: the command where no script is on the path."""

from __future__ import annotations

from loop_close.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
