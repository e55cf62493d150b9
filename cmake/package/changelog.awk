# changelog.awk - CHANGELOG.md as the changelog of a Debian package: awk -v version=V-R -v
# date=RFC2822 -v by="NAME <MAIL>". All sections become one entry, because only the packaged version
# is known here.
function flush_item()
{
    if (item) {
        count = split(item, words, " ")
        line = "  *"
        for (i = 1; i <= count; i++) {
            if (length(line) + length(words[i]) >= 79) {
                print line
                line = "   "
            }
            line = line " " words[i]
        }
        print line
    }
    item = ""
}
BEGIN { print "neuron-toolkit (" version ") unstable; urgency=medium\n" }
/^### / { flush_item(); area = substr($0, 5) ": "; next }
/^## / || /^$/ { flush_item(); next }
/^- / { flush_item(); item = area substr($0, 3); next }
item { item = item $0 }
END { flush_item(); print "\n -- " by "  " date }
