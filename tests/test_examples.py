"""The example is the demo, and a test: its nine faults are nine root causes, each shown where its README says."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHOP = ROOT / "examples" / "shop"
CORPUS = ROOT / "tests" / "corpus"

#: Exception, where it is shown, and a function or name beside the fault that the prompt has to name.
FAULTS = [
    ("TypeError", "tests/conftest.py", "`tests/conftest.py:33`"),
    ("AssertionError", "tests/test_pricing.py", "`quote()` in `src/shop/pricing.py:24`"),
    ("ModuleNotFoundError", "src/shop/payments.py", "from shop_gateway_sdk import Gateway"),
    ("NotImplementedError", "src/shop/shipping.py", "express delivery to"),
    ("SyntaxError", "src/shop/receipts.py", "19          row("),
    ("CouponError", "src/shop/coupons.py", "`parse()` in `src/shop/coupons.py:31`"),
    ("AttributeError", "src/shop/orders.py", "src/shop/customers.py:"),
    ("IndexError", "src/shop/loyalty.py", "`tier()` in `src/shop/loyalty.py:26`"),
    ("AssertionError", "tests/test_inventory.py", "`Inventory.to_reorder()` in `src/shop/inventory.py:32`"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example") / "shop"
    shutil.copytree(SHOP, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "nextprompt.md"))
    command = [sys.executable, "-m", "pytest", "--loop-close", "-q", "--tb=no"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return folder, done.stdout


@pytest.mark.slow
def test_nine_faults_are_nine_causes(shop):
    folder, _ = shop
    report = json.loads((folder / ".loop-close" / "report.json").read_text(encoding="utf-8"))
    found = sorted((c["exception"], c["location"]["file"]) for c in report["root_causes"])
    assert found == sorted((exception, file) for exception, file, _ in FAULTS)


@pytest.mark.parametrize("named", [named for _, _, named in FAULTS])
def test_the_prompt_names_what_is_beside_the_fault(shop, named):
    folder, _ = shop
    assert named in (folder / "nextprompt.md").read_text(encoding="utf-8")


def test_the_terminal_says_what_fails_and_where_to_look_first(shop):
    _, printed = shop
    # A slow machine says how long the second look took, too.
    first, second = re.findall(r"^loop-close: (?!running tests once more).*$", printed, re.MULTILINE)
    counts = "19 tests fail, 3 files cannot be collected, 12 errors, 67 pass"
    assert first.startswith(f"loop-close: {counts}; look first at src/shop/receipts.py:21: SyntaxError: ")
    assert re.fullmatch(r"loop-close: next prompt: nextprompt\.md \(about [\d,]+ tokens\)", second)
