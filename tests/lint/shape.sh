#!/bin/bash
# shape - checks what clang-format leaves alone: comments of at most 100 columns, the syntax of each script, and pipes
# into grep -q. Prints each violation; exits with 1 if there is any.
set -uo pipefail
cd "$(dirname "$0")/../.."
git rev-parse --git-dir >/dev/null 2>&1 || {
    echo "skipped: not a git checkout"
    exit 77
}
failed=0

# clang-format limits the columns of code; rows of tables in comments may be longer.
if git ls-files '*.c' '*.h' '*.def' | LC_ALL=C.UTF-8 xargs grep -nE '^.{101,}$' |
    grep -E '\.[ch]:[0-9]+:.*/\*|:[0-9]+: *(/?\*)' |
    grep -vE ':[0-9]+: *\* {3,}|: *\*.*[^ ] {3,}[^ ]'; then
    echo "shape: these comments have more than 100 columns"
    failed=1
fi

while read -r script; do
    bash -n "$script" || failed=1
done < <({ git ls-files '*.sh' && git ls-files | xargs grep -lE '^#!/bin/bash' -- | grep -v '\.md$'; } | sort -u)

# With pipefail, a writer that is still running when grep exits sometimes fails the pipe.
if git ls-files dev '*.sh' | xargs grep -nE '[^|]\| *grep -[A-Za-z]*q'; then
    echo "shape: use 'grep >/dev/null' at the end of these pipes"
    failed=1
fi
exit $failed
