# completion - completions of bash, zsh and fish for every program. They read the script that the program prints, and
# are asked as at a prompt, zsh in a terminal. They offer every option that --help prints, every subcommand, the
# options of subcommands, their values, and operands that are names. A shell that is not installed is skipped, with a
# message.
. "$(dirname "$0")/../e2e/lib.sh"
programs=$*

# ask WORD...: prints the words that bash offers for the last one, one per line.
ask() {
    bash --norc --noprofile -c '
        program=$1
        . "bash/_$program" || exit 3
        [[ $(complete -p "$program") =~ -F\ ([^ ]+)\ $program$ ]] || exit 4
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        "${BASH_REMATCH[1]}" "$program" "${!#}" "${@:$#-1:1}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

# options_of WORD...: the long options that --help prints for a program or subcommand.
options_of() { "$@" --help | grep -oE '^  (-., |    )--[a-z0-9.-]+' | grep -oE -- '--.*' | sort; }

mkdir bash zsh fish
for program in $programs; do
    for shell in bash zsh fish; do
        "$program" --completion $shell >"$shell/_$program" || fail "$program has no completion for $shell"
    done
    bash -n "bash/_$program" || fail "the script of $program is not a bash script"
    ask "$program" -- | grep '^--' | sort >offered || true
    options_of "$program" >want
    [ -s want ] || fail "$program --help lists no option"
    diff want offered >differ || fail "$program --<tab>: $(cat differ)"
    [ "$(ask "$program" --completion "")" = $'bash\nzsh\nfish' ] || fail "$program --completion <tab>: $(ask "$program" --completion "")"
    [ "$(ask "$program" --completion = f)" = fish ] || fail "$program --completion=f<tab>"
    [ "$(ask "$program" --vers)" = --version ] || fail "$program --vers<tab>: $(ask "$program" --vers)"
done

# Subcommands with names as operands, and these names; for some, only the first operand is a name.
declare -A operands=(
    [neuron-monitor query]=$(neuron-monitor query --help | sed -n '/^Questions:/,$s/^  \([a-z]*\) .*/\1/p')
    [neuron-packager example]=$(neuron-packager example --list | grep -o '^[a-z][^ ]*')
    [neuron-profile analyze]=$(neuron-profile analyze --list | grep -oE '^ *[a-z][a-z_-]*  ' | tr -d ' ' | awk '!seen[$0]++')
    [neuron-profile baseline]=$'save\ncheck'
    [popef_make example]=$'add\naccumulate'
)

# subcommands PROGRAM WORD...: each is offered first, and has its own options.
subcommands() {
    local program=$1 word
    shift
    [ "$(ask "$program" "" | sort | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ] ||
        fail "$program <tab>: $(ask "$program" "")"
    for word in "$@"; do
        ask "$program" "$word" -- | grep '^--' | sort >offered || true
        options_of "$program" "$word" >want
        diff want offered >differ || fail "$program $word --<tab>: $(cat differ)"
        [ -n "${operands[$program $word]:-}" ] ||
            [ -z "$(ask "$program" "$word" "")" ] || fail "$program $word <tab> completes files"
    done
}
subcommands neuron-bench exec machine
subcommands neuron-monitor attach diag export hang health job query run slow
subcommands neuron-graph segments run params
subcommands neuron-packager info unpack create optimize example disasm asm
subcommands neuron-profile capture view query analyze lines diff baseline show-session inspect trigger idle start-session stop-session
[ "$(ask neuron-bench exec --cores "")" = "" ] || fail "a value is not an option"
[ "$(ask neuron-bench exec --cores 0 --dur)" = --duration ] || fail "an option after a value"
[ "$(ask neuron-monitor que)" = query ] || fail "neuron-monitor que<tab>"

for command in "${!operands[@]}"; do
    read -r program word <<<"$command"
    [ "$(wc -w <<<"${operands[$command]}")" -gt 1 ] || fail "expected names of $command"
    diff <(printf '%s\n' ${operands[$command]}) <(ask "$program" "$word" "") >differ || fail "$command <tab>: $(cat differ)"
done
[ "$(ask neuron-monitor query --db x.db lat)" = latency ] || fail "a question after the value of an option"
[ -z "$(ask neuron-monitor query latency "")" ] || fail "a second question completes"
[ -z "$(ask neuron-monitor query --db "")" ] || fail "the value of an option is not a question"
[ "$(ask neuron-profile analyze idle critical-)" = critical-path ] || fail "a second analysis: $(ask neuron-profile analyze idle critical-)"

# Known values are offered, also after =; values of an option that may have none only after =.
[ "$(ask neuron-ls --output-format "")" = $'json\ntext' ] || fail "neuron-ls --output-format <tab>"
[ "$(ask neuron-ls --output-format = t)" = text ] || fail "neuron-ls --output-format=t<tab>"
[ "$(ask neuron-top --view e | tr '\n' ' ')" = 'engines events errors ' ] || fail "neuron-top --view e<tab>"
[ "$(ask neuron-top --csv = d)" = devices ] || fail "neuron-top --csv=d<tab>"
[ -z "$(ask neuron-top --csv "")" ] || fail "a word after --csv is not a value"
[ "$(ask neuron-bench exec --fill "" | tr '\n' ' ')" = 'zeros ones random ' ] || fail "neuron-bench exec --fill <tab>"
[ "$(ask neuron-profile view --output-format = par)" = parquet ] || fail "neuron-profile view --output-format=par<tab>"
[ "$(ask neuron-monitor query --metric hbm_ | head -1)" = hbm_read_bytes ] || fail "neuron-monitor query --metric hbm_<tab>: $(ask neuron-monitor query --metric hbm_)"

# Each word of a list is offered, and none twice.
[ "$(ask neuron-monitor --omit v)" = v3d ] || fail "neuron-monitor --omit v<tab>"
[ "$(ask neuron-monitor --omit v3d,us | tr '\n' ' ')" = 'v3d,usage_breakdown v3d,usage_data ' ] || fail "neuron-monitor --omit v3d,us<tab>"
[ "$(ask neuron-monitor --capture-on = hang,slow,s)" = hang,slow,stuck ] || fail "neuron-monitor --capture-on=hang,slow,s<tab>"
[ "$(ask neuron-monitor query --kind first_seen,en)" = first_seen,end ] || fail "neuron-monitor query --kind first_seen,en<tab>"
[ "$(ask neuron-profile analyze --engine tensor,vec)" = tensor,vector ] || fail "neuron-profile analyze --engine tensor,vec<tab>"

# A subcommand has no separate script: its name is not a command of the shell.
code=0
neuron-bench exec --completion bash >out 2>err || code=$?
[ $code = 2 ] && [ ! -s out ] && grep -q "neuron-bench --completion bash" err || fail "exec --completion bash: $code"

# A value that may be omitted: the next word is not its value, but the text after = is.
[ "$(ask neuron-monitor --otlp --vers)" = --version ] || fail "a word after --otlp is not a value"
[ -z "$(ask neuron-monitor --otlp = que)" ] || fail "the text after --otlp= is not completed as a value"

# fish prints its suggestions.
if command -v fish >/dev/null; then
    export HOME=$scratch
    fished() { fish --no-config -c 'source fish/_$argv[1]; complete -C "$argv"' "$@" | cut -f1; }
    fish --no-config -c 'for program in $argv
        source fish/_$program
        complete -C "$program --" >fish/$program.options
        complete -C "$program --vers" | cut -f1 >fish/$program.vers
    end' $programs
    for program in $programs; do
        cut -f1 "fish/$program.options" | { grep '^--' || true; } | sed 's/=$//' | sort -u >offered # --csv and --csv=
        options_of "$program" >want
        diff want offered >differ || fail "fish: $program --<tab>: $(cat differ)"
        [ "$(cat "fish/$program.vers")" = --version ] || fail "fish: $program --vers<tab>: $(cat "fish/$program.vers")"
    done
    [ "$(fished neuron-ls --output-format "" | sort | tr '\n' ' ')" = 'json text ' ] || fail "fish: neuron-ls --output-format <tab>"
    [ "$(fished neuron-top --csv=d)" = --csv=devices ] || fail "fish: neuron-top --csv=d<tab>"
    [ "$(fished neuron-top --view en)" = engines ] || fail "fish: neuron-top --view en<tab>"
    offer=$(fish --no-config -c 'source fish/_neuron-top; complete -C "neuron-top --view en"')
    [ "$offer" = engines ] || fail "fish: a value with the description of its option: $offer"
    [ "$(fished neuron-bench ex)" = exec ] || fail "fish: neuron-bench ex<tab>: $(fished neuron-bench ex)"
    [ "$(fished neuron-monitor query lat)" = latency ] || fail "fish: neuron-monitor query lat<tab>: $(fished neuron-monitor query lat)"
    [ -z "$(fished neuron-monitor query latency lat)" ] || fail "fish: a second question"
    [ "$(fished neuron-profile analyze idle crit)" = critical-path ] || fail "fish: neuron-profile analyze idle crit<tab>"
    [ "$(fished neuron-packager example -o x at | head -1)" = attention ] || fail "fish: neuron-packager example -o x at<tab>"
    [ "$(fished popef_make example acc)" = accumulate ] || fail "fish: popef_make example acc<tab>"
    [ "$(fished neuron-profile view --output-format par)" = parquet ] || fail "fish: neuron-profile view --output-format par<tab>"
    [ "$(fished neuron-bench exec --fill=z)" = --fill=zeros ] || fail "fish: neuron-bench exec --fill=z<tab>"
    [ "$(fished neuron-monitor --capture-on=hang,sl)" = --capture-on=hang,slow ] || fail "fish: neuron-monitor --capture-on=hang,sl<tab>: $(fished neuron-monitor --capture-on=hang,sl)"
    [ "$(fished neuron-monitor --capture-on hang,slow,s)" = hang,slow,stuck ] || fail "fish: neuron-monitor --capture-on hang,slow,s<tab>"
    [ "$(fished neuron-monitor query --kind first_seen,en)" = first_seen,end ] || fail "fish: neuron-monitor query --kind first_seen,en<tab>"
    [ "$(fished neuron-monitor query --kind=first_seen,en)" = --kind=first_seen,end ] || fail "fish: neuron-monitor query --kind=first_seen,en<tab>"
    options_of neuron-bench exec >want
    fished neuron-bench exec -- | { grep '^--' || true; } | sort -u >offered
    [ -z "$(comm -23 want offered)" ] || fail "fish: neuron-bench exec --<tab> lacks $(comm -23 want offered)"
else
    echo "fish is not installed: its completion was not tried"
fi

# zsh completes in an interactive shell only.
if command -v zsh >/dev/null && command -v tmux >/dev/null; then
    export HOME=$scratch
    cat >.zshrc <<'ZSH'
PROMPT='%% ' fpath=($HOME/zsh $fpath)
autoload -Uz compinit && compinit -u -D
ZSH
    tmx new-session -d -s zsh -x 150 -y 45 "env HOME='$scratch' ZDOTDIR='$scratch' PATH='$PATH' zsh -d -i; exec cat"
    # typed TEXT PATTERN: the line after zsh has completed TEXT with the Tab key.
    zsh_shows() { tmx capture-pane -p -t zsh | greps -e "$1" && echo yes; }
    wait_for zsh_shows '^%'
    typed() {
        tmx send-keys -t zsh C-c C-l
        tmx send-keys -t zsh -l "$1"
        tmx send-keys -t zsh Tab
        wait_for zsh_shows "$2"
    }
    for program in $programs; do
        missing=$(options_of "$program" | awk 'NR == FNR { script = script $0 "\n"; next }
            !index(script, "\047" $0 "=") && !index(script, "\047" $0 "[")' "zsh/_$program" -)
        [ -z "$missing" ] || fail "zsh: $program: no $missing"
        typed "$program --vers" "^% $program --version *$"
    done
    typed "neuron-top --completion f" '^% neuron-top --completion fish *$'
    typed "neuron-ls --output-format j" '^% neuron-ls --output-format json *$'
    typed "neuron-top --view en" '^% neuron-top --view engines *$'
    typed "neuron-bench ex" '^% neuron-bench exec *$'
    typed "neuron-bench exec --dur" '^% neuron-bench exec --duration *$'
    typed "neuron-monitor query lat" '^% neuron-monitor query latency *$'
    typed "neuron-monitor query --db x.db ex" '^% neuron-monitor query --db x.db executions *$'
    typed "neuron-profile analyze idle crit" '^% neuron-profile analyze idle critical-path *$'
    typed "popef_make example acc" '^% popef_make example accumulate *$'
    typed "neuron-bench exec --fill=z" '^% neuron-bench exec --fill=zeros *$'
    typed "neuron-profile view --output-format par" '^% neuron-profile view --output-format parquet *$'
    typed "neuron-monitor --capture-on hang,slow,s" '^% neuron-monitor --capture-on hang,slow,stuck,* *$'
    typed "neuron-monitor --capture-on=hang,sl" '^% neuron-monitor --capture-on=hang,slow,* *$'
    typed "neuron-monitor query --kind first_seen,en" '^% neuron-monitor query --kind first_seen,end,* *$'
    typed "neuron-monitor query --kind=first_seen,en" '^% neuron-monitor query --kind=first_seen,end,* *$'
    typed "neuron-top --" '^--expand  *-- start with the whole tree expanded'
    # Sourced, as in a user's .zshrc.
    tmx send-keys -t zsh C-c C-l
    tmx send-keys -t zsh -l 'compdef -d neuron-ls neuron-bench; fpath=(${fpath:1}); source <(neuron-ls --completion zsh); source <(neuron-bench --completion zsh); echo sourced=$?'
    tmx send-keys -t zsh Enter
    wait_for zsh_shows '^sourced=0$'
    typed "neuron-ls --output-format j" '^% neuron-ls --output-format json *$'
    typed "neuron-bench exec --fill=z" '^% neuron-bench exec --fill=zeros *$'
else
    echo "zsh or tmux is not installed: the completion of zsh was not tried"
fi
