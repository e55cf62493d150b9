#!/bin/bash
# layering - derives which folder uses which from the #include lines. Fails if an arrow is not in allowed.txt, if
# allowed.txt has a folder or an arrow that does not exist, if folders use one another in a circle, or if the table in
# docs/architecture.md differs. --update rewrites that table.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../..}"
doc=docs/architecture.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Turns lines 'FILE:#include "TARGET"' into the table, with complaints on stderr and the arrows between folders in
# $1.
draw() {
    awk -v allowed_file=tests/layering/allowed.txt -v arrows="$1" '
    # The longest row that contains the path, or "".
    function row_of(path,    i, best) {
        best = ""
        for (i = 1; i <= count; i++)
            if (index(path, names[i] "/") == 1 && length(names[i]) > length(best)) best = names[i]
        return best
    }
    function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    function complain(text) { print text > "/dev/stderr"; bad = 1 }
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
        from = row_of(file); to = row_of(target)
        if (from == "" || (file ~ /^(top|exporters|agent|profiler)\/.*\// && from != folder_of(file))) {
            complain("no row for " folder_of(file) " in " allowed_file)
            next
        }
        if (to == "" && target ~ /^(nrt|ndl|neuron|neuware)\//) to = "runtime-hooks/include"
        if (to == "") next
        if (folder_of(file) != folder_of(target)) print folder_of(file), folder_of(target) > arrows
        if (to == from) next
        print from, to > arrows
        ok = 0
        n = split(may[from], list, " ")
        for (i = 1; i <= n; i++)
            if (to == list[i] || (!(list[i] in may) && index(to, list[i] "/") == 1)) ok = 1
        if (!ok) complain(file ": " from " must not use " to " (" target ")")
        arrow[from, to] = 1
    }
    END {
        for (i = 1; i <= count && NR > 1; i++) { # a single line is a self-test
            if (system("[ -d " names[i] " ]") != 0) complain("no folder: " names[i] " in " allowed_file)
            n = split(may[names[i]], list, " ")
            for (j = 1; j <= n; j++) {
                used = 0
                for (k = 1; k <= count; k++)
                    if ((names[i], names[k]) in arrow && (names[k] == list[j] || index(names[k], list[j] "/") == 1))
                        used = 1
                if (!used) complain(names[i] " does not use " list[j] ": " allowed_file)
            }
        }
        print "| Folder | Uses |"; print "|---|---|"
        for (i = 1; i <= count; i++) {
            row = ""
            for (j = 1; j <= count; j++)
                if ((names[i], names[j]) in arrow) {
                    if (length(row names[j]) > 160) { # a long list continues in the next row
                        print "| " names[i] " | " row ", |"
                        row = ""
                    }
                    row = row (row == "" ? "" : ", ") names[j]
                }
            print "| " names[i] " | " (row == "" ? "the C library" : row) " |"
        }
        exit bad
    }'
}

# Self-test: forbidden arrows are detected.
nowhere=top/nowhere
while read -r line; do
    if draw "$scratch/planted" <<<"$line" >/dev/null 2>&1; then
        echo "not found: $line"
        exit 1
    fi
done <<END
top/base/format.h:#include "top/model/model.h"
$nowhere/str.c:#include "shared/base/str.h"
agent/monitor.c:#include "exporters/prometheus/prometheus.h"
exporters/transport/outbox.c:#include "exporters/cloudwatch/cloudwatch.h"
profiler/analysis/summary.c:#include "profiler/output/output.h"
profiler/trace/walk.c:#include "profiler/system/system_trace.h"
shared/metrics/snapshot.c:#include "shared/collect/collect.h"
END
two='shared/device/device.c:#include "shared/base/str.h"'
if ! { draw "$scratch/planted" <<<"$two"$'\n'"$two" 2>&1 || true; } | grep 'shared/device does not use shared/abi' >/dev/null; then
    echo "an unused row would not be found"
    exit 1
fi
if printf 'a b\nb c\nc a\n' | tsort >/dev/null 2>&1; then
    echo "a circle would not be found"
    exit 1
fi

find shared runtime-hooks exporters agent top profiler -name "*.[ch]" -o -name "*.def" | LC_ALL=C sort |
    xargs grep -HE '^#include ["<][^">]+/' | sed -E 's/#include <(.*)>/#include "\1"/' | draw "$scratch/arrows" >"$scratch/table"
sort -u "$scratch/arrows" | tsort >/dev/null || { echo "folders use one another in a circle"; exit 1; }

if [ "${1:-}" = --update ]; then
    awk -v table="$scratch/table" '/<!-- layers:begin -->/ { print; while ((getline l < table) > 0) print l; skip = 1 }
        /<!-- layers:end -->/ { skip = 0 } !skip' "$doc" >"$scratch/doc"
    cp "$scratch/doc" "$doc"
fi
sed -n '/<!-- layers:begin -->/,/<!-- layers:end -->/p' "$doc" | sed '1d;$d' | diff -u - "$scratch/table" ||
    { echo "the table of $doc is not what the includes say: run tests/layering/layering.sh --update"; exit 1; }
