#!/bin/bash
# man - mandoc accepts every man page, and every option of a table has its entry. Pages carry the version of the
# programs instead of a date.
set -u
if ! command -v mandoc >/dev/null; then
    echo "skipped: mandoc is missing"
    exit 77
fi
export PATH=$NTK_BIN_DIR:$PATH
cd "$NTK_BIN_DIR/../share/man/man1" || exit 1
mapfile -t pages < <(find . -name '*.1' -type f | sort)
[ ${#pages[@]} -ge 8 ] || { echo "only ${#pages[@]} pages are found"; exit 1; }
heads=$(sed -n 's/^\.TH [A-Z0-9_-]* //p' "${pages[@]}" | sort -u)
[ "$heads" = '1 "" "Neuron toolkit" "User Commands"' ] || { echo "the pages have different heads and feet: $heads"; exit 1; }
said=$(mandoc -T lint -W warning "${pages[@]}" 2>&1 | grep -v 'WARNING: missing date, using "": TH$')
[ -z "$said" ] || { echo "$said"; exit 1; }
# In an argument of a macro a double quote is written \(dq; a plain one would vanish.
! grep -nE '^\.[BIRS][BIRM]? .*[^ ]"[^ "]' "${pages[@]}" || { echo "a quote vanishes"; exit 1; }
for page in "${pages[@]}"; do
    name=$(basename "$page" .1)
    mandoc -T ascii "$page" | sed 's,.\x08,,g' | grep -cE "^ *$name(, [a-z-]+)* *-" >/dev/null || { echo "$page does not begin with its name"; exit 1; }
    for command in "" $("$name" --completion fish | sed -n 's/.*__fish_use_subcommand -a //p'); do
        missing=$(sed -n 's/\\-/-/g; /^\\fB/p' "$page" | awk -v options="$("$name" $command --completion words | head -1)" '
            { entries = entries $0 "\n" }
            END { n = split(options, option, " "); for (i = 1; i <= n; i++) if (!index(entries, option[i])) print option[i] }')
        [ -z "$missing" ] || { echo "$page lacks $missing of $command"; exit 1; }
    done
done
