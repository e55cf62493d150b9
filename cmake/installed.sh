#!/bin/bash
# installed.sh install BUILD PREFIX - installs a build and records the installed files.
# installed.sh uninstall PREFIX     - removes these files, and the folders that the installation created if they are empty.
# Both respect $DESTDIR. The record names files, and folders with a slash at their end, relative to the prefix.
set -euo pipefail
export LC_ALL=C
prefix=$(realpath -ms -- "${*: -1}")
root=${DESTDIR:-}$prefix
record=share/neuron-toolkit/installed

# remove LIST: removes its files, then its folders, deepest first.
remove() {
    local path
    { grep -v '/$' "$1" || true; } | (cd "$root" && tr '\n' '\0' | xargs -0 rm -f --)
    { grep '/$' "$1" || true; } | sort -r | while read -r path; do
        rmdir --ignore-fail-on-non-empty -- "$root/$path" 2>/dev/null || [ ! -d "$root/$path" ]
    done
}

case ${1:-} in
install)
    lists=$(mktemp -d)
    trap 'rm -rf "$lists"' EXIT
    # Folders created by an earlier installation count as ours.
    { cd "$root" 2>/dev/null && find . -mindepth 1 -type d -printf '%P/\n' || true; } | sort >"$lists/folders"
    : >"$lists/earlier"
    if [ -e "$root/$record" ]; then
        sort "$root/$record" >"$lists/earlier"
        { grep '/$' "$lists/earlier" || true; } | comm -13 - "$lists/folders" >"$lists/foreign"
    else
        cp "$lists/folders" "$lists/foreign"
    fi
    cd /
    cmake --install "$2" --prefix "$prefix"
    {
        awk -v prefix="${prefix%/}/" 'index($0, prefix) == 1 { print substr($0, length(prefix) + 1) }' "$2/install_manifest.txt"
        echo "$record"
    } | sort -u >"$lists/files"
    # Every parent folder of a file.
    sed -n 's|/[^/]*$||p' "$lists/files" | sort -u | while read -r folder; do
        while [ "$folder" != . ]; do
            echo "$folder/"
            folder=$(dirname "$folder")
        done
    done | sort -u | comm -23 - "$lists/foreign" >"$lists/own"
    sort -u "$lists/files" "$lists/own" >"$lists/record"
    comm -23 "$lists/earlier" "$lists/record" >"$lists/stale"
    remove "$lists/stale"
    mkdir -p "$(dirname "$root/$record")"
    cp "$lists/record" "$root/$record"
    ;;
uninstall)
    [ -e "$root/$record" ] || {
        echo "installed.sh: $root/$record is missing: nothing was installed below $prefix by ./dev install" >&2
        exit 1
    }
    list=$(mktemp)
    trap 'rm -f "$list"' EXIT
    cp "$root/$record" "$list"
    remove "$list"
    ;;
*)
    echo "usage: installed.sh install BUILD PREFIX, or installed.sh uninstall PREFIX" >&2
    exit 2
    ;;
esac
