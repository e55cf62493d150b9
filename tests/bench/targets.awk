# targets.awk - checks the targets of one bench: what it printed (first file) against the list in targets.txt (second file).
# -v bench=NAME; -v cause=REASON for targets that it did not print. Prints "VERDICT<tab>BENCH<tab>TARGET<tab>FIGURES",
# and "unlisted" as the verdict of a target that is missing from the list.
BEGIN { FS = "  +"; OFS = "\t" }
FILENAME == ARGV[1] && /  target / {
    sub(/^ +/, "")
    verdict[$1] = $NF
    figures[$1] = substr($0, length($1) + 1, length($0) - length($1) - length($NF))
    gsub(/  +/, "  ", figures[$1])
    gsub(/^ +| +$/, "", figures[$1])
    sub(/^target$/, "", figures[$1]) # of a target that could not be measured
}
FILENAME != ARGV[1] && index($0, bench ": ") == 1 {
    name = substr($0, length(bench) + 3)
    if (name in verdict) {
        print verdict[name], bench, name, figures[name]
    } else {
        print "not measured: " cause, bench, name, ""
    }
    is_listed[name] = 1
}
END {
    for (name in verdict) {
        if (!(name in is_listed)) {
            print "unlisted", bench, name, figures[name]
        }
    }
}
