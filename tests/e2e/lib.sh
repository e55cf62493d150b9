# lib.sh - what the end-to-end scripts share; sourced first: a scratch folder as working folder, with a
# hooks folder of its own and a small software machine, both gone at the end with every process in pids.
set -euo pipefail
export PATH=$NTK_BIN_DIR:$PATH
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-test-XXXXXX")
export NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn1.2xlarge
mkdir -m 700 "$NEURON_HOOKS_DIR"
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"

# needs PROGRAM...: skips the test where one is missing.
needs() {
    local program
    for program in "$@"; do command -v "$program" >/dev/null || exit 77; done
}

fail() {
    echo "$(basename "$0" .sh): $*" >&2
    exit 1
}

# Polls a command until it prints yes, at most 90 s.
wait_for() {
    local end=$((SECONDS + 90))
    until [ "$("$@" 2>/dev/null || true)" = yes ]; do
        [ $SECONDS -lt $end ] || fail "waited in vain for: $*"
        sleep 0.05
    done
}

# The executions that completed, summed over files of JSON lines.
completed_in_reports() {
    jq -s '[.[].neuron_runtime_data[].report.execution_stats.execution_summary.completed] | add // 0' "$@"
}

# valid_reports FILE...: each line is what the schema of reports says; not looked at where its validator is missing.
valid_reports() {
    local code=0
    python3 "$NTK_SOURCE_DIR/tests/support/valid_reports.py" "$NTK_SOURCE_DIR/shared/report/report.schema.json" "$@" >schema.out ||
        code=$?
    [ $code = 0 ] || [ $code = 77 ] || fail "$(head -5 schema.out)"
}
