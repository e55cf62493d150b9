# test_sources - the same running model from each source (this machine, a pipe, HTTP, a recording): every view and every
# form is printed, and all tell of the same applications.
. "$(dirname "$0")/../e2e/lib.sh"
needs neuron-top neuron-monitor neuron-bench neuron-packager jq
export COLUMNS=250 LC_ALL=C.UTF-8 TZ=UTC NEURON_SOFT_INSTANCE=trn2.3xlarge

views=$(neuron-top --help | tr -s ' \n' ' ' | sed 's/.*start with that view: \(.*\) --ascii.*/\1/')
[ "$(wc -w <<<"$views")" -ge 9 ] || fail "no list of views: $views"
neuron-packager example mlp --lnc 2 -o mlp.neff >/dev/null
NEURON_PROCESS_TAG=everywhere neuron-bench exec mlp.neff --cores 1 --rate 50 --duration 10m >/dev/null &
pids+=($!)
neuron-monitor --period 500ms --db history.db --http 127.0.0.1:0 --verbose 1 >reports 2>agent.log &
pids+=($!)
works() { tail -1 reports | jq -e '.neuron_runtime_data[0].report.execution_stats.execution_summary.completed > 0' >/dev/null && echo yes; }
wait_for works
port_of() { sed -n 's/.*serving at port //p' agent.log; }
serves() { [ -n "$(port_of)" ] && echo yes; }
wait_for serves
port=$(port_of)
recorded() { neuron-top --from history.db --at "$(date +%s)" --csv=applications --once | greps ',everywhere,' && echo yes; }
wait_for recorded
tail -1 reports >report

ask() { # source, arguments: one sample of it
    local source=$1
    shift
    case $source in
    live) neuron-top --once "$@" ;;
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
        [ "$(wc -l <table.csv)" -ge 2 ] || fail "$source: $table has no rows"
    done
    ask $source --json >$source.json || fail "$source: --json fails"
    jq -e '.neuroncore_count == 4 and .logical_nc_config == 2 and (.cores | length) == 4 and
        .applications[0].tag == "everywhere" and .applications[0].neuroncores == "1" and .models[0].name == "mlp" and
        .applications[0].pod == null and .failed_executions == 0 and .device_bytes > 0' $source.json >/dev/null ||
        fail "$source: $(cat $source.json)"
done
