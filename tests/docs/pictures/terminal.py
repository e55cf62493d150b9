# SPDX-License-Identifier: MIT
"""terminal - draws a terminal screen as a picture.

terminal.py BROWSER SCREEN PNG: SCREEN is the output of `tmux capture-pane -e -p`, text with SGR sequences.
The picture is as large as the text."""
import html
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["NTK_SOURCE_DIR"], "tests", "e2e", "page"))
from browser import Browser  # noqa: E402

DEFAULT, GROUND = "#d0d4dc", "#14171c"
SIXTEEN = ("#14171c #e06c75 #98c379 #d8b26a #61a0ef #c678dd #56b6c2 #c8ccd4 "
           "#6b727d #ff7b86 #a9d98a #f0c674 #7db7ff #d794ee #6fd0dc #ffffff").split()
# neuron-top writes black on cyan and light text on the others.
GROUNDS = "#14171c #93353f #3f6d35 #7d6426 #2b5c9e #6d3a80 #56b6c2 #c8ccd4".split()
STYLE = f"""body {{ margin: 0; background: {GROUND} }}
pre {{ display: inline-block; margin: 0; padding: 12px 14px; color: {DEFAULT};
  font: 14px/17px "DejaVu Sans Mono", monospace }}"""


def color_of(number):
    """Returns one of the 256 colours: 16 of the theme, a cube, greys."""
    if number < 16:
        return SIXTEEN[number]
    if number < 232:
        number -= 16
        return "#" + "".join(f"{55 + 40 * part if part else 0:02x}" for part in (number // 36, number // 6 % 6, number % 6))
    return "#" + f"{8 + 10 * (number - 232):02x}" * 3


class Pen:
    def __init__(self):
        self.reset()

    def reset(self):
        self.fore, self.back, self.is_bold, self.is_dim, self.is_reverse, self.is_underlined = None, None, False, False, False, False

    def take(self, codes):
        codes = [int(code or 0) for code in codes.split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.reset()
            elif code in (38, 48) and len(codes) >= 2 and codes[0] == 5:
                color = color_of(codes[1])
                codes = codes[2:]
                self.fore, self.back = (color, self.back) if code == 38 else (self.fore, color)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.fore = SIXTEEN[code - 30 if code < 40 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = GROUNDS[code - 40] if code < 50 else SIXTEEN[code - 92]
            elif code == 39:
                self.fore = None
            elif code == 49:
                self.back = None
            else:
                self.is_bold = code == 1 or (self.is_bold and code != 22)
                self.is_dim = code == 2 or (self.is_dim and code != 22)
                self.is_underlined = code == 4 or (self.is_underlined and code != 24)
                self.is_reverse = code == 7 or (self.is_reverse and code != 27)

    def style(self):
        fore, back = self.fore or DEFAULT, self.back
        if self.is_reverse:
            fore, back = back or GROUND, fore
        return (f"color:{fore}" + (f";background:{back}" if back else "") + (";font-weight:bold" if self.is_bold else "") +
                (";opacity:.65" if self.is_dim else "") + (";text-decoration:underline" if self.is_underlined else ""))


def as_html(screen):
    pen, text = Pen(), []
    for part in re.split(r"(\x1b\[[0-9;]*m)", re.sub(r"\x1b\([0B]|[\x0e\x0f]", "", screen)):
        if part.startswith("\x1b["):
            pen.take(part[2:-1])
        elif part:
            text.append(f'<span style="{pen.style()}">{html.escape(part)}</span>')
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><pre>{''.join(text)}</pre>"


def main():
    program, screen, png = sys.argv[1:]
    with open(screen, encoding="utf-8") as file:
        page = as_html(file.read().rstrip("\n"))
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "screen.html"), "w", encoding="utf-8") as file:
        file.write(page)
    browser = Browser(program, os.path.join(folder, "profile"))
    try:
        browser.call("Page.navigate", url="file://" + os.path.join(folder, "screen.html"))
        browser.wait_for("document.querySelector('pre') && document.fonts.status === 'loaded'")
        browser.size(*(browser.evaluate(f"Math.ceil(document.querySelector('pre').getBoundingClientRect().{side})")
                       for side in ("width", "height")))
        browser.screenshot(png, whole=False)
    finally:
        browser.close()


main()
