# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2020,SC2154
# neuron-slurm-common - functions of prolog, epilog and task prolog, which source it and set $script to their names.
# POSIX sh.
#
# Settings, from the environment or /etc/default/neuron-slurm, which is read as shell:
#
#   NEURON_SLURM_FOLDER        the job-mapping folder; default /run/neuron/jobs
#   NEURON_SLURM_UNIT          what an index of a GRES is: device (default) or core (logical, of the machine)
#   NEURON_SLURM_DEVICES       devices of an index, where gres.conf makes one GRES of several (MultipleFiles); default 1
#   NEURON_SLURM_CORES         logical cores of a device, for cores; default what neuron-ls says
#   NEURON_SLURM_WITHOUT_GRES  what a job holds that asked for none: none (default) or all
#   NEURON_SLURM_NAMES         off (default), or squeue: the prolog asks slurmctld for the name of the job
#   NEURON_SLURM_HEALTH        off (default), or drain: a node with an unhealthy device takes no further job
#
# A mapping that cannot be written is reported on stderr, which slurmd logs, and stops no job. The
# exit code is 1 only for a node that is to be drained: slurmd does that when Prolog or Epilog
# fail.

settings=/etc/default/neuron-slurm
# shellcheck source=/dev/null
[ ! -r "$settings" ] || . "$settings"
folder=${NEURON_SLURM_FOLDER:-/run/neuron/jobs}
job=${SLURM_JOB_ID:-${SLURM_JOBID:-}}

say() { printf '%s: %s\n' "$script" "$*" >&2; }

# Characters that would break a line are removed, and long values truncated.
one_line() { printf '%s' "$1" | tr -d '\000-\037\177' | cut -c1-127; }

# "0-2,5" to one number per line; invalid parts are omitted. At most 1024.
expand() {
    printf '%s\n' "$1" | tr ', ' '\n\n' | awk -F- '
        /^[0-9]+$/ { print $1 + 0; next }
        /^[0-9]+-[0-9]+$/ { for (i = $1 + 0; i <= $2 + 0 && i < $1 + 1024; i++) print i }' | head -n 1024
}

# The devices of a list of indices.
devices() { expand "$1" | awk -v devices="${NEURON_SLURM_DEVICES:-1}" '{ for (i = 0; i < devices; i++) print $1 * devices + i }'; }

cores_of_a_device() {
    if [ -n "${NEURON_SLURM_CORES:-}" ]; then
        printf '%s\n' "$NEURON_SLURM_CORES"
    else
        neuron-ls --json-output 2>/dev/null | sed -n 's/.*"nc_count": *\([0-9]*\).*/\1/p' | head -n 1
    fi
}

# An awk program over one number per line, with the cores of a device as `cores`.
with_cores() {
    cores=$(cores_of_a_device)
    case $cores in
    '' | *[!0-9]* | 0)
        say "job $job: unknown number of cores per device: set NEURON_SLURM_CORES in $settings"
        return
        ;;
    esac
    awk -v cores="$cores" "$1"
}

# Global numbers of logical cores to file names, DEVICE.CORE.
files_of_cores() { with_cores '{ printf "%d.%d\n", $1 / cores, $1 % cores }'; }

# The indices of the GRES that Slurm allocated to the job.
indices_of_job() {
    # gpu:trn1:2(IDX:0-1), as scontrol -d show job prints it and sites pass it on.
    case ${SLURM_JOB_GPUS:-}/${SLURM_JOB_GRES:-} in
    /*'(IDX:'*) printf '%s' "$SLURM_JOB_GRES" | sed 's/.*(IDX:\([0-9,-]*\)).*/\1/' ;;
    *) printf '%s' "${SLURM_JOB_GPUS:-}" ;;
    esac
}

# The global numbers of the logical cores of these indices.
cores_of_job() {
    case ${NEURON_SLURM_UNIT:-device} in
    core) expand "$(indices_of_job)" ;;
    *) devices "$(indices_of_job)" | with_cores '{ for (i = 0; i < cores; i++) print $1 * cores + i }' ;;
    esac
}

# The file names of the job: the resources that Slurm allocated to it, as far as known.
files_of_job() {
    indices=$(indices_of_job)
    if [ -n "$indices" ]; then
        case ${NEURON_SLURM_UNIT:-device} in
        core) expand "$indices" | files_of_cores ;;
        *) devices "$indices" ;;
        esac
    elif [ -n "${NEURON_RT_VISIBLE_CORES:-}" ]; then
        expand "$NEURON_RT_VISIBLE_CORES" | files_of_cores
    elif [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
        devices "$CUDA_VISIBLE_DEVICES"
    elif [ "${NEURON_SLURM_WITHOUT_GRES:-none}" = all ]; then
        for device in /dev/neuron[0-9]*; do
            [ ! -e "$device" ] || printf '%s\n' "${device##*neuron}"
        done
    fi
}

# One process at a time: jobs that share a device write the same file. Slow work is done before, and
# a held lock delays a job for half a minute at most.
lock() {
    command -v flock >/dev/null || return 0
    (: >"$folder/.lock") 2>/dev/null || return 0 # an exec that fails would end the script
    exec 9>"$folder/.lock"
    flock -w 30 9 || say "job $job: $folder is locked by another process: continuing without the lock"
}
unlock() { exec 9>&-; }

# without_job FILE: the lines of FILE about other jobs.
without_job() { [ ! -f "$1" ] || awk -v job="$job" '!/=/ { mine = ($0 "" == job "") } !mine' "$1"; }

# new FILE: the temporary file that becomes FILE. The agent ignores it: its name does not start with
# an index.
new() { printf '%s/.new.%s.%s' "$folder" "$job" "$1"; }

# replace FILE: renames the temporary file, so that no reader sees half of it.
replace() {
    if mv -f "$(new "$1")" "$folder/$1"; then return 0; fi
    rm -f "$(new "$1")"
    return 1
}

# Returns 1 if the node is to be drained.
check_health() {
    [ "${NEURON_SLURM_HEALTH:-off}" = drain ] || return 0
    # Ignores reasons that only processes report: a job must not drain the node.
    verdict=$(timeout 30 neuron-monitor health --npd --for 500ms 2>/dev/null)
    code=$?
    [ $code -le 2 ] || say "device health is unknown: neuron-monitor health exited with $code"
    [ $code = 1 ] || return 0 # unknown is not a reason to lose a node
    reason=$(printf '%s\n' "$verdict" | awk -F ': ' 'sub(/^device /, "neuron", $1) { print $1 " is unhealthy: " $2; exit }')
    say "${reason:-a device is unhealthy}: draining the node"
    if [ -n "${SLURMD_NODENAME:-}" ] && command -v scontrol >/dev/null; then
        scontrol update "NodeName=$SLURMD_NODENAME" State=DRAIN "Reason=${reason:-a Neuron device is unhealthy}" >&2 || true
    fi
    return 1
}
