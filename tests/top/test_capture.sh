# test_capture - P in the real program on a terminal (tmux), next to a real job: ten seconds, or fewer with ctrl-c,
# its summary, its page, and the screen again. 77 without tmux or curl.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/terminal.sh"
needs curl
export NEURON_SOFT_INSTANCE=trn1.2xlarge NEURON_PROCESS_TAG=served
neuron-packager example conv -s 4 -o conv.neff >/dev/null
neuron-bench exec conv.neff --cores 0 --rate 20 --duration 10m >/dev/null &
job=$!
mkdir tools
printf '#!/bin/sh\necho "$1" >%s/address\n' "$scratch" >tools/xdg-open
chmod +x tools/xdg-open
tmx new-session -d -s top -x 120 -y 60 \
    "env DISPLAY=:none TMPDIR='$scratch' PATH='$scratch/tools:$PATH' '$NTK_BUILD_DIR/bin/neuron-top' --layout vendor -d 500ms; echo status=\$?; exec cat"
sees "the job" '\[2\]:served'
is_screen() { screen | greps 'vCPU Utilization' && echo yes; }

# Ten seconds of the only application, read back by the program that shows them.
key P
sees "what happens" "Recording ten seconds of served ($job); press ctrl-c to stop early"
sees "the progress" "recording process $job \[#*\.*\] *[0-9]* %"
sees "the executions" '^ *[0-9]*  nrt_execute  *neuron_rt  *[1-9]'
sees "the device" '^ *[0-9]*  nc_exec_running  *neuron_hw  *[1-9]'
sees "the question" 'enter: back to neuron-top; p and enter: open the page'
recorded=$(screen | sed -n 's/^neuron-profile: recorded .*, \([0-9]*\) executions.*/\1/p')
shown=$(screen | awk '$2 == "nrt_execute" { print $4 }')
[ -n "$recorded" ] && [ "$recorded" -gt 0 ] && [ "$recorded" = "$shown" ] || fail "$recorded executions were recorded, $shown are shown"
[ ! -e address ] || fail "a browser was started without a request"
key Enter
wait_for is_screen
sees "the folder of the recording" "the profile of served is in $scratch/neuron-top-"
folder=$(echo "$scratch"/neuron-top-*)
[ -s "$(echo "$folder"/*/*/ntrace.pb)" ] || fail "no profile in $folder"
rm -r "$folder"

# Fewer seconds, and the page; ctrl-c goes only to neuron-profile.
key P
sees "the progress" "recording process $job \["
key C-c
sees "the question" 'enter: back to neuron-top; p and enter: open the page'
key p Enter
sees "the page" 'View profile at http'
has_address() { [ -s address ] && echo yes; }
wait_for has_address
curl -s "$(cat address)" | greps '<title>' || fail "no page at $(cat address)"
key C-c
wait_for is_screen
kill -0 "$job" || fail "the recording disturbed the job"

# SIGTERM in the middle ends both, and the terminal is restored.
key P
sees "the progress" "recording process $job \["
kill -TERM "$(pgrep -P "$(tmx display-message -p -t top '#{pane_pid}')" -x neuron-top)"
sees "the end" 'status=0'
sees "the folder of the recording" "neuron-top: the recorded files of served are in $scratch/neuron-top-"
is_ended() { pgrep -f "inspect --pid $job( |$)" >/dev/null || echo yes; }
wait_for is_ended
kill -0 "$job" || fail "the recording disturbed the job"
