# man.awk - a man page from its template: awk -v program=PATH [-v emulator=COMMAND] -f man.awk x.1.in >x.1
#
#   @options [SUBCOMMAND]  inserts the options of its table, each with its text of --help
#   @options SUBCOMMAND if-built  the same, or one message where the build omits the subcommand
#   @--name                adds the roff up to the next line with @ to the entry of this option
#   @end                   closes the list
#
# "program SUBCOMMAND --completion man" writes an entry for each option, and "@--name" after it.
function fail(sentence)
{
    print FILENAME ":" FNR ": " sentence > "/dev/stderr"
    failed = 1
    exit 1
}

/^@options/ {
    command = emulator " '" program "' " $2 " --completion man"
    if ($3 == "if-built" && system(command " >/dev/null 2>&1") != 0) {
        command = "echo This build does not have the command."
    }
    next
}
/^@--/ {
    option = $1
    if (option in more || !command) {
        fail("duplicate option, or outside of @options: " option)
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
        fail("command failed: " command)
    }
    for (option in more) {
        fail("unknown option of the program: " substr(option, 2))
    }
    command = ""
    next
}
command { more[option] = more[option] $0 "\n"; next }
{ print }
END {
    if (command && !failed) {
        fail("missing @end")
    }
}
