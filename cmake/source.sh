#!/bin/sh
# source.sh commit     - prints the commit of this source tree, "-modified" after it where files differ, or "unknown"
# source.sh time       - prints the time of the commit in seconds since 1970
# source.sh write FILE - writes the commit as C to FILE, unless FILE has it already
# The commit comes from git or, in an archive that git made, from the file SOURCE.
set -eu
cd "$(dirname "$0")/.."
export GIT_OPTIONAL_LOCKS=0

# field N of SOURCE, or nothing if git did not fill it in.
field() { [ ! -e SOURCE ] || sed -n '/^[0-9a-f]\{40\} /p' SOURCE | cut -d' ' -f"$1"; }

commit() {
    commit=
    [ ! -e .git ] || commit=$(git describe --always --abbrev=12 --dirty=-modified --exclude '*' 2>/dev/null) || true
    [ -n "$commit" ] || commit=$(field 1 | cut -c1-12)$(field 3)
    echo "${commit:-unknown}"
}

case ${1:-} in
commit) commit ;;
time)
    time=
    [ ! -e .git ] || time=$(git log -1 --format=%ct 2>/dev/null) || true
    [ -n "$time" ] || time=$(field 2)
    echo "${time:-$(date -r CHANGELOG.md +%s)}"
    ;;
write)
    text="/* Made by cmake/source.sh. */
#include \"shared/base/build.h\"
const char ntk_build_commit[] = \"$(commit)\";
const char ntk_build_options[] = NTK_BUILD_OPTIONS;"
    [ "$text" = "$(cat "$2" 2>/dev/null)" ] || printf '%s\n' "$text" >"$2"
    ;;
*)
    echo "usage: source.sh commit, source.sh time, or source.sh write FILE" >&2
    exit 2
    ;;
esac
