# ends.sh - a script that uses lib.sh exits, is stopped by a signal, or is killed as by a time-out. None of its
# processes or folders remain, not even a process that has become a daemon.
. "$(dirname "$0")/../lib.sh"

cat >script.sh <<'EOF'
. "$1"
sleep 600 &
(setsid sleep 601 &)
echo "$scratch" "$memory" >"$2.new" && mv "$2.new" "$2"
$3
EOF
processes() { grep -lszxF "NEURON_HOOKS_DIR=$(cut -d' ' -f2 "$1")/hooks" /proc/[0-9]*/environ || true; }
is_clean() { [ -s "$1" ] && [ -z "$(ls -d $(cat "$1") 2>/dev/null)" ] && [ -z "$(processes "$1")" ] && echo yes; }
stands() { [ -s "$1" ] && [ "$(processes "$1" | wc -l)" -ge 3 ] && echo yes; }
lib=$(readlink -f "$(dirname "$BASH_SOURCE")/../lib.sh")

env -u NEURON_HOOKS_DIR bash script.sh "$lib" "$PWD/itself" true 2>/dev/null
wait_for is_clean itself
for signal in TERM HUP KILL; do
    # nohup and similar programs ignore SIGHUP, which a shell cannot undo.
    env -u NEURON_HOOKS_DIR --default-signal=HUP bash script.sh "$lib" "$PWD/$signal" 'sleep 602' 2>/dev/null &
    wait_for stands "$signal"
    kill -"$signal" $!
    wait_for is_clean "$signal"
done
