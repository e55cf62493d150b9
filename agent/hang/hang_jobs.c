/* SPDX-License-Identifier: MIT */
#include "agent/hang/hang_jobs.h"

#include "shared/base/str.h"

struct known_job {
    uint64_t key; /* key of the communicator */
    char id[128];
    bool is_seen; /* true if it occurs in this period */
};

void ntk_hang_jobs_init(struct ntk_hang_jobs *jobs)
{
    ntk_vec_init(&jobs->known, sizeof(struct known_job));
}

void ntk_hang_jobs_fini(struct ntk_hang_jobs *jobs)
{
    ntk_vec_fini(&jobs->known);
}

static struct known_job *find(const struct ntk_hang_jobs *jobs, uint64_t key)
{
    ntk_vec_each(struct known_job, known, &jobs->known) {
        if (known->key == key) {
            return known;
        }
    }
    return NULL;
}

const char *ntk_hang_jobs_get(const struct ntk_hang_jobs *jobs, uint64_t key)
{
    const struct known_job *known = find(jobs, key);

    return known ? known->id : "";
}

static bool holds(const struct ntk_job *job, const struct ntk_runtime_sample *runtime, uint32_t lnc)
{
    for (size_t i = 0; i < job->core_count; i++) {
        for (size_t k = 0; k < runtime->core_count; k++) {
            if (runtime->cores[k].core / lnc == job->cores[i]) {
                return true;
            }
        }
    }
    return false;
}

static bool is_member(const struct ntk_runtime_sample *runtime, uint64_t key)
{
    for (size_t i = 0; i < runtime->rank_count && !runtime->ended; i++) {
        if (runtime->ranks[i].key == key) {
            return true;
        }
    }
    return false;
}

/* Returns the job that holds a core of a running rank; NULL if none is known. */
static const struct ntk_job *job_of(const struct ntk_snapshot *snapshot, uint64_t key)
{
    uint32_t lnc = snapshot->hardware.lnc ? snapshot->hardware.lnc : 1;

    for (size_t r = 0; r < snapshot->runtime_count && snapshot->jobs.count > 0; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        for (size_t i = 0; i < snapshot->jobs.count && is_member(runtime, key); i++) {
            if (holds(&snapshot->jobs.rows[i], runtime, lnc)) {
                return &snapshot->jobs.rows[i];
            }
        }
    }
    return NULL;
}

void ntk_hang_jobs_look(struct ntk_hang_jobs *jobs, const struct ntk_ranks *ranks,
                        const struct ntk_snapshot *snapshot)
{
    ntk_vec_each(struct known_job, known, &jobs->known) {
        known->is_seen = false;
    }
    ntk_vec_each(const struct ntk_comm_verdict, verdict, &ranks->verdicts) {
        uint64_t key = verdict->first->sample->key;
        const struct ntk_job *job = job_of(snapshot, key);
        struct known_job *known = find(jobs, key);

        if (job && !known) {
            known = ntk_vec_add(&jobs->known);
        }
        if (known) {
            known->key = key;
            known->is_seen = true;
        }
        if (known && job) {
            ntk_str_copy(known->id, sizeof known->id, job->id);
        }
    }
    for (size_t i = jobs->known.count; i-- > 0;) {
        const struct known_job *known = ntk_vec_at(&jobs->known, i);

        if (!known->is_seen) {
            ntk_vec_remove(&jobs->known, i);
        }
    }
}
