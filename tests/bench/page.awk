# page.awk - writes docs/performance.md: a section for each bench, from its old page (first file; may be empty) and
# the table of targets of a run (second file: VERDICT<tab>BENCH<tab>TARGET<tab>FIGURES<tab>LOAD). A bench that did not
# run keeps its section, if that is of the same machine and the bench still exists.
# -v machine=TEXT -v os=TEXT -v date=TEXT: where and when it ran. -v known=" NAME NAME ": all benches that exist.
function cell(line, number,    cells) {
    split(line, cells, / *\| */)
    return cells[number]
}
BEGIN { FS = "\t" }
FILENAME == ARGV[1] {
    if (/^\| (machine|system) \|/) {
        is_other = is_other || cell($0, 3) != (cell($0, 2) == "machine" ? machine : os)
    } else if (/^## /) {
        bench = /^## / && index(known, " " substr($0, 4) " ") ? substr($0, 4) : ""
    } else if (bench != "" && !is_other) {
        sections[bench] = sections[bench] $0 "\n"
    }
    next
}
{
    figure = $4
    target = ""
    if ((at = index(figure, "  target ")) > 0) {
        target = substr(figure, at + 9)
        figure = substr(figure, 1, at - 1)
    }
    gsub(/  +/, ", ", figure)
    gsub(/</, "\\&lt;", target)
    if (!($2 in is_new)) {
        is_new[$2] = 1
        sections[$2] = sprintf("\n`./dev bench %s`, %s, load average at the start %s\n\n", $2, date, $5) \
            "| quantity | measured | target | verdict |\n|---|---|---|---|\n"
    }
    sub("^" $2 ": ", "", $1)
    sections[$2] = sections[$2] sprintf("| %s | %s | %s | %s |\n", $3, figure, target, $1)
}
END {
    print "<!-- Written by ./dev bench --page; do not edit. -->\n# Performance\n"
    print "This page lists every performance target of the project with measured figures. Most figures are"
    print "ratios to a peer or to a lower bound that the benchmark measures in the same run. Each verdict"
    print "is that of the median. [tests/bench](../tests/bench/README.md) explains the verdicts.\n"
    printf "| | |\n|---|---|\n| command | `./dev bench --page` |\n| machine | %s |\n| system | %s |\n", machine, os
    for (bench in sections) {
        names[++name_count] = bench
    }
    for (i = 2; i <= name_count; i++) {
        for (k = i; k > 1 && names[k - 1] > names[k]; k--) {
            bench = names[k]
            names[k] = names[k - 1]
            names[k - 1] = bench
        }
    }
    for (i = 1; i <= name_count; i++) {
        sub(/\n+$/, "\n", sections[names[i]])
        printf "\n## %s\n%s", names[i], sections[names[i]]
        line_count = split(sections[names[i]], lines, "\n")
        for (k = 1; k <= line_count; k++) {
            verdict = cell(lines[k], 5)
            sub(/(:| \().*/, "", verdict)
            count[verdict] += lines[k] ~ /^\|/
        }
    }
    printf "\n## Sum\n\n%d met, %d within noise, %d missed, %d not measured.\n", count["met"], count["within noise"],
        count["missed"], count["not measured"]
}
