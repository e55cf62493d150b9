#!/bin/bash
# lint - checks the sources of a configured build folder with clang-format, clang-tidy and cppcheck, and checks the width of comments, the wording, and the syntax of every script. Any warning fails.
set -uo pipefail
build=$(readlink -f "$1")
cd "$(dirname "$0")/../.."
failed=0
step() { printf 'lint: %s\n' "$*" >&2; }

mapfile -t sources < <(git ls-files '*.c' '*.h')
mapfile -t compiled < <(git ls-files '*.c' | grep -v -e '^tests/fuzz/')

step "clang-format over ${#sources[@]} files"
clang-format --dry-run -Werror "${sources[@]}" || failed=1

# clang-format limits the columns of code, and leaves comments alone; rows of tables may be longer.
step "comments within 100 columns"
if { printf '%s\n' "${sources[@]}" && git ls-files '*.def'; } | LC_ALL=C.UTF-8 xargs grep -nE '^.{101,}$' |
    grep -E '\.[ch]:[0-9]+:.*/\*|:[0-9]+: *(/?\*)' |
    grep -vE ':[0-9]+: *\* {3,}|: *\*.*[^ ] {3,}[^ ]'; then
    failed=1
fi

step "wording"
tests/lint/voice || failed=1
tests/lint/voice -c || failed=1

step "shell syntax"
while read -r script; do
    bash -n "$script" || failed=1
done < <(git ls-files | xargs grep -lE '^#!/bin/bash' -- | grep -v '\.md$')

# With pipefail, a writer that is still running when grep exits sometimes fails the pipe.
step "pipes into grep -q: use 'grep >/dev/null'"
if git ls-files dev '*.sh' | xargs grep -nE '[^|]\| *grep -[A-Za-z]*q'; then
    failed=1
fi

step "cppcheck"
cppcheck --quiet --std=c11 --error-exitcode=1 -j 2 --inline-suppr --suppressions-list=tests/lint/cppcheck.txt \
    --enable=warning,performance,portability -D_GNU_SOURCE -DNTK_VERSION='"0"' -I. -I"$build/include" -I"$build/generated" \
    "${compiled[@]}" || failed=1

# Only files of the compilation database: parts that are omitted because a package is missing are not in it.
step "clang-tidy over ${#compiled[@]} files, two at a time"
printf '%s\n' "${compiled[@]}" | while read -r file; do
    grep -q "\"file\": \".*/$file\"" "$build/compile_commands.json" && printf '%s\n' "$file"
done | xargs -P 2 -n 4 clang-tidy --quiet -p "$build" 2>/dev/null || failed=1

[ $failed = 0 ] && step "no warnings"
exit $failed
