#!/bin/bash
# jobs - prolog and epilog as Slurm calls them, with various variables, and how the agent reports the folder that they
# fill: reports and metrics, also through a pipe; jobs that come and go; and foreign files that are not jobs.
. "$(dirname "$0")/../lib.sh"
needs jq curl flock
scripts=$NTK_SOURCE_DIR/agent/slurm
export NEURON_SLURM_FOLDER=$scratch/jobs
unset "${!SLURM_@}" NEURON_RT_VISIBLE_CORES CUDA_VISIBLE_DEVICES

prolog() { env "$@" sh "$scripts/neuron-slurm-prolog" 2>said || fail "prolog $*: unexpected exit code $?: $(cat said)"; }
epilog() { env "$@" sh "$scripts/neuron-slurm-epilog" 2>said || fail "epilog $*: unexpected exit code $?: $(cat said)"; }
# folder: prints every file of the folder with its lines joined.
folder() { (cd "$NEURON_SLURM_FOLDER" && for file in [0-9]*; do [ ! -f "$file" ] || echo "$file: $(paste -sd' ' "$file")"; done); }
is() { [ "$(folder)" = "$1" ] || fail "the folder is not '$1' but '$(folder)'"; }

# The variables of Slurm for a job, with whole and with shared devices.
prolog SLURM_JOB_ID=42 SLURM_JOB_USER=alice SLURM_JOB_NAME=$'pre\ntrain 7b' SLURM_JOB_PARTITION=trn SLURM_CLUSTER_NAME=c1 SLURM_JOB_GPUS=0-1,3
block='42 user=alice name=pretrain 7b partition=trn cluster=c1'
is "0: $block"$'\n'"1: $block"$'\n'"3: $block"
prolog SLURM_JOB_ID=43 SLURM_JOB_UID=0 SLURM_JOB_GPUS=3
is "0: $block"$'\n'"1: $block"$'\n'"3: $block 43 user=root"
prolog SLURM_JOB_ID=43 SLURM_JOB_UID=0 SLURM_JOB_GPUS=3 # again, as after a restart of slurmd
is "0: $block"$'\n'"1: $block"$'\n'"3: $block 43 user=root"
epilog SLURM_JOB_ID=4
epilog SLURM_JOB_ID=42
is "3: 43 user=root"
epilog SLURM_JOB_ID=43
is ""
# Cores: as a separate GRES, as the runtime numbers them, and an index in words.
prolog SLURM_JOB_ID=7 SLURM_JOB_GPUS=1,2 NEURON_SLURM_UNIT=core NEURON_SLURM_CORES=2
is $'0.1: 7\n1.0: 7'
epilog SLURM_JOB_ID=7
prolog SLURM_JOB_ID=7 NEURON_RT_VISIBLE_CORES=3-4 NEURON_SLURM_CORES=4
is $'0.3: 7\n1.0: 7'
epilog SLURM_JOB_ID=7
prolog SLURM_JOB_ID=7 'SLURM_JOB_GRES=gpu:trainium:2(IDX:4-5)'
is $'4: 7\n5: 7'
epilog SLURM_JOB_ID=7
# Jobs start even if a file is not a job, lists nothing, or cannot be written.
prolog SLURM_JOB_ID=7
prolog SLURM_JOB_GPUS=0
grep -q "this job is not recorded" said || fail "no message about a job without an id: $(cat said)"
prolog SLURM_JOB_ID=../../etc SLURM_JOB_GPUS=0
prolog SLURM_JOB_ID=7 SLURM_JOB_GPUS='x;1-;0-99999999,$(touch hacked)' NEURON_SLURM_CORES=2
[ "$(folder | wc -l)" -le 1024 ] && [ ! -e hacked ] || fail "an invalid list of devices created files: $(folder | head)"
epilog SLURM_JOB_ID=7
is ""
prolog SLURM_JOB_ID=7 SLURM_JOB_GPUS=0 NEURON_SLURM_FOLDER=/dev/null/jobs
grep -q "cannot create the folder .*: job .* is not recorded" said || fail "no message about a folder that cannot be created: $(cat said)"
# Many jobs at once on one device.
for id in $(seq 1 12); do SLURM_JOB_ID=$id SLURM_JOB_GPUS=0 sh "$scripts/neuron-slurm-prolog" & ends[id]=$!; done
wait "${ends[@]}"
[ "$(sort -n jobs/0 | paste -sd' ')" = "1 2 3 4 5 6 7 8 9 10 11 12" ] || fail "unexpected ids of concurrent jobs: $(cat jobs/0)"
for id in $(seq 1 12); do SLURM_JOB_ID=$id sh "$scripts/neuron-slurm-epilog" & ends[id]=$!; done
wait "${ends[@]}"
is ""

# While an epilog queries the devices, the others continue.
mkdir asks
printf '#!/bin/sh\nflock --nonblock "%s/.lock" true && echo free >"%s/lock"\n' "$NEURON_SLURM_FOLDER" "$PWD" >asks/neuron-monitor
chmod +x asks/neuron-monitor
epilog PATH="$PWD/asks:$PATH" SLURM_JOB_ID=1 NEURON_SLURM_HEALTH=drain
[ "$(cat lock)" = free ] || fail "an epilog locks the folder while it runs a query"

# If configured, a node with an unhealthy device accepts no further job; a healthy or unknown one does.
mkdir bin
printf '#!/bin/sh\necho "$@" >>"%s/scontrol.log"\n' "$PWD" >bin/scontrol
chmod +x bin/scontrol
drains() { # CODE: exit code of the prolog
    local code=0
    env PATH="$PWD/bin:$PATH" SLURM_JOB_ID=9 SLURM_JOB_GPUS=0 SLURMD_NODENAME=trn1 NEURON_SLURM_HEALTH="${2:-drain}" NEURON_HOOKS_DIR="$memory/drain" \
        sh "$scripts/neuron-slurm-prolog" 2>said || code=$?
    [ $code = "$1" ] || fail "unexpected exit code of a prolog with a health check: $code: $(cat said)"
}
mkdir -m 700 "$memory/drain"
drains 0 # the machine has no devices
NEURON_HOOKS_DIR=$memory/drain neuron-bench machine >/dev/null
drains 0
[ ! -e scontrol.log ] || fail "the node was drained without a reason"
neuron-packager example memcpy -o memcpy.neff
NEURON_HOOKS_DIR=$memory/drain NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec memcpy.neff --cores 0 --count 2 >/dev/null 2>&1 || true
epilog SLURM_JOB_ID=9
drains 0 off
drains 1
grep -q '^update NodeName=trn1 State=DRAIN Reason=neuron0 is unhealthy: hbm_uncorrectable' scontrol.log || fail "the node was not drained: $(cat scontrol.log said)"
epilog SLURM_JOB_ID=9

# The agent: no job holds anything; then a job holds the device; then another one holds one of its cores, too.
neuron-packager example memcpy -o memcpy.neff
neuron-bench exec memcpy.neff --cores 0-1 --count 100000 --rate 50 >/dev/null 2>&1 &
neuron-monitor --period 200ms --prometheus 127.0.0.1:0 --verbose 1 --db t.db --hpc-job-mapping-dir jobs >reports.jsonl 2>agent.log &
agent_is_up() { [ -s reports.jsonl ] && grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for agent_is_up
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
page() { curl -sf "http://127.0.0.1:$port/metrics"; }
works() { page | greps '^neuroncore_utilization_ratio.*neuroncore="1"' && echo yes; }
wait_for works
! page | greps '^neuron_.*job_info{' || fail "unexpected job series without a job: $(page | grep job_info)"

# series FAMILY: job, user and core or device of each series.
series() {
    page | grep "^$1{" | sed -E 's/^[^{]*\{//; s/availability_zone[^n]*//' |
        sed -E 's/.*job_id="([^"]*)".*neuron_device_index="([^"]*)"(,neuroncore="([^"]*)")?.*user="([^"]*)".* 1$/\1 \5 \2 \4/' | paste -sd';'
}
prolog SLURM_JOB_ID=42 SLURM_JOB_USER=alice SLURM_JOB_PARTITION=trn SLURM_CLUSTER_NAME=c1 SLURM_JOB_GPUS=0
one_job() { [ "$(series neuron_job_info)" = "42 alice 0 0;42 alice 0 1" ] && [ "$(series neuron_device_job_info)" = "42 alice 0 " ] && echo yes; }
wait_for one_job
page | grep '^neuron_job_info' | greps 'job_cluster="c1",job_id="42",neuron_device_index="0",neuroncore="1",partition="trn"' || fail "unexpected output: $(page | grep job_info)"
prolog SLURM_JOB_ID=43 SLURM_JOB_USER=bob NEURON_RT_VISIBLE_CORES=1
two_jobs() {
    [ "$(series neuron_job_info)" = "42 alice 0 0;42,43 alice,bob 0 1" ] &&
        [ "$(series neuron_device_job_info)" = "42,43 alice,bob 0 " ] && echo yes
}
wait_for two_jobs
! page | grep -vE '^#|^neuron_(device_)?job_info' | greps -E 'job_id|alice' || fail "another series has labels of jobs"
job_in_report() {
    tail -n 2 reports.jsonl | sed -n 1p | jq -e '.neuron_ext.job_mapping | .error == "" and (.jobs | map({job_id, user, partition, neuroncores, neuron_devices}) ==
        [{"job_id": "42", "user": "alice", "partition": "trn", "neuroncores": [0, 1], "neuron_devices": [0]},
         {"job_id": "43", "user": "bob", "partition": null, "neuroncores": [1], "neuron_devices": [0]}])' >/dev/null && echo yes
}
wait_for job_in_report
tail -n 2 reports.jsonl | sed -n 1p >line.json
mkfifo pipe
neuron-monitor-prometheus --port 0 --address 127.0.0.1 <pipe >pipe.out 2>pipe.err &
exec 7>pipe
agent_port=$port
behind_the_pipe() { # without new reports, a page becomes stale
    cat line.json >&7
    port=$(sed -n 's/.* port //p' pipe.out)
    two_jobs
}
wait_for behind_the_pipe
exec 7>&-
port=$agent_port

# Invalid files are reported once and hold nothing; the other job stays.
mkfifo jobs/0.0
ln -s /etc/hostname jobs/1
trouble_is_said() { grep -q "jobs/0.0: not a regular file (and 1 similar)" agent.log && echo yes; }
wait_for trouble_is_said
wait_for two_jobs
rm jobs/0.0 jobs/1
epilog SLURM_JOB_ID=42
epilog SLURM_JOB_ID=43
no_job() { page | greps -E '^neuron_(device_)?job_info\{' || echo yes; }
wait_for no_job
[ "$(grep -c 'neuron-monitor: jobs: ' agent.log)" -le 6 ] || fail "too many messages"

# The cores of jobs and their use, from the database, which the agent writes every second.
job() { neuron-monitor job "$@" --db t.db; }
ended() { job --json | jq -e 'map(.ended != null) == [true, true]' >/dev/null && echo yes; }
wait_for ended
job 42 --json --device-watts 500 >job.json
jq -e '.[0] | .job_id == "42" and .user == "alice" and .partition == "trn" and .cluster == "c1" and .runs == 1 and .cores == 2 and
    .core_hours > 0 and .watched_ratio > 0 and .used_core_hours > 0 and .executions > 0 and .errors == 0 and
    .memory_max_bytes > 0 and .mfu_ratio != null and (.began < .ended)' job.json >/dev/null || fail "unexpected figures of job 42: $(cat job.json)"
job 42 >job.txt
greps -E '^user +alice$' <job.txt || fail "unexpected figures of job 42: $(cat job.txt)"
[ "$(job --csv | wc -l)" = 3 ] && [ "$(job --csv --newest 1 2>said | wc -l)" = 2 ] || fail "unexpected jobs: $(job --csv)"
grep -q '1 earlier jobs omitted' said || fail "omitted jobs are not reported: $(cat said)"
job --by-user --json 2>said | jq -e 'map([.user, .jobs]) | sort == [["alice", 1], ["bob", 1]]' >/dev/null || fail "unexpected users: $(job --by-user)"
[ ! -s said ] || fail "unexpected users of all jobs: $(cat said)"
[ "$(job --user bob --json | jq -r '.[].job_id')" = 43 ] || fail "unexpected jobs of bob: $(job --user bob)"
refused() { # STATUS SENTENCE ARGUMENT...
    local status=0
    neuron-monitor job "${@:3}" >said 2>&1 || status=$?
    [ "$status" = "$1" ] && grep -qF -- "$2" said || fail "job ${*:3}: unexpected exit code $status: $(cat said)"
}
refused 1 't.db: no job 4711' 4711 --db t.db
refused 1 't.db: no job 42 of bob' 42 --user bob --db t.db
refused 1 't.db: no job of carol' --user carol --db t.db
refused 2 'no database: use --db FILE' 42
refused 2 "unexpected argument '43'" 42 43 --db t.db
refused 2 'are mutually exclusive' --db t.db --from 2026-01-01 --last 1h
refused 1 'nowhere.db' --db nowhere.db
