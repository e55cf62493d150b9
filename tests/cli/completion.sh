# completion - what bash completes for every program: it reads the script that the program prints, and is asked
# as at a prompt. Every option that --help tells is offered, every subcommand, and the options of subcommands.
. "$(dirname "$0")/../e2e/lib.sh"
programs=$*

# ask WORD...: the words that bash offers for the last one, a line each.
ask() {
    bash --norc --noprofile -c '
        program=$1
        eval "$("$program" --completion bash)" || exit 3
        [[ $(complete -p "$program") =~ -F\ ([^ ]+)\ $program$ ]] || exit 4
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
        "${BASH_REMATCH[1]}" "$program" "${!#}" "${@:$#-1:1}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

# told WORD...: the long options that --help tells of a program or subcommand.
told() { "$@" --help | grep -oE '^  (-., |    )--[a-z0-9.-]+' | grep -oE -- '--.*' | sort; }

for program in $programs; do
    "$program" --completion bash >script || fail "$program has no completion"
    bash -n script || fail "the script of $program is no bash"
    ask "$program" -- | grep '^--' | sort >offered || true
    told "$program" >want
    [ -s want ] || fail "$program --help tells no option"
    diff want offered >differ || fail "$program --<tab>: $(cat differ)"
    [ "$(ask "$program" --completion "")" = $'bash\nzsh\nfish' ] || fail "$program --completion <tab>: $(ask "$program" --completion "")"
    [ "$(ask "$program" --completion = f)" = fish ] || fail "$program --completion=f<tab>"
    [ "$(ask "$program" --vers)" = --version ] || fail "$program --vers<tab>: $(ask "$program" --vers)"
    for shell in zsh fish; do
        "$program" --completion $shell >other # a file: grep -q leaves a pipe early, and that would be a failure
        grep -q -- "$(head -1 want | sed 's/^--//')" other || fail "$program: nothing for $shell"
    done
done

# subcommands PROGRAM WORD...: each is offered first, and has options of its own.
subcommands() {
    local program=$1 word
    shift
    [ "$(ask "$program" "" | sort | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ] ||
        fail "$program <tab>: $(ask "$program" "")"
    for word in "$@"; do
        ask "$program" "$word" -- | grep '^--' | sort >offered || true
        told "$program" "$word" >want
        diff want offered >differ || fail "$program $word --<tab>: $(cat differ)"
        [ -z "$(ask "$program" "$word" "")" ] || fail "$program $word <tab> is for files"
    done
}
subcommands neuron-bench exec machine
subcommands neuron-packager info unpack create example disasm asm
subcommands neuron-profile capture view analyze diff show-session inspect
[ "$(ask neuron-bench exec --cores "")" = "" ] || fail "a value is no option"
[ "$(ask neuron-bench exec --cores 0 --dur)" = --duration ] || fail "an option after a value"
[ "$(ask neuron-monitor que)" = query ] || fail "neuron-monitor que<tab>"

# A subcommand's own table is no script: its name is no command of the shell.
code=0
neuron-bench exec --completion bash >out 2>err || code=$?
[ $code = 2 ] && [ ! -s out ] && grep -q "neuron-bench --completion bash" err || fail "exec --completion bash: $code $(cat err)"

# A value that may be left out: the next word is none, what follows = is.
[ "$(ask neuron-monitor --otlp --vers)" = --version ] || fail "a word after --otlp is no value"
[ -z "$(ask neuron-monitor --otlp = que)" ] || fail "what follows --otlp= is a value"
