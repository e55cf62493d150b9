# collector.sh - the receivers of this folder, for the tests in it. Source it after tests/e2e/lib.sh and needs_python.
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
unset "${!OTEL_@}"

collector() { # PROGRAM FOLDER ARGUMENT...: starts a receiver; sets $port, and $last to its pid
    mkdir -p "$2"
    rm -f "$2/port"
    "$python" "$here/$1" "${@:2}" 2>"$2/log" &
    last=$!
    wait_for listens "$2"
    port=$(cat "$2/port")
}
listens() { [ -s "$1/port" ] && echo yes; }
