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

step "wording"
tests/lint/voice || failed=1
tests/lint/voice -c || failed=1

step "comments and scripts"
tests/lint/shape.sh || failed=1

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
