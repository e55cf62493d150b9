# defaults.awk - the configuration file of a service: PROGRAM --help | awk -v variable=NAME -v unit=U -f defaults.awk
BEGIN {
    print "# Options and variables of " unit ".service. Restart the service after a change."
    print "#"
    print "# List options in this variable, separated by spaces, such as " variable "=\"" example "\"."
    print variable "="
    print "#"
}
/:$/ && !/^Usage/ && !/^ / { in_options = 1 }
in_options { print NF ? "# " $0 : "#" }
