# man.awk - a man page from its template: awk -v program=PATH -f man.awk x.1.in >x.1
#
#   @options [SUBCOMMAND]  the options of its table stand here, each with its line of --help
#   @--name                what else is to be said of this one, in roff, up to the next line with @
#   @end                   behind the last
#
# "program SUBCOMMAND --completion man" writes an entry for each option, and "@--name" behind it.
function fail(sentence)
{
    print FILENAME ":" FNR ": " sentence > "/dev/stderr"
    failed = 1
    exit 1
}

/^@options/ {
    command = "'" program "' " $2 " --completion man"
    next
}
/^@--/ {
    option = $1
    if (option in more || !command) {
        fail("there is no place for " option)
    }
    more[option] = ""
    next
}
/^@end/ {
    while ((command | getline line) > 0) {
        if (line in more) {
            printf "%s", more[line]
            delete more[line]
        } else if (line !~ /^@/) {
            print line
        }
    }
    if (close(command) != 0) {
        fail("fails: " command)
    }
    for (option in more) {
        fail("the program has no option " substr(option, 2))
    }
    command = ""
    next
}
command { more[option] = more[option] $0 "\n"; next }
{ print }
END {
    if (command && !failed) {
        fail("@end is missing")
    }
}
