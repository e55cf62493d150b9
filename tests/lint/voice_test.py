# SPDX-License-Identifier: MIT
"""voice_test - each phrase of tests/lint/voice is found in each kind of text, on its line, and only where users read it."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

VOICE = os.path.join(os.environ["NTK_SOURCE_DIR"], "tests/lint/voice")
loader = importlib.machinery.SourceFileLoader("voice", VOICE)
voice = importlib.util.module_from_spec(importlib.util.spec_from_loader("voice", loader))
sys.dont_write_bytecode = True
loader.exec_module(voice)

# Each row: file, text with {} for the phrase, its line, whether it is a comment.
KINDS = [
    ("literal.c", '#include "a.h"\nint x = f("a\\n", "{} here");\n', 2, False),
    ("two_literals.c", 'f("in the beginning "\n  "{} here");\n', 2, False),
    ("row.def", 'ROW(1, "{} here")\n', 1, False),
    ("page.js", "const url = 'http://x';\nlet x = '{} here';\n", 2, False),
    ("page.html", "<p>\n<b>{} here</b>\n", 2, False),
    ("tool.py", "x = 1\nprint('{} here')\n", 2, False),
    ("tool.sh", "cd /\necho '{} here' # {{ and so on }}\n", 2, False),
    ("rules.yml", "a: 1\nsummary: {} here\n", 2, False),
    ("page.md", "# Title\n\nA line,\n{} here.\n", 4, False),
    ("cell.md", "| a | b |\n|---|---|\n| c | {} here |\n", 3, False),
    ("tool.1.in", ".TH A 1\n.SH NAME\nA line,\n{} here.\n", 4, False),
    ("option.1.in", ".TP\n.B \\-x\nA line,\n\\fB{}\\fR here.\n", 4, False),
    ("comment.c", 'f("x");\n/* {} here. */\n', 2, True),
    ("long_comment.h", "/*\n * A line,\n * {} here.\n */\n", 3, True),
    ("end.c", "int x; // {} here\n", 1, True),
    ("comment.sh", "cd /\n# {} here\n", 2, True),
    ("comment.py", "x = 1  # {} here\n", 1, True),
    ("comment.js", "f(1); // {} here\n", 1, True),
    ("docstring.py", 'def f():\n    """{} here."""\n    return 1\n', 2, True),
    ("text.py", 'x = """{} here."""\n', 1, False),
    ("tables.sql", "SELECT 1;\n-- {} here\n", 2, True),
    ("view.sql", "SELECT 1,\n'{} here';\n", 2, False),
    ("message.proto", "int32 a = 1;\n// {} here\n", 2, True),
    ("unit.service", "[Unit]\n# {} here\n", 2, True),
    ("shape.json", '[\n"{} here"]\n', 2, False),
    ("CMakeLists.txt", "project(x)\n# {} here\n", 2, True),
]
# Not findings: code in documents, identifiers, allowed lines, good English.
CLEAN = [
    ("code.md", "```\nnobody knows\n```\n\nUse `such a file` here.\n"),
    ("name.c", "int nobody = told(1);\n"),
    ("allowed.c", 'f("uid of nobody"); /* voice: allow */\n'),
    ("good.md", "There is no device. It stands for itself, as long as it is no longer busy.\nUp to 3 a month.\n"),
    ("user.c", 'f("nobody");\n'),
]
failures = []


def findings(folder, name, text, comments):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return list(voice.check(path, comments))


def run(folder, *arguments):
    return subprocess.run([sys.executable, VOICE, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True, check=False)


with tempfile.TemporaryDirectory() as folder:
    for name, text, line, is_comment in KINDS:
        for _, phrase, better in voice.RULES:
            planted = text.replace("{}", phrase)
            found = findings(folder, name, planted, is_comment)
            if (line, better) not in [(at, wording) for at, _, wording in found]:
                failures.append(f"{name}: expected '{phrase}' on line {line}, found {found}")
            if findings(folder, name, planted, not is_comment):
                failures.append(f"{name}: '{phrase}' was found in the wrong kind of text")
    for name, text in CLEAN:
        for comments in (False, True):
            found = findings(folder, name, text, comments)
            if found:
                failures.append(f"{name}: expected nothing, found {found}")

    # The whole program, on files in a git repository.
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    findings(folder, "bad.c", '\nf("nobody knows");\n', False)
    findings(folder, "good.c", 'f("no process knows");\n', False)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    bad, good = run(folder, "bad.c", "good.c"), run(folder, "good.c")
    if bad.returncode != 1 or not bad.stdout.startswith("bad.c:2: 'nobody knows': ") and "bad.c:2: " not in bad.stdout:
        failures.append(f"bad.c: expected a finding on line 2 and exit code 1, found {bad.returncode}: {bad.stdout}")
    if good.returncode != 0 or good.stdout:
        failures.append(f"good.c: expected no finding and exit code 0, found {good.returncode}: {good.stdout}")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
