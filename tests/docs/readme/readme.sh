#!/bin/bash
# readme - a newcomer types what README.md has "By hand", line by line, and no program refuses. What serves until ctrl-c looks
# once, and the machine is a small one.
. "$(dirname "$0")/../../e2e/lib.sh"
needs jq
sed -n '/^## By hand/,/^A program/p' "$NTK_SOURCE_DIR/README.md" | sed -n '/^```$/,/^```$/p' | grep -v -e '^```' -e '^\./dev ' >lines
[ "$(wc -l <lines)" -ge 14 ] || fail "README.md has $(wc -l <lines) lines"
count=0
while IFS= read -r line; do
    command=$(sed -E 's/ +# .*//; s/^neuron-top$/neuron-top --once/; s/--(prometheus :|http )[0-9]+/--once --\1127.0.0.1:0/; s/:127/127/; s/^(neuron-profile view -n [^ ]+ -s [^ ]+)$/\1 --output-format summary-text/; s/diag -r 3/diag -r 1/; s/0-3 --rate 50/0 --rate 50/' <<<"$line")
    code=0
    if [[ $command = *\& ]]; then
        eval "$command" >bench.log 2>&1 </dev/null
        pids+=($!)
        loaded() { neuron-top --json --once | jq -r 'if any(.models[]; .executions > 0) then "yes" else "no" end'; }
        wait_for loaded
    else
        timeout 60 bash -c "$command" >out 2>err </dev/null || code=$?
        [ $code = 0 ] || fail "$command: exit code $code: $(tail -5 out err)"
    fi
    count=$((count + 1))
done <lines
echo "$count lines"
