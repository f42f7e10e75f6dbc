"""Pictures of the page, to be looked at: every view, game, width, light and dark.

    az-engine serve --http-port 8765 &
    python -m tests.protocols.page.pictures http://localhost:8765 FOLDER [RUN.html]

With a training run's page as the last argument that, too. Needs Chromium.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from .browser import Browser, Chromium

GAMES = {
    "chess": "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3 g8f6 d2d4 e5d4 c3d4 c5b4 b1c3 f6e4 e1g1 e4c3 b2c3 b4c3 d1b3",
    "shogi": "7g7f 3c3d 2g2f 8c8d 2f2e 8d8e 6i7h 4a3b 2e2d 2c2d 2h2d 8e8f 8g8f 8b8f 2d3d 2b8h+ 7i8h P*8g",
    "go": "E5 E3 G4 C5 D3 D2 C3 C2 B3 E4 D4 F5 D6 C6 D7 C7 F6 G5 G6 H5 H4 H6",
}
VIEWS = {
    "play": "true",
    "analyse": "az.view.report && az.view.report.visits > 800",
    "review": "az.view.at < 0 && az.match.values.filter(Boolean).length > 10",
    "inside": "az.view.milestones.length >= 2 && !az.view.asked",
}
SIZES = {1500: 900, 390: 844}


def picture(browser: Browser, path: Path, theme: str, width: int) -> None:
    """The whole page, as high as it is."""
    browser.do(f"document.documentElement.dataset.theme = {theme!r}")
    high = max(SIZES[width], browser.do("document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": width, "height": high, "scale": 1}
    said = browser.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(said["data"]))


def show_view(browser: Browser, server: str, game: str, view: str) -> None:
    """Open a view and wait until it has something to show."""
    words = f"game={game}&moves={quote(GAMES[game])}" + ("" if view == "play" else f"&view={view}")
    browser.open(f"{server}/#{words}")
    browser.wait("window.az && az.match.here && !az.match.waiting")
    if view == "inside":
        browser.do("az.view.most = 1000")
    if view == "review":
        browser.do("az.view.visits = 50; az.view.start()")
        browser.wait("az.view.at >= 0")
    browser.wait(VIEWS[view])
    if view == "analyse":
        browser.do("az.view.pause()")
        browser.wait("!az.view.frame")


def main(server: str, folder: Path, run: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, Chromium(Path(home)) as chromium:
        for width, high in SIZES.items():
            with Browser(chromium, width, high, touch=width < 800) as browser:
                for game in GAMES:
                    for view in VIEWS:
                        show_view(browser, server, game, view)
                        for theme in ("light", "dark"):
                            picture(browser, folder / f"{view}-{game}-{width}-{theme}.png", theme, width)
                if run:
                    browser.open(Path(run).absolute().as_uri())
                    browser.wait("document.querySelector('.plot path') !== null")
                    for theme in ("light", "dark"):
                        picture(browser, folder / f"training-{width}-{theme}.png", theme, width)
                for fault in browser.faults:
                    print(width, fault)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4])
