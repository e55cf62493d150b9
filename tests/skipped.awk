# skipped.awk - prints the tests that ctest skipped, with the reasons, from its --output-junit file.
match($0, /<testcase name="[^"]*"/) { name = substr($0, RSTART + 16, RLENGTH - 17); reason = "no reason printed" }
match($0, /skipped: .*/) { reason = substr($0, RSTART + 9); sub(/<\/system-out>.*/, "", reason) }
/<skipped / { is_skipped = 1 }
/<\/testcase>/ {
    if (is_skipped) {
        if (!count++) {
            print "skipped tests:"
        }
        print "  " name ": " reason
    }
    is_skipped = 0
}
