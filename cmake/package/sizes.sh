#!/bin/bash
# sizes.sh PACKAGE.deb... - prints, per package, its size as a file, what it installs, and the packages that come with it on a
# system that has none yet: how many, and what they install. Needs the lists of apt.
set -euo pipefail
export LC_ALL=C
empty=$(mktemp)
trap 'rm -f "$empty"' EXIT
for file; do
    name=$(dpkg-deb --field "$file" Package)
    others=()
    for other; do [ "$other" = "$file" ] || others+=("$(readlink -f "$other")"); done
    # Packages of ours that it depends on are among the others.
    apt-get -s -o Dir::State::status="$empty" -o Debug::NoLocking=1 --no-install-recommends install "$(readlink -f "$file")" \
        $(dpkg-deb --field "$file" Depends | grep neuron-soft-runtime >/dev/null && printf '%s\n' "${others[@]}" | grep /neuron-soft-runtime_) 2>/dev/null |
        sed -n 's/^Inst \([^ ]*\) .*/\1/p' | { grep -v '^neuron-' || true; } | sort -u >"$empty.list"
    printf '%-22s %5d KiB, installs %6d KiB, with %3d packages of %4d MiB\n' "$name" $(($(stat -c %s "$file") / 1024)) \
        "$(dpkg-deb --field "$file" Installed-Size)" "$(wc -l <"$empty.list")" \
        $(($(xargs apt-cache show --no-all-versions <"$empty.list" 2>/dev/null | awk '/^Installed-Size:/ { sum += $2 } END { print sum + 0 }') / 1024))
    rm -f "$empty.list"
done
