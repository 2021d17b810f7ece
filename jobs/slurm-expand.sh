#!/usr/bin/env bash
# `sira expand` as a Slurm array, a shard a task:
#
#     sbatch --array=1-8%4 --gpus=1 --time=12:00:00 jobs/slurm-expand.sh job.toml runs/store [OPTION OF sira expand ...]
#
# The folder must be on a file system that all nodes share. A task that is submitted again goes on with its shard, and
# does nothing where that is finished: `sbatch --array=3,7 ...` redoes what failed. See jobs/README.md.
#
# Environment: SIRA_SHARDS, the number of shards (that of the store, else of the array); SIRA, the command (sira);
# SIRA_TRIES, how often one run of a task starts it where it died or the machine lacked something (3);
# SIRA_MAX_REQUEUES, how often a task goes on after its time limit (100).
#SBATCH --job-name=sira-expand
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A_%a.log
#SBATCH --signal=B:USR1@120
set -uo pipefail

say() { echo "slurm-expand: $*" >&2; }

if (($# < 2)); then
    say "usage: sbatch --array=1-N jobs/slurm-expand.sh TOML DIR [OPTION ...]"
    exit 2
fi
config=$1 out=$2
shift 2

shard=${SLURM_ARRAY_TASK_ID:-}
if [[ ! $shard =~ ^[1-9][0-9]*$ ]]; then
    say "task '${shard}': submit it as an array that counts from 1: sbatch --array=1-8 ..."
    exit 2
fi
# The total is that of the first array, also where a part of it is submitted again.
shards=${SIRA_SHARDS:-$(sed -n 's/^ "shards": \([0-9]*\),\{0,1\}$/\1/p' "$out/job.json" 2>/dev/null)}
if [[ -z $shards && ${SLURM_ARRAY_TASK_MIN:-} == 1 && ${SLURM_ARRAY_TASK_MAX:-} == "${SLURM_ARRAY_TASK_COUNT:-none}" ]]; then
    shards=$SLURM_ARRAY_TASK_COUNT
fi
if [[ -z $shards ]]; then
    say "$out is a new store and the array is no whole one (1-N): say by SIRA_SHARDS how many shards there are"
    exit 2
fi

child='' again=''
stop() { [[ -z $child ]] || kill -TERM "$child" 2>/dev/null; }
trap 'again=time; stop' USR1 # the time limit is near (--signal)
trap 'again=never; stop' TERM # scancel, or preemption, after which Slurm itself queues the task again

status=1
for ((try = 1; try <= ${SIRA_TRIES:-3}; try++)); do
    [[ -z $again ]] || break
    say "shard $shard/$shards, try $try, restart ${SLURM_RESTART_COUNT:-0}, on $(hostname)"
    ${SIRA:-sira} expand "$config" --out "$out" --shard "$shard/$shards" --quiet "$@" &
    child=$!
    wait "$child"
    status=$?
    while ((status > 128)) && kill -0 "$child" 2>/dev/null; do # a trapped signal ended `wait` early
        wait "$child"
        status=$?
    done
    child=''
    # 0 done; 3 done, with documents that failed or wait; 2 wrong input, which another try would not mend.
    case $status in 0 | 2 | 3) break ;; esac
    say "sira expand ended with status $status"
done

if [[ $again == time && $status != 0 && $status != 2 && $status != 3 ]]; then
    if ((${SLURM_RESTART_COUNT:-0} < ${SIRA_MAX_REQUEUES:-100})); then
        say "the time limit is near: the task is queued again"
        scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && sleep 60 # Slurm ends this script meanwhile
    fi
fi
if [[ $status == 3 ]]; then
    say "some documents failed or wait: sira status $out"
    exit 0
fi
exit "$status"
