#!/bin/bash
# sizes - no function of a program or library has more than 100 lines or more than 8 parameters. Vendor interfaces
# (the fronts and the functions called in their place) may have more parameters; tests may exceed both.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../..}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fronts='^runtime-hooks/(libnrt|cnrt|cnml|interpose)/'

# A function's head and its closing brace are in the first column, as clang-format puts them.
offences() {
    awk -v fronts="$fronts" '
    function parameters(text,    count, depth, i, c) {
        sub(/^[^(]*\(/, "", text)
        count = 1
        for (i = 1; i <= length(text); i++) {
            c = substr(text, i, 1)
            if (c == ")" && depth-- == 0) break
            if (c == "(") depth++
            if (c == "," && depth == 0) count++
        }
        return count
    }
    FNR == 1 { head = ""; inside = 0 }
    inside && /^\}/ {
        if (is_function && FNR - first + 1 > 100) print FILENAME ":" first ": " FNR - first + 1 " lines"
        inside = 0; head = ""
        next
    }
    inside { next }
    head == "" && !/^[A-Za-z_]/ { next }
    {
        if (head == "") first = FNR
        head = head " " $0
        if (/;[ \t]*$/) head = ""
        else if (/^\{/ || /\{[ \t]*$/) {
            inside = 1
            is_function = head ~ /^ [^={(]*[a-z0-9_]+\(.*\)[^)=]*\{[ \t]*$/
            count = is_function && FILENAME !~ fronts ? parameters(head) : 0
            if (count > 8) print FILENAME ":" first ": " count " parameters"
        }
    }' "$@"
}

mkdir -p "$scratch/runtime-hooks/libnrt"
{
    printf 'struct x *\nlong_one(int a)\n{\n'
    printf '    a++;\n%.0s' {1..98}
    printf '}\n'
} >"$scratch/long.c"
printf 'static int wide(int a, int b, void (*c)(int, int), int d,\n    int e, int f, int g, int h, int i)\n{\n}\n' >"$scratch/wide.c"
printf 'static const struct x table[] = {\n%s};\nint f(int a, int (*b)(int, int), int c, int d, int e, int f, int g, int h)\n{\n}\n' \
    "$(printf '    { 1 },\n%.0s' {1..200})" >"$scratch/sound.c"
[ "$(offences "$scratch/long.c" "$scratch/wide.c" "$scratch/sound.c" | sed 's/.*: //' | paste -sd,)" = \
    "102 lines,9 parameters" ] || { echo "a long or wide function would not be found"; exit 1; }

mapfile -t files < <(find shared runtime-hooks exporters agent top profiler -name '*.[ch]' | LC_ALL=C sort)
found=$(offences "${files[@]}")
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    echo "divide it, or give it a struct (at most 100 lines and 8 parameters)"
    exit 1
fi
