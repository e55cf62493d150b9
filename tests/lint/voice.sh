#!/bin/bash
# voice - texts and comments contain none of the phrases of tests/lint/voice, and the lint finds each phrase.
voice=$NTK_SOURCE_DIR/tests/lint/voice
python3 "$NTK_SOURCE_DIR/tests/lint/voice_test.py" || exit 1
git -C "$NTK_SOURCE_DIR" rev-parse --git-dir >/dev/null 2>&1 || {
    echo "skipped: not a git checkout"
    exit 77
}
python3 "$voice" && python3 "$voice" -c
