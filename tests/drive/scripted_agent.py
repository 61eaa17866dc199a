"""An agent for tests: a program that applies prepared edits and says prepared things, a turn after the other.

It is called with the path of its script, a list of turns in JSON, the last of which is repeated. A turn has ``say``;
``write``, files by path; ``exit``, its exit code; ``sleep``, seconds; ``spawn``, seconds that a process sleeps which it
leaves behind. What it was given to read is kept beside the script, a file a turn.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main():
    script = Path(sys.argv[1])
    turns = json.loads(script.read_text(encoding="utf-8"))
    done = sorted(script.parent.glob("given-*.md"))
    turn = turns[min(len(done), len(turns) - 1)]
    given = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()
    script.with_name(f"given-{len(done) + 1:02}.md").write_text(given, encoding="utf-8")
    for name, text in turn.get("write", {}).items():
        write(Path(name), text)
    if "spawn" in turn:
        child = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({turn['spawn']})"])
        script.with_name("spawned").write_text(str(child.pid), encoding="utf-8")
    script.with_name("pid").write_text(str(os.getpid()), encoding="utf-8")
    sys.stdout.write(turn.get("say", "") + "\n")
    sys.stdout.flush()
    time.sleep(turn.get("sleep", 0))
    return turn.get("exit", 0)


def write(path, text):
    """Write a file a second later than before at least: bytecode belongs to the size and the second of its source."""
    before = int(path.stat().st_mtime) if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    after = path.stat().st_mtime
    if int(after) <= before:
        os.utime(path, (after, before + 1))


if __name__ == "__main__":
    sys.exit(main())
