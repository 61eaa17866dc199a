"""Root causes, which one fix should clear each, and their suspects: functions that probably hold the fault."""

from loop_close.causes.grouping import group, in_order
from loop_close.causes.locate import joined, located

__all__ = ["group", "in_order", "joined", "located"]
