"""The picture of docs/serving-page.md: the page with a search of docs/example, in a real browser.

    python -m tests.serve.page.picture

writes docs/images/serving-page.png anew. A test only holds that it is there and small: fonts differ between machines.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import expect, sync_playwright

from tests.serve.page.conftest import chromium
from tests.serve.page.test_served import serving

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "example"
PICTURE = ROOT / "docs" / "images" / "serving-page.png"
PHRASES = "kiln shelf\nprotective coating\nalumina\nrelease agent\nglaze drips"
SIZE = (1280, 1160)
COLOURS = 128


def example_index(folder: Path) -> Path:
    command = ["index", str(EXAMPLE), "--index", str(folder), "--expansions", str(EXAMPLE / "phrases.jsonl"), "--quiet"]
    subprocess.run([sys.executable, "-m", "sira", *command], check=True)
    return folder


def photographed(address: str) -> bytes:
    """The page as a PNG."""
    search = urlencode({"q": "stop pots sticking in the kiln", "sketch": PHRASES, "k": "5"})
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light")
        page.goto(f"{address}/#{search}")
        expect(page.locator("#hits article").first).to_be_visible()
        taken = page.screenshot()
        browser.close()
    return taken


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        serving({"example": example_index(Path(folder) / "index")}) as address,
    ):
        taken = photographed(address)
    PICTURE.parent.mkdir(exist_ok=True)
    few = Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(PICTURE, optimize=True)
    sys.stdout.write(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size} bytes\n")


if __name__ == "__main__":
    main()
