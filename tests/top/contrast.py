# SPDX-License-Identifier: MIT
"""contrast - checks the legibility of the text on a terminal's screen.

contrast.py GROUND SCREEN...: GROUND is the background of the terminal, black or white. A SCREEN is the output
of `tmux capture-pane -e -N -p`. Prints the texts on the terminal's own background, and on the blue of the
selected row, with between a third and three times its luminance, in xterm's palette."""
import re
import sys

EIGHT = "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff 00ffff ffffff".split()
LEAST = 3
BLUE = 4


def color_of(number):
    if number < 16:
        return EIGHT[number]
    if number < 232:
        number -= 16
        return "".join(f"{55 + 40 * part if part else 0:02x}" for part in (number // 36, number // 6 % 6, number % 6))
    return f"{8 + 10 * (number - 232):02x}" * 3


def luminance(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def pieces(text):
    """Yields each text with its color and background; None: the terminal's own."""
    fore, back, is_reverse = None, None, False
    for codes, piece in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", text.replace("\x0e", "").replace("\x0f", "")):
        codes = [int(code or 0) for code in codes.split(";")] if not piece else []
        while codes:
            code = codes.pop(0)
            if code == 0:
                fore, back, is_reverse = None, None, False
            elif code in (38, 48):
                fore, back = (codes[1], back) if code == 38 else (fore, codes[1])
                codes = codes[2:]
            elif 30 <= code <= 37 or 90 <= code <= 97:
                fore = code - 30 if code < 40 else code - 82
            elif code == 39:
                fore = None
            elif 40 <= code <= 47 or 100 <= code <= 107:
                back = code - 40 if code < 50 else code - 92
            elif code == 49:
                back = None
            elif code in (7, 27):
                is_reverse = code == 7
        if piece.strip() and back in (None, BLUE) and not is_reverse and (fore is not None or back is not None):
            yield fore, back, piece.strip()


ground = {"black": "000000", "white": "ffffff"}[sys.argv[1]]
own = {"black": 7, "white": 0}[sys.argv[1]]  # text without a color
poor = {}
for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as file:
        for fore, back, piece in pieces(file.read()):
            on = ground if back is None else color_of(back)
            value = contrast(color_of(own if fore is None else fore), on)
            if value < LEAST:
                poor.setdefault((fore, back), f"{path}: '{piece[:40]}' has {value:.1f}")
print("\n".join(f"color {key}: {text}" for key, text in sorted(poor.items(), key=str)), end="\n" if poor else "")
