#!/bin/bash
# layering - draws who uses whom from the #include lines, fails when an arrow is not in allowed.txt
# and when the table of docs/architecture.md is not the one drawn. --update rewrites that table.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../..}"
doc=docs/architecture.md
allowed=tests/layering/allowed.txt
drawn=$(mktemp)
trap 'rm -f "$drawn" "$drawn.doc"' EXIT

find shared runtime-hooks exporters agent top profiler -name "*.[ch]" | LC_ALL=C sort |
    xargs grep -HE '^#include "[^"]+/' |
    awk -v allowed_file="$allowed" '
    # The longest listed folder that holds the path, or "".
    function folder_of(path,    i, best) {
        best = ""
        for (i = 1; i <= count; i++)
            if (index(path, names[i] "/") == 1 && length(names[i]) > length(best)) best = names[i]
        return best
    }
    BEGIN {
        while ((getline line < allowed_file) > 0) {
            if (line ~ /^#/ || line !~ /:/) continue
            name = line; sub(/:.*/, "", name)
            uses = line; sub(/^[^:]*:/, "", uses)
            names[++count] = name; may[name] = uses " "
        }
    }
    {
        split($0, parts, ":#include \"")
        file = parts[1]; target = parts[2]; sub(/".*/, "", target)
        from = folder_of(file); to = folder_of(target)
        if (from == "") { print "no layer for " file > "/dev/stderr"; bad = 1; next }
        if (to == "" && target ~ /^nrt\/|^ndl\/|^neuron\//) to = "runtime-hooks/include"
        if (to == "" || to == from) next
        ok = 0
        n = split(may[from], list, " ")
        for (i = 1; i <= n; i++) if (to == list[i] || index(to, list[i] "/") == 1) ok = 1
        if (!ok) { print file ": " from " must not use " to " (" target ")" > "/dev/stderr"; bad = 1 }
        arrow[from, to] = 1
    }
    END {
        print "| Folder | Uses |"; print "|---|---|"
        for (i = 1; i <= count; i++) {
            row = ""
            for (j = 1; j <= count; j++)
                if ((names[i], names[j]) in arrow) row = row (row == "" ? "" : ", ") names[j]
            print "| " names[i] " | " (row == "" ? "the C library" : row) " |"
        }
        exit bad
    }' >"$drawn"

# Which exporters there are stands in exporters/registry.def alone; the agent sees what all of them share.
if grep -rE '^#include "exporters/' agent | grep -vE '"exporters/(exporter\.h|labels/|transport/)'; then
    echo "the agent must not know an exporter" >&2
    exit 1
fi

if [ "${1:-}" = --update ]; then
    awk -v table="$drawn" '/<!-- layers:begin -->/ { print; while ((getline l < table) > 0) print l; skip = 1 }
        /<!-- layers:end -->/ { skip = 0 } !skip' "$doc" >"$drawn.doc"
    cp "$drawn.doc" "$doc"
fi
sed -n '/<!-- layers:begin -->/,/<!-- layers:end -->/p' "$doc" | sed '1d;$d' | diff -u - "$drawn" ||
    { echo "the table of $doc is not what the includes say: run tests/layering/layering.sh --update"; exit 1; }
