"""The code in docs/extending.md runs as it stands there."""

import re
from pathlib import Path

EXTENDING = (Path(__file__).parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n# conftest.py\n(.*?)```", EXTENDING, re.DOTALL)


def test_the_examples_of_the_docs_work(pytester):
    pytester.makeconftest("\n".join(BLOCKS))
    pytester.makepyfile(
        **{
            "src/billing/invoice": "def total():\n    raise OSError('server closed the connection')\n",
            "test_invoice": "from src.billing.invoice import total\n\ndef test_total():\n    total()\n",
        }
    )
    pytester.makeini("[pytest]\npythonpath = .")
    result = pytester.runpytest_subprocess("--loop-close", "-p", "no:asyncio")
    prompt = (pytester.path / "nextprompt.md").read_text(encoding="utf-8")
    assert len(BLOCKS) == 2
    assert result.ret == 1
    assert prompt.startswith("# Stall detected: 1 lost database connection detected (exit 1)")
    assert "The test database is started with `make db`." in prompt
    assert "## Owners\n\n- `src/billing/invoice.py` belongs to the billing team" in prompt
