# SPDX-License-Identifier: MIT
"""commands - prints the commands that a page shows, for commands.sh.

commands.py PAGE prints NUL-separated pairs: the reason why a command is not run (empty: it is run), and the
command. In Markdown, a command is a block marked `sh`, or the first code span in the last column of a table
with the header "Command" there. In a man page, it is an unfilled block with commands of ours, or the first
line of an item of EXAMPLES. The comment `<!-- not run: REASON -->` (`.\" not run: REASON`) before a block, or
after the span in the cell, skips it.

commands.py --pages PAGE... prints the pages that show commands, and fails if a block of commands has no mark."""
import re
import sys
import textwrap

FENCE = "```"
SKIP = re.compile(r"<!-- not run: (.+?) -->")
SKIP_IN_MAN = re.compile(r'\.\\" not run: (.+)')
OURS = re.compile(r"(?:\w+=\S+ )*(?:neuron-|popef_)[\w-]*(?: |$)")
ANY = re.compile(rf"(?:\$ )?(?:{OURS.pattern}|(?:\w+=\S+ )*(?:sudo|apt-get|curl|docker|kubectl|sqlite3|\./dev|tests/\S+) )")
ESCAPES = {r"\-": "-", r"\e": "\\", r"\(dq": '"', r"\(aq": "'", r"\&": ""}


def cells(line):
    """Returns the cells of a row; a pipe inside a cell is written as \|."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def of_markdown(lines):
    """Yields (reason, command, mark); the mark is the language of a block."""
    reason, block, fence, is_table = "", [], None, False
    for line in lines:
        if fence is not None:
            if line.strip() == FENCE:
                yield reason, textwrap.dedent("\n".join(block)), fence
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
                yield skipped.group(1) if skipped else "", code.group(1), "sh"
        else:
            is_table = False
            skipped = SKIP.fullmatch(line.strip())
            if skipped:
                reason = skipped.group(1)
            elif line.strip():
                reason = ""


def of_man(lines):
    """The same for a man page."""
    reason, block, is_examples, is_item = "", None, False, False
    for line in lines:
        text = re.sub(r"\\(?:[-e&]|\((?:dq|aq))", lambda found: ESCAPES[found.group()], line)
        skipped = SKIP_IN_MAN.fullmatch(line)
        if skipped:
            reason = skipped.group(1)
        elif line in (".nf", ".EX"):
            block = []
        elif line in (".fi", ".EE"):
            if is_examples or OURS.match(block[0]):
                yield reason, "\n".join(block), "sh"
            reason, block = "", None
        elif block is not None:
            block.append(text)
        elif is_item and is_examples and OURS.search(text) and not line.startswith("."):
            yield reason, text, "sh"
            reason = ""
        if line.startswith(".SH"):
            is_examples = line.startswith(".SH EXAMPLE")
        is_item = line == ".TP" or (is_item and bool(skipped))


def commands(page):
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return list((of_markdown if page.endswith(".md") else of_man)(lines))


def main(arguments):
    if arguments[0] != "--pages":
        for reason, command, mark in commands(arguments[0]):
            if mark == "sh":
                sys.stdout.write(f"{reason}\0{command}\0")
        return 0
    unmarked = []
    for page in arguments[1:]:
        found = commands(page)
        unmarked += [f"{page}: not marked sh: {command}" for _, command, mark in found if not mark and ANY.match(command)]
        if any(mark == "sh" for _, _, mark in found):
            print(page)
    sys.stderr.writelines(line + "\n" for line in unmarked)
    return 1 if unmarked else 0


sys.exit(main(sys.argv[1:]))
