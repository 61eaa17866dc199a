"""``loop-close uninstall``."""

from __future__ import annotations

from loop_close.cli.install import uninstall

__all__ = ["uninstall"]
