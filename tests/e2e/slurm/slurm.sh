#!/bin/bash
# slurm - a real slurmctld and slurmd with the configuration lines of agent/slurm: jobs that run, an array, a
# cancelled job, a killed one, and one of another user; what the agent reports about each during and after its run;
# and a drained node.
. "$(dirname "$0")/../lib.sh"
needs jq curl flock sbatch scontrol python3
# The folder of the packages: / (where /bin may come first in the path, and lead to /usr/bin) or a folder they were
# unpacked into.
tools=$(readlink -f "$(command -v sbatch)")
tools=${tools%/usr/bin/sbatch}
libraries=$(find "$tools/usr/lib" -path '*/slurm-wlm/auth_none.so' -printf '%h\n' 2>/dev/null | sort | head -1 || true)
[ -x "$tools/usr/sbin/slurmctld-wlm" ] && [ -x "$tools/usr/sbin/slurmd-wlm" ] && [ -s "$libraries/libslurmfull.so" ] ||
    skip "slurmctld and slurmd are missing"
export LD_LIBRARY_PATH=$libraries:$(dirname "$libraries")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SLURM_CONF=$scratch/slurm.conf NEURON_SOFT_INSTANCE=trn1.32xlarge
unset NEURON_RT_VISIBLE_CORES CUDA_VISIBLE_DEVICES
open_to_others "$scratch" # jobs of another user start here
cp -R "$NTK_SOURCE_DIR/agent/slurm" "$scratch/others"
chmod -R a+rX "$scratch/others/slurm"

# A node of the described machine: 16 devices. The daemons recognise one another's programs only by the names in an
# installation, not by the packages' names such as slurmctld-wlm.
mkdir sbin dev state spool jobs
for name in slurmctld slurmd slurmstepd; do ln -s "$tools/usr/sbin/$name-wlm" "sbin/$name"; done
for index in $(seq 0 15); do ln -s /dev/null "dev/neuron$index"; done # character devices that any user may create
read -r control_port node_port < <(free_ports 2)
user=$(id -un)
host=${HOSTNAME%%.*}
cat >slurm.conf <<END
ClusterName=sea
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$control_port
SlurmdPort=$node_port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/none
CredType=cred/none
PluginDir=$libraries
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=0
MessageTimeout=100
BatchStartTimeout=600
UnkillableStepTimeout=600
KillWait=2
$(sed -E "s,/usr/share/neuron-toolkit/slurm/neuron-slurm-,$scratch/,
    s,^NodeName=trn\[1-8\],NodeName=trn1 NodeHostname=$host NodeAddr=127.0.0.1,; s,trn\[1-8\],trn1,
    s,^SelectType=.*,&\nSelectTypeParameters=CR_Core," "$NTK_SOURCE_DIR/agent/slurm/slurm.conf")
END
# slurmd starts only with control groups, and no job here is in one: a container may have none, or those of the host.
mkdir cgroup
printf '%s\n' CgroupPlugin=cgroup/v1 "CgroupMountpoint=$scratch/cgroup" >cgroup.conf
sed -E "s,trn\[1-8\],trn1,; s,/dev/neuron,$scratch/dev/neuron," "$NTK_SOURCE_DIR/agent/slurm/gres.conf" >gres.conf
# Slurm gives its scripts its own environment, so the settings of /etc/default/neuron-slurm are read from a file
# here.
cat >settings <<END
export PATH=$PATH LD_LIBRARY_PATH=$LD_LIBRARY_PATH SLURM_CONF=$SLURM_CONF
export NEURON_HOOKS_DIR=$NEURON_HOOKS_DIR NEURON_SOFT_INSTANCE=$NEURON_SOFT_INSTANCE XDG_CONFIG_HOME=$XDG_CONFIG_HOME
export NEURON_SLURM_FOLDER=$scratch/jobs NEURON_SLURM_NAMES=squeue
END
for script in prolog epilog task-prolog; do
    printf '#!/bin/sh\n. "%s/settings"\nexec sh "%s/others/slurm/neuron-slurm-%s"\n' "$scratch" "$scratch" $script >$script
    chmod +x $script
done

at_failure() {
    squeue -o '%i %T %r' >queue.log
    scontrol show node >node.log
}
neuron-bench machine >/dev/null
sbin/slurmctld -c -D 2>>daemons.log &
sbin/slurmd -N trn1 -d "$scratch/sbin/slurmstepd" -D 2>>daemons.log &
node_is() { [ "$(sinfo --noheader --format=%T)" = "$1" ] && echo yes; }
wait_for node_is idle
neuron-packager example memcpy -o memcpy.neff
neuron-monitor --period 200ms --prometheus 127.0.0.1:0 --verbose 1 --db t.db --hpc-job-mapping-dir jobs >reports.jsonl 2>agent.log &
agent_is_up() { [ -s reports.jsonl ] && grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for agent_is_up
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
page() { curl -sf "http://127.0.0.1:$port/metrics"; }
# held: prints each device that a job holds, with its job and user, from the metrics page.
held() {
    page | sed -nE 's/^neuron_device_job_info\{.*job_id="([^"]*)".*neuron_device_index="([^"]*)".*user="([^"]*)".*/\2:\1:\3/p' | sort -n | paste -sd' '
}
holds() { [ "$(held)" = "$1" ] && echo yes; }
now() { date +%s.%N; }
others() { page | grep -vcE '^#|^neuron_(device_)?job_info'; } # series that do not belong to jobs

# A job waits for its start, runs its NEFF on its assigned cores, records them, and waits for its end.
cat >job <<'END'
#!/bin/bash
id=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}
touch "begun.$id"
until [ -e "go.$id" ]; do sleep 0.1; done
printf '%s\n' "$NEURON_RT_VISIBLE_CORES" >"cores.$SLURM_JOB_ID"
neuron-bench exec memcpy.neff --cores "$NEURON_RT_VISIBLE_CORES" --count "$1" --rate 200 --json >"bench.$SLURM_JOB_ID"
until [ -e "end.$id" ]; do sleep 0.1; done
END
submit() { sbatch --parsable --output=out.%j "$@"; }
is_done() { [ -s "bench.$1" ] && jq -e . "bench.$1" >/dev/null && echo yes; }

# Two jobs at the same time: one on the first two devices, one on the third.
before=$(now)
one=$(submit --job-name='pre train' --gres=gpu:2 job 300)
two=$(submit --job-name=eval --gres=gpu:trainium:1 job 90)
wait_for holds "0:$one:$user 1:$one:$user 2:$two:$user"
seen=$(now)
[ "$(paste -sd' ' jobs/1)" = "$one user=$user name=pre train partition=trn cluster=sea" ] || fail "unexpected file jobs/1: $(cat jobs/1)"
page | grep '^neuron_job_info{' | greps "job_cluster=\"sea\",job_id=\"$two\",job_name=\"eval\",neuron_device_index=\"2\",neuroncore=\"5\",partition=\"trn\"" ||
    fail "job $two has no core: $(page | grep job_info)"
touch "go.$one" "go.$two"
wait_for is_done "$one"
wait_for is_done "$two"
[ "$(cat "cores.$one") $(cat "cores.$two")" = "0,1,2,3 4,5" ] || fail "unexpected cores of the jobs: $(cat cores.*)"
ending=$(now)
touch "end.$one"
wait_for holds "2:$two:$user"
touch "end.$two"
wait_for holds ""
wait_for node_is idle
[ -z "$(ls jobs)" ] || fail "files of finished jobs: $(ls jobs)"

# The agent's count equals that of the job itself; its time is between what we measured inside and outside of the
# job.
agrees() { # ID EXECUTIONS
    neuron-monitor job "$1" --db t.db --json 2>said | jq -e --argjson count "$2" '.[0] | .executions == $count and .ended != null' >/dev/null && echo yes
}
wait_for agrees "$one" "$(jq .executions "bench.$one")"
wait_for agrees "$two" "$(jq .executions "bench.$two")"
after=$(now) # the agent has recorded their ends
neuron-monitor job "$one" --db t.db --json |
    jq -e --argjson inside "$(jq -n "$ending - $seen")" --argjson outside "$(jq -n "$after - $before")" '.[0] | .cores == 4 and
        .core_hours >= 4 * $inside / 3600 and .core_hours <= 4 * ($outside + 1) / 3600 and .errors == 0' >/dev/null ||
    fail "unexpected times of job $one (between $before, $seen, $ending and $after): $(neuron-monitor job "$one" --db t.db --json)"

# An array that uses the whole node, four devices per task, and a job that must wait until the array has ended.
series=$(others)
array=$(submit --array=0-3 --gres=gpu:4 job 40)
late=$(submit --gres=gpu:16 job 10)
array_holds() { [ "$(held | tr ' ' '\n' | cut -d: -f2 | sort -u | wc -l)" = 4 ] && [ "$(held | wc -w)" = 16 ] && echo yes; }
wait_for array_holds
[ "$(page | grep -c '^neuron_job_info{')" = 32 ] || fail "unexpected cores of an array: $(page | grep '^neuron_job_info{')"
[ "$(others)" = "$series" ] || fail "jobs change other series: $series, now $(others)"
tasks=$(held | tr ' ' '\n' | cut -d: -f2 | sort -u)
touch "go.$array" "end.$array" "go.$late"
late_is_alone() { [ "$(held | grep -o ":$late:" | wc -l)" = 16 ] && echo yes; }
wait_for late_is_alone
[ "$(for task in $tasks; do cat "cores.$task"; done | tr ',' '\n' | sort -n | paste -sd,)" = "$(seq -s, 0 31)" ] || fail "unexpected cores of the array: $(head cores.*)"

# Jobs that end early leave nothing behind.
wait_for is_done "$late"
scancel "$late"
wait_for holds ""
wait_for agrees "$late" 10
killed=$(submit --gres=gpu:1 job 10)
wait_for holds "0:$killed:$user"
has_begun() { [ -e "begun.$1" ] && echo yes; } # before that, no batch script exists to signal
wait_for has_begun "$killed"
scancel --batch --signal=KILL "$killed"
wait_for holds ""
wait_for node_is idle
wait_for agrees "$killed" 0 # it never got the order to start

# Tasks of a step share the cores of the job.
srun --quiet --ntasks=2 --gres=gpu:1 --output=task.%t sh -c 'echo $NEURON_RT_VISIBLE_CORES'
[ "$(cat task.0 task.1 | sort | paste -sd' ')" = "0 1" ] || fail "unexpected cores of tasks: $(cat task.*)"

# Another user's job.
if [ "$(id -u)" = 0 ]; then
    guest=$(submit --uid=nobody --chdir=/ --output=/dev/null --gres=gpu:3 --wrap='sleep 1000')
    wait_for holds "0:$guest:nobody 1:$guest:nobody 2:$guest:nobody"
    scancel "$guest"
    wait_for holds ""
    nobody_is_known() { neuron-monitor job --by-user --db t.db --json | jq -e 'map(select(.user == "nobody") | .jobs) == [1]' >/dev/null && echo yes; }
    wait_for nobody_is_known
fi

# A device breaks during a job: the node is drained if configured, accepts no further job, and shows the reason.
echo 'export NEURON_SLURM_HEALTH=drain' >>settings
srun --quiet --gres=gpu:1 true || fail "a healthy node accepts no job"
wait_for node_is idle
NEURON_SOFT_FAULT=hbm-ue:at=1 srun --quiet --gres=gpu:1 neuron-bench exec memcpy.neff --count 2 >broken 2>&1 || true
wait_for node_is drained
scontrol show node trn1 | greps 'Reason=neuron0 is unhealthy: hbm_uncorrectable' || fail "the node does not show the reason for its drain state"
next=$(submit --gres=gpu:1 job 1)
waits_for_the_node() { squeue --noheader --job="$next" --format='%T %r' | greps '^PENDING .*DRAINED' && echo yes; }
wait_for waits_for_the_node
