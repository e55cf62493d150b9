# copyright.awk - the machine-readable copyright file of a Debian package, from LICENSE.
BEGIN {
    print "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    print "Upstream-Name: neuron-toolkit"
    print ""
    print "Files: *"
}
/^Copyright/ {
    sub(/^Copyright \(c\) /, "")
    print "Copyright: " $0
    print "License: Expat"
    in_text = 1
    next
}
in_text && (NF || started) {
    started = 1
    print NF ? " " $0 : " ."
}
