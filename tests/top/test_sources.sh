# test_sources - the same running model from each source (this machine, a pipe, HTTP, a recording): prints every view
# and every form, and all show the same applications. Then a terminal of 200x50 on each: the tall first screen, the
# pages of application and model, and the way back in time.
. "$(dirname "$0")/../e2e/lib.sh"
needs neuron-top neuron-monitor neuron-bench neuron-packager jq
export COLUMNS=250 LC_ALL=C.UTF-8 TZ=UTC NEURON_SOFT_INSTANCE=trn2.3xlarge

views=$(neuron-top --help | tr -s ' \n' ' ' | sed 's/.*start with this view: \(.*\) --ascii.*/\1/')
views=${views/ hosts/} # only of several machines
[ "$(wc -w <<<"$views")" -ge 9 ] || fail "expected a list of views, found: $views"
neuron-packager example conv -s 4 --lnc 2 -o conv.neff >/dev/null
NEURON_PROCESS_TAG=everywhere neuron-bench exec conv.neff --cores 1 --rate 20 --duration 10m >/dev/null &
neuron-monitor --period 500ms --db history.db --http 127.0.0.1:0 --verbose 1 >reports 2>agent.log &
works() {
    tail -1 reports >report
    jq -e '.neuron_runtime_data[0].report | .execution_stats.execution_summary.completed > 0 and (.neuron_ext.models | length) == 1' report >/dev/null && echo yes
}
wait_for works
port_of() { sed -n 's/.*listening on port //p' agent.log; }
serves() { [ -n "$(port_of)" ] && echo yes; }
wait_for serves
port=$(port_of)
recorded() { neuron-top --from history.db --at "$(date +%s)" --csv=applications --once | greps ',everywhere,' && echo yes; }
wait_for recorded

ask() { # source, arguments: one sample of it
    local source=$1
    shift
    case $source in
    live) neuron-top --once -d 200ms "$@" ;;
    pipe) neuron-top --stdin --once "$@" <report ;;
    http) neuron-top --connect "http://127.0.0.1:$port" --once "$@" ;;
    past) neuron-top --from history.db --at "$(date +%s)" --once "$@" ;;
    esac
}
for source in live pipe http past; do
    for view in $views; do
        ask $source --view "$view" >frame || fail "$source: $view fails"
        case $view in
        topology) pattern='ND 0\|Trainium\|0' ;;
        *) pattern=everywhere ;;
        esac
        greps -e "$pattern" <frame || fail "$source: $view shows no application: $(cat frame)"
    done
    for table in machine devices cores applications models; do
        ask $source --csv=$table >table.csv || fail "$source: $table fails"
        [ "$(wc -l <table.csv)" -ge 2 ] || fail "$source: $table has no rows: $(cat table.csv report)"
    done
    ask $source --json >$source.json || fail "$source: --json fails"
    jq -e '.neuroncore_count == 4 and .logical_neuroncore_config == 2 and (.cores | length) == 4 and
        .applications[0].tag == "everywhere" and .applications[0].neuroncores == "1" and .models[0].name == "conv" and
        .applications[0].pod_name == null and .errors == 0 and .device_memory_bytes > 0' $source.json >/dev/null ||
        fail "$source: unexpected samples: $(cat $source.json)"
done

# The tall first screen, pages and the walk back in time.
needs tmux
tmx new-session -d -s keep cat
screen() { tmx capture-pane -p -t top 2>/dev/null; }
shows() { screen | greps -e "$1" && echo yes; }
key() { tmx send-keys -t top "$@"; }
for source in live pipe http past; do
    case $source in
    live) command='neuron-top --layout vendor' then=' ago; navigate with \[ \] { }' ;;
    pipe) command='neuron-monitor --period 500ms | neuron-top --layout vendor --stdin' then=' ago; navigate with \[ \] { }' ;;
    http) command="neuron-top --layout vendor --connect http://127.0.0.1:$port" then=' ago; navigate with \[ \] { }' ;;
    past) command="neuron-top --layout vendor --from history.db --at $(($(date +%s) - 4))" then='recorded at .*, paused' ;;
    esac
    tmx new-session -d -s top -x 200 -y 50 \
        "export PATH='$PATH' NEURON_HOOKS_DIR='$NEURON_HOOKS_DIR' NEURON_SOFT_INSTANCE=$NEURON_SOFT_INSTANCE LC_ALL=C.UTF-8; $command; echo status=\$?; exec cat"
    wait_for shows 'Neuron Applications .*Busy in the last minute'
    wait_for shows '[0-9] *everywhere .*%.*MB .*root'
    wait_for shows 'HBM  *0\.[0-9]*%'
    key p Enter
    wait_for shows 'Executions in the last minute'
    wait_for shows 'TAG  *everywhere'
    key Escape m Enter
    wait_for shows 'Model conv'
    wait_for shows 'Latency of recent executions'
    goes_back() { shows "$then" || key '['; } # once there is a past to go back to
    wait_for goes_back
    key Escape T
    wait_for shows 'Neuron Applications .*Busy in the last minute'
    key ' ' q
    wait_for shows status=0
    tmx kill-session -t top
done

# A recording has the minute before the shown moment: graphs show it at once.
kill -TERM $(jobs -pr)
wait
tmx new-session -d -s top -x 200 -y 50 "LC_ALL=C.UTF-8 TZ=UTC $NTK_BIN_DIR/neuron-top --layout vendor --from history.db --at $(date +%s); exec cat"
wait_for shows 'end of the recording'
# cells of the lowest row of the graph: more than those of the shown moment
has_past() { [ "$(screen | grep ' 0% ' | grep -oP '[\x{2801}-\x{28ff}]' | wc -l)" -ge 6 ] && echo yes; }
wait_for has_past
