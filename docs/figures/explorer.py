"""The explorer as a reader sees it: the picture of docs/explorer.md.

    python docs/figures/explorer.py

Writes the report of a dictionary learned from simulated signals, opens it in headless Chromium
(`chromium` on the PATH, and the extra `test` for playwright), moves to a sample, takes a picture.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from graphdict import GraphDictMarginal
from graphdict.datasets import make_superposition
from graphdict.viz.report import write_report

PICTURE = Path(__file__).parents[1] / "images" / "explorer.png"
SAMPLE = 700


def main() -> None:
    """Learn, write, look."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("the picture needs chromium on the PATH")
    data = make_superposition(
        n_atoms=3, n_nodes=14, superposition=2, samples_per_graph=20, random_state=2
    )
    model = GraphDictMarginal(n_atoms=3, max_active=2, window_size=20, random_state=2)
    model.fit(data.train.signals)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        path = Path(folder) / "report.html"
        write_report(model, path, source="simulated signals")
        chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1200, "height": 800})
        page.goto(path.as_uri())
        page.wait_for_selector("#mix circle")
        box = page.locator("#timeline").bounding_box()
        share = SAMPLE / len(model.coefficients_)
        page.mouse.click(box["x"] + 62 + share * (box["width"] - 74), box["y"] + 20)
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        cards = page.locator("#atoms").bounding_box()
        whole = {"x": 0, "y": 0, "width": 1200, "height": cards["y"] + cards["height"] + 12}
        page.screenshot(path=PICTURE, full_page=True, clip=whole)
        chromium.close()


if __name__ == "__main__":
    main()
