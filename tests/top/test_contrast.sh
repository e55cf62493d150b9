# test_contrast - the views of the real program in a terminal of 256 colors: every text is readable
# on the background of its scheme.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/terminal.sh"
needs python3
own_settings=yes layout=overview

keep() { tmx capture-pane -e -N -p -t top >"$1"; }
# look SCHEME GROUND: checks all views in that scheme.
look() {
    local scheme=$1 ground=$2 scene view
    echo "colors = $scheme" >"$scheme.conf"
    for scene in trn1 moving; do
        options="--config $PWD/$scheme.conf" start "$scene" 120 40
        sees "the overview" 'o>Overview<'
        keep "$scheme.$scene.o"
        for view in e:Engines b:HBM m:Models p:Processes l:Events w:Errors g:Graphs t:Topology y:Ranks; do
            key "${view%%:*}"
            sees "a view" ">${view#*:}<"
            keep "$scheme.$scene.${view%%:*}"
        done
        key T
        sees "the vendor's screen" 'vCPU Utilization'
        keep "$scheme.$scene.T"
    done
    python3 "$NTK_SOURCE_DIR/tests/top/contrast.py" "$ground" "$scheme".*.? >poor
    [ ! -s poor ] || complain "$scheme on $ground: poor contrast: $(cat poor)"
}
look vendor black
look contrast black
look light white
