# page.awk - writes docs/performance.md from a run of all benches: its table of targets
# (VERDICT<tab>BENCH<tab>TARGET<tab>FIGURES) as Markdown.
# -v machine=TEXT -v os=TEXT -v date=TEXT -v load=TEXT: where and when it ran.
BEGIN {
    FS = "\t"
    print "<!-- Written by ./dev bench --page; do not edit. -->\n# Performance\n"
    print "This page lists every performance target of the project with the figures of one run of all benchmarks."
    print "Most figures are ratios to a peer or to a lower bound that the benchmark measures in the same run. A"
    print "verdict belongs to the median. [tests/bench](../tests/bench/README.md) explains the verdicts.\n"
    print "| | |\n|---|---|"
    print "| command | `./dev bench --page` |"
    printf "| machine | %s |\n| system | %s |\n| date | %s |\n| load average at the start | %s |\n", machine, os, date, load
}
{
    verdict = $1
    figure = $4
    target = ""
    if ((at = index(figure, "  target ")) > 0) {
        target = substr(figure, at + 9)
        figure = substr(figure, 1, at - 1)
    }
    gsub(/  +/, ", ", figure)
    gsub(/</, "\\&lt;", target)
    if ($2 != bench) {
        bench = $2
        printf "\n## %s\n\n`./dev bench %s`\n\n| quantity | measured | target | verdict |\n|---|---|---|---|\n", bench, bench
    }
    sub("^" bench ": ", "", verdict)
    printf "| %s | %s | %s | %s |\n", $3, figure, target, verdict
    sub(/(:| \().*/, "", verdict)
    count[verdict]++
}
END {
    printf "\n## Sum\n\n%d met, %d within noise, %d missed, %d not measured.\n", count["met"], count["within noise"],
        count["missed"], count["not measured"]
}
