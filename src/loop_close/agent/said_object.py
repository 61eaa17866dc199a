"""An output that is one JSON object of a program not known here."""

from __future__ import annotations

from loop_close.agent.said_record import Said
from loop_close.agent.said_values import fields_of, parsed, text_of
from loop_close.text.sanitize import sanitize

_NAMES = ("result", "response", "output", "message", "text", "content")


def said_in_object(text: str) -> Said | None:
    """The first text under a name that is common for answers.

    :param text: the output, without its terminal's controls.
    :returns: None where it is anything else than one object with such a text.
    """
    text = text.strip()
    fields = fields_of(parsed(text)) if text.startswith("{") and text.endswith("}") else {}
    said = next((fields[name] for name in _NAMES if text_of(fields.get(name)).strip()), None)
    if said is None:
        return None
    return Said(text=sanitize(said), is_error=fields.get("is_error") is True, format="json")
