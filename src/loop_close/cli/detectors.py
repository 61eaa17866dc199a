"""``loop-close detectors``: what can be found, most blocking first."""

from __future__ import annotations

import argparse

from loop_close.cli.streams import Streams


def detectors(options: argparse.Namespace, streams: Streams) -> int:
    """Print a line for each detector: its place in the order, id, description."""
    from loop_close.detectors import DEFAULT_DETECTORS

    if options.json:
        import json

        listed = [
            {"id": d.id, "kind": d.kind, "priority": d.priority, "description": d.description, "hint": d.hint}
            for d in DEFAULT_DETECTORS
        ]
        streams.say(json.dumps(listed, indent=2))
        return 0
    width = max(len(d.id) for d in DEFAULT_DETECTORS)
    for number, detector in enumerate(DEFAULT_DETECTORS, 1):
        streams.say(f"{number:2}  {detector.id:{width}}  {detector.description}")
    return 0
