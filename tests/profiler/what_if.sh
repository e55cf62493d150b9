#!/bin/bash
# what_if - estimates of the effect of a change, compared with captures of software cores that have exactly this
# change, also of several executions and of one of them; changes that a capture does not allow, wrong usage, captures without all of their records, and captures of
# real machines.
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
# Captures have whole ns; the estimate must be within this share of the device time.
tolerance=0.001
capture() { # NEFF OUTPUT FAULT
    NEURON_SOFT_FAULT=$3 neuron-profile capture -n "$1" -s "$2" >/dev/null 2>err || complain "the capture to $2 failed"
}
several() { # NEFF OUTPUT FAULT: three executions, with this fault
    rm -rf many
    NEURON_SOFT_FAULT=$3 neuron-profile inspect -o many --capture-device-profiles --device-profile-mode session -- \
        neuron-bench exec "$1" --count 3 >/dev/null 2>err || complain "the inspection to $2 failed"
    cp "$(find many -name '*_session_*.ntff')" "$2"
}
estimate() { # CAPTURE CHANGES [OPTION]...
    neuron-profile analyze -s "$1" -n e.neff --json --what-if "${@:2}" what-if 2>err | jq '."what-if".changes[0].total_ns'
}
measured() { # CAPTURE [OPTION]...
    neuron-profile analyze -s "$@" -n e.neff --json what-if >printed 2>err
    jq '."what-if".measured_ns' printed
    jq -e '."what-if".baseline | (.error_ratio | fabs) < '$tolerance' and (.dependencies_only_error_ratio | fabs) < '$tolerance \
        printed >/dev/null || complain "$1: the rules do not explain the whole execution"
    jq -e 'all(."what-if" | .baseline, .changes[]; ([.path_by_part_ns[]] | add) - .total_ns | fabs < 0.1)' printed >/dev/null ||
        complain "$1: the parts of the path do not add up"
}
near() { # WHAT ESTIMATE WANTED
    jq -en "($2 / $3 - 1 | fabs) < $tolerance" >/dev/null || complain "$1: expected $3 ns, found $2 ns"
}
for run in "mlp 1" "conv 1" "attention 1" "attention-slow 1" "attention 2"; do
    set -- $run
    neuron-packager example "$1" --lnc "$2" -o e.neff >/dev/null 2>err || complain "cannot create example $1"
    rm -rf machine
    mkdir -m 700 machine
    export NEURON_HOOKS_DIR=$scratch/machine NEURON_SOFT_INSTANCE=trn2.3xlarge NEURON_RT_VIRTUAL_CORE_SIZE=$2
    capture e.neff as_is.ntff ''
    capture e.neff slow_dma.ntff slow-hbm:every=1,factor=2
    capture e.neff slow_core.ntff slow-core:every=1,factor=2
    as_is=$(measured as_is.ntff)
    slow_dma=$(measured slow_dma.ntff)
    slow_core=$(measured slow_core.ntff)
    [ "$slow_dma" -gt "$((as_is + as_is / 10))" ] && [ "$slow_core" -gt "$((as_is + as_is / 10))" ] || complain "$run: nothing is slower"
    near "$run: dma=2" "$(estimate slow_dma.ntff dma=2)" "$as_is"
    near "$run: dma=0.5" "$(estimate as_is.ntff dma=0.5)" "$slow_dma"
    near "$run: engines=2" "$(estimate slow_core.ntff engines=2)" "$as_is"
    near "$run: engines=0.5" "$(estimate as_is.ntff engines=0.5)" "$slow_core"
    near "$run: from one to the other" "$(estimate slow_dma.ntff dma=2,engines=0.5)" "$slow_core"
    # The same of three executions together, and of the last one alone.
    [ "$run" = "mlp 1" ] || [ "$run" = "attention 2" ] || continue
    several e.neff three.ntff ''
    several e.neff three_slow.ntff slow-hbm:every=1,factor=2
    several e.neff last_slow.ntff slow-hbm:from=3,factor=2
    three=$(measured three.ntff)
    three_slow=$(measured three_slow.ntff)
    last_slow=$(measured last_slow.ntff)
    near "$run: three executions" "$three" "$((3 * as_is))"
    near "$run: the last one is slow" "$last_slow" "$((2 * as_is + slow_dma))"
    near "$run: three, dma=2" "$(estimate three_slow.ntff dma=2)" "$three"
    near "$run: three, dma=0.5" "$(estimate three.ntff dma=0.5)" "$three_slow"
    near "$run: the first one" "$(measured last_slow.ntff --execution 1)" "$as_is"
    near "$run: the last one" "$(measured last_slow.ntff --execution 3)" "$slow_dma"
    near "$run: the last one, dma=2" "$(estimate last_slow.ntff dma=2 --execution 3)" "$as_is"
    near "$run: the second one, dma=0.5" "$(estimate last_slow.ntff dma=0.5 --execution 2)" "$slow_dma"
done

# ---- exactly one change of the program: no transposes, or no wait for a semaphore ----
edited() { # EXAMPLE NAME SED-SCRIPT: EXAMPLE.neff with this change, and its capture
    neuron-packager disasm "$1.neff" 2>err | sed "$3" >"$2.txt"
    neuron-packager asm --into "$1.neff" -o "$2.neff" "$2.txt" >/dev/null 2>err || complain "asm of $2 failed"
    neuron-packager disasm "$2.neff" 2>err | cmp -s - <(neuron-packager disasm "$1.neff" 2>/dev/null) && complain "$2: the program did not change"
    # The result of a program that does not wait is wrong on purpose.
    neuron-profile capture -n "$2.neff" -s "$2.ntff" --ignore-exec-errors >/dev/null 2>err || complain "the capture to $2 failed"
}
length() { # NAME: of its capture
    neuron-profile analyze -s "$1.ntff" -n "$1.neff" --json what-if 2>err | jq '."what-if".measured_ns'
}
changed() { # EXAMPLE NAME SED-SCRIPT CHANGES: the estimate from the original capture, and the capture with the change
    edited "$1" "$2" "$3"
    neuron-profile analyze -s "$1.ntff" -n "$1.neff" --json --what-if "$4" what-if >printed 2>err
    near "$1, $4" "$(jq '."what-if".changes[0].total_ns' printed)" "$(length "$2")"
}
export NEURON_RT_VIRTUAL_CORE_SIZE=1
for kind in attention attention-slow; do
    neuron-packager example $kind --lnc 1 -s 512 -o $kind.neff >/dev/null 2>err || complain "cannot create example $kind"
    capture $kind.neff $kind.ntff ''
    # One cycle each instead of 128.
    changed $kind $kind-straight 's/nc_transpose .*\( wait=[^ ]*\).*\( signal=[^ ]*\).*/nop imm0=1\1\2/
        s/nc_transpose .*\( wait=[^ ]*\).*/nop imm0=1\1/
        s/nc_transpose .*\( signal=[^ ]*\).*/nop imm0=1\1/
        s/nc_transpose .*/nop imm0=1/' transposes
    for semaphore in 10 11 13; do
        changed $kind $kind-$semaphore "s/ wait=s$semaphore>=[^ ]*//" wait:$semaphore
    done
done
export NEURON_RT_VIRTUAL_CORE_SIZE=2
# Both compute the same; one sends the scores through device memory. The advice to keep them on the core promises at
# most the gain of the other one, and its upper limit is not lower than that gain.
gain=$(($(length attention-slow) - $(length attention)))
ends 0 neuron-profile analyze -s attention-slow.ntff -n attention-slow.neff --json advice
jq -e '.advice[] | select(.id == "spill") | .estimated_gain_ns > '$gain' * 0.8 and .estimated_gain_ns <= '$gain' and
    .largest_gain_ns >= '$gain printed >/dev/null || complain "the gain of keeping the scores on the core is $gain ns"

# ---- a barrier of two cores: the length with the change is within the bounds, also of one core alone ----
neuron-packager example memcpy --lnc 2 -o memcpy.neff >/dev/null 2>err
neuron-packager disasm memcpy.neff 2>err | awk '{ print } /^\.engine Activation sg0/ { getline; print
    if (/sg01/ || core++) print "    nop imm0=12000"
    print "    core_barrier imm0=1" }' >meet.txt
neuron-packager asm --into memcpy.neff -o meet.neff meet.txt >/dev/null 2>err || complain "asm of a barrier failed"
capture meet.neff meet.ntff ''
capture meet.neff meet_slow.ntff slow-core:every=1,factor=2
cp meet.neff meet_slow.neff
within() { # CAPTURE CHANGES WANTED [OPTION]...
    neuron-profile analyze -s "$1" -n meet.neff --json --what-if "$2" "${@:4}" what-if >printed 2>err
    jq -e --argjson wanted "$3" '."what-if" | .measured_ns as $was | .meetings >= 1 and (.changes[0] |
        .least_gain_ns < .largest_gain_ns and ($was - .largest_gain_ns) <= $wanted + 1 and $wanted <= ($was - .least_gain_ns) + 1)' printed >/dev/null ||
        complain "$*: the bounds do not contain the length"
}
for option in '' '--core 0' '--core 1'; do
    within meet_slow.ntff engines=2 "$(length meet)" $option
done

# ---- text, and changes that a capture does not allow ----
ends 0 neuron-profile analyze -s as_is.ntff -n e.neff --what-if dma=2 --what-if vector what-if
grep -q '^The execution took [0-9.]* us. Estimated from dependencies: [0-9.]* us (+0.0%); from dependencies alone: ' printed ||
    complain "the baseline or its error is missing"
grep -Eq '^dma=2,vector +[0-9.]+ +[0-9.]+ +[0-9.]+% ' printed || complain "the row of the change is missing"
grep -q '^THEN ON THE CRITICAL PATH ' printed && grep -q '^DMA queue q' printed || complain "the new critical path is missing"
says printed 'The estimate keeps the order of instructions and transfers on each engine'
for change in line:nosuch.py:3 wait:qNoSuch wait:255; do
    ends 1 neuron-profile analyze -s as_is.ntff -n e.neff --what-if $change what-if
    [ "$(wc -l <err)" = 1 ] && [ ! -s printed ] || complain "$change: expected one message"
    says err "--what-if $change: no instruction of the capture "
done
for change in dma=0 dma=-2 dma=nan dma=inf dma=1e9 dma=2x bogus=2 wait:20=2 line:a.py link=2 ''; do
    ends 2 neuron-profile analyze -s as_is.ntff -n e.neff --what-if "$change" what-if
    says err "--what-if: '$change': expected dma, "
done
ends 2 neuron-profile analyze -s as_is.ntff --what-if dma=2 idle
says err "--what-if requires the 'what-if' analysis"

# ---- a truncated capture: every analysis of missing records reports them ----
grep -q '^Partial: ' printed && complain "a complete capture counts as partial"
neuron-packager example mlp -o e.neff >/dev/null 2>err
capture e.neff whole.ntff ''
size=$(stat -c %s whole.ntff)
found=
for left in 31 28 25 22 19 16; do # of 32 parts
    head -c $((size * left / 32)) whole.ntff >cut.ntff
    ends 1 neuron-profile analyze -s cut.ntff -n e.neff --json # with the part that could be read
    jq -e '.incomplete | length > 0' printed >/dev/null && jq -e '."what-if" != null' printed >/dev/null || continue
    found=$found$left
    jq -e '."what-if".is_partial' printed >/dev/null || complain "what-if of a truncated capture is not partial"
    jq -r '.incomplete[]' printed >lacks
    ends 1 neuron-profile analyze -s cut.ntff -n e.neff what-if critical-path
    grep '^== \|^Partial' printed | grep -A1 'What if' | grep -F "Partial: " >/dev/null || complain "the text of what-if does not say so"
    if grep -q 'instruction\|semaphore' lacks; then
        grep '^== \|^Partial' printed | grep -A1 'Critical path' | grep -F "Partial: " >/dev/null || complain "the critical path does not say so"
    fi
done
[ -n "$found" ] || complain "no capture could be truncated"
ends 1 neuron-profile diff -n e.neff cut.ntff whole.ntff
grep -q '^BEFORE is incomplete: .*records are truncated' printed || complain "diff does not say that one side is incomplete"
grep -q '^AFTER is incomplete' printed && complain "diff counts a complete capture as incomplete"
ends 1 neuron-profile diff -n e.neff --json whole.ntff cut.ntff
jq -e . printed >/dev/null || complain "diff --json of an incomplete capture is not JSON"
says err "AFTER is incomplete: "

# ---- captures of real machines, if there are any: how much of the execution the rules explain ----
explains() { # CAPTURE NEFF LEAST-ERROR GREATEST-ERROR
    ends 0 neuron-profile analyze -s "$NTK_VENDOR_CAPTURES/$1" -n "$NTK_VENDOR_CAPTURES/$2" --json what-if
    jq -e '."what-if" | .baseline.error_ratio == 0 and (.baseline.dependencies_only_error_ratio | . >= '"$3"' and . <= '"$4"') and
        all(.changes[]; .gain_ns >= 0)' printed >/dev/null || complain "$1: unexpected error of the dependencies"
}
if [ -n "${NTK_VENDOR_CAPTURES:-}" ]; then
    explains v4_stream_256k_fd1k.ntff v4_stream_256k_fd1k.neff -0.02 0
    explains v5_transpose_1024.ntff v5_transpose_1024.neff -0.09 -0.06
    explains v6_attn_tkg.ntff v6_attn_tkg.neff -0.11 -0.08
    explains v6_baseline_bf16_s512.ntff v6_baseline_bf16_s512.neff -0.13 -0.1
    explains v6_fused_fp32_s512.ntff v6_fused_fp32_s512.neff -0.13 -0.1
    ends 0 neuron-profile lines -s "$NTK_VENDOR_CAPTURES/v6_attn_tkg.ntff" -n "$NTK_VENDOR_CAPTURES/v6_attn_tkg.neff"
    head -1 printed | grep '^Partial: .* semaphore changes were not recorded; missing changes with a known origin are reconstructed' >/dev/null || complain "lines of a capture with dropped records do not say so"
    explains inspect_trn2_rt230/profile_exec_2.ntff inspect_trn2_rt230/neff_171450338541704.neff -0.52 -0.49
fi
