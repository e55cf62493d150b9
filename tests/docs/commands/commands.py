# SPDX-License-Identifier: MIT
"""commands - the commands that a page shows, for commands.sh.

commands.py PAGE prints NUL-separated pairs: the reason why a command is not run (empty: it is run), and the command. A command
is a block marked `sh`, or the first code span of the last column of a table whose header there is "Command". The comment
`<!-- not run: REASON -->` before a block, or after the span in the cell, skips it.
"""
import re
import sys
import textwrap

FENCE = "```"
SKIP = re.compile(r"<!-- not run: (.+?) -->")


def cells(line):
    """The cells of a row; a pipe inside a cell is written as \\|."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def commands(lines):
    """Yields (reason, command)."""
    reason, block, fence, is_table = "", [], None, False
    for line in lines:
        if fence is not None:
            if line.strip() == FENCE:
                if fence == "sh":
                    yield reason, textwrap.dedent("\n".join(block))
                reason, block, fence = "", [], None
            else:
                block.append(line)
        elif line.strip().startswith(FENCE):
            fence = line.strip()[len(FENCE):]
        elif line.startswith("|"):
            last = cells(line)[-1]
            code = re.search(r"`([^`]+)`", last)
            if last == "Command":
                is_table = True
            elif is_table and code:
                skipped = SKIP.search(last)
                yield skipped.group(1) if skipped else "", code.group(1)
        else:
            is_table = False
            skipped = SKIP.fullmatch(line.strip())
            if skipped:
                reason = skipped.group(1)
            elif line.strip():
                reason = ""


with open(sys.argv[1], encoding="utf-8") as file:
    for pair in commands(file.read().splitlines()):
        sys.stdout.write("\0".join(pair) + "\0")
