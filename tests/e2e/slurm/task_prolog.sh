#!/bin/bash
# task_prolog - which cores the task prolog of Slurm assigns to a task, and its message if they are not contiguous.
# Method: the script with the variables that slurmd sets; devices have two cores.
. "$(dirname "$0")/../lib.sh"
prolog=$NTK_SOURCE_DIR/agent/slurm/neuron-slurm-task-prolog
unset "${!SLURM@}" NEURON_RT_VISIBLE_CORES CUDA_VISIBLE_DEVICES

# tells CODE CORES SENTENCE VARIABLE=VALUE...: in a step, unless a variable is set differently.
tells() {
    local want=$1 cores=$2 sentence=$3 code=0
    shift 3
    env NEURON_SLURM_CORES=2 SLURM_JOB_ID=7 SLURM_STEP_ID=0 "$@" sh "$prolog" >out || code=$?
    [ $code = "$want" ] || fail "$*: exited with $code"
    [ "$(sed -n 's/^export NEURON_RT_VISIBLE_CORES=//p' out)" = "$cores" ] || fail "$*: unexpected cores $(cat out), not $cores"
    [ "$(sed -n 's/^print neuron-slurm-task-prolog: //p' out)" = "$sentence" ] || fail "$*: unexpected output"
}
gap() { printf 'cores %s are not contiguous, which the Neuron runtime requires: use srun with --ntasks-per-node=%s, or ask for whole nodes with --exclusive' "$1" "$2"; }

tells 0 0,1,2,3 '' SLURM_STEP_GPUS=0,1
tells 0 0,1,2,3 '' SLURM_JOB_GPUS=1,0
tells 0 '' '' SLURM_STEP_GPUS=
tells 0 5 '' SLURM_STEP_GPUS=2 SLURM_STEP_TASKS_PER_NODE='2(x3)' SLURM_LOCALID=1
tells 0 6,7 '' SLURM_JOB_GPUS=3 SLURM_LOCALID=1 SLURM_STEP_TASKS_PER_NODE=3 # cannot be divided evenly
tells 0 6,7 '' SLURM_JOB_GPUS=3 SLURM_LOCALID=1 SLURM_STEP_TASKS_PER_NODE=2,3
tells 0 '' '' SLURM_JOB_GPUS=3 NEURON_RT_VISIBLE_CORES=0
tells 0 '' '' SLURM_LOCALID=0
# Rejected, with a remedy in the message: every remedy that it names works.
tells 1 0,1,4,5 "$(gap 0,1,4,5 2)" SLURM_STEP_GPUS=0,2
tells 0 4,5 '' SLURM_STEP_GPUS=0,2 SLURM_STEP_TASKS_PER_NODE=2 SLURM_LOCALID=1
tells 1 0,1,4,5,6,7 "$(gap 0,1,4,5,6,7 3)" SLURM_STEP_GPUS=0,2-3
tells 0 6,7 '' SLURM_STEP_GPUS=0,2-3 SLURM_STEP_TASKS_PER_NODE=3 SLURM_LOCALID=2
tells 1 0,1,4 "$(gap 0,1,4 3)" SLURM_STEP_GPUS=0,1,4 NEURON_SLURM_UNIT=core
tells 1 0,1,3 "$(gap 0,1,3 3)" SLURM_STEP_GPUS=0,1,3,4,6,7 NEURON_SLURM_UNIT=core SLURM_STEP_TASKS_PER_NODE=2 SLURM_LOCALID=0
# A batch script gets a message and continues; its steps have separate cores.
tells 0 0,1,4,5 "$(gap 0,1,4,5 2)" SLURM_JOB_GPUS=0,2 SLURM_STEP_ID=
tells 0 0,1 '' SLURM_JOB_GPUS=0,2 SLURM_STEP_GPUS=0 NEURON_RT_VISIBLE_CORES=0,1,4,5 NEURON_SLURM_TASK_CORES=0,1,4,5
tells 0 '' '' SLURM_STEP_GPUS=0,2 NEURON_RT_VISIBLE_CORES=4-5 NEURON_SLURM_TASK_CORES=0,1,4,5
# Devices that Slurm has bound to the task belong to the task alone.
tells 0 2,3 '' SLURM_STEP_GPUS=1 SLURM_STEP_TASKS_PER_NODE=2 SLURM_LOCALID=1 SLURMD_TRES_BIND=gpu:per_task:1
tells 0 2,3 '' SLURM_STEP_GPUS=0,1 SLURM_STEP_TASKS_PER_NODE=2 SLURM_LOCALID=1 SLURMD_TRES_BIND=gpu:none
# Blocks of devices, including in the job-mapping folder.
tells 0 8,9,10,11,12,13,14,15 '' SLURM_STEP_GPUS=1 NEURON_SLURM_DEVICES=4
NEURON_SLURM_DEVICES=4 NEURON_SLURM_FOLDER=$scratch/jobs SLURM_JOB_ID=7 SLURM_JOB_GPUS=1 sh "${prolog/task-/}"
[ "$(ls jobs | paste -sd' ')" = "4 5 6 7" ] || fail "unexpected devices of a block: $(ls jobs)"
