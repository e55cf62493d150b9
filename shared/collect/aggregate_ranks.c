/* SPDX-License-Identifier: MIT */
/* aggregate_ranks - communicators of processes: the position of each rank, and its counts. */
#include "shared/collect/aggregate_state.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"

#define NAME_BYTES 4200 /* the longest group name that a segment writes */
#define LOST_RANKS_MAX 1024
#define LOST_KEPT_NS (3600 * NTK_NS_PER_SECOND)

static bool is_of(const struct rank_state *state, const struct ntk_ring_comm *comm)
{
    return state->key == comm->key && state->rank == comm->rank &&
           state->join_timestamp_ns == comm->join_realtime_ns;
}

/* The owner of a segment can write any key into it. The snapshot's key is a one-way hash that also
 * includes the file's owner, so no user can write a key that is mistaken for another user's
 * communicator. */
static int owned_key(uint64_t key, uint32_t uid, uint64_t *out_key)
{
    const uint64_t words[2] = { key, uid };
    uint64_t digest[EVP_MAX_MD_SIZE / sizeof(uint64_t)];

    if (EVP_Digest(words, sizeof words, (void *)digest, NULL, EVP_sha256(), NULL) != 1) {
        return -ENOMEM;
    }
    *out_key = digest[0] != 0 ? digest[0] : 1;
    return 0;
}

/* The state of a rank, created at the first request; NULL if out of memory. */
static struct rank_state *state_of(struct runtime_state *runtime, const struct ntk_ring_comm *comm)
{
    uint64_t key;

    struct rank_state *state;

    ntk_vec_each(struct rank_state, known, &runtime->ranks) {
        if (is_of(known, comm)) {
            return known;
        }
    }
    if (owned_key(comm->key, runtime->process.uid, &key) < 0) {
        return NULL;
    }
    state = ntk_vec_add(&runtime->ranks);
    if (state) {
        state->key = comm->key;
        state->owned_key = key;
        state->join_timestamp_ns = comm->join_realtime_ns;
        state->rank = comm->rank;
    }
    return state;
}

static void take_count(struct ntk_count *out, uint64_t now, uint64_t *base)
{
    out->total = now;
    out->period = ntk_aggregate_difference(now, *base);
    *base = now;
}

static void take_counts(const struct ntk_ring_comm *comm, struct rank_state *state,
                        struct ntk_rank_sample *out)
{
    for (size_t i = 0; i < NTK_COLLECTIVE_COUNT; i++) {
        take_count(&out->operations[i], comm->count[i], &state->operations[i]);
    }
    take_count(&out->errors, comm->errors, &state->errors);
    take_count(&out->moved_bytes, comm->bytes_total, &state->bytes);
    take_count(&out->in_operations_ns, comm->time_ns, &state->time_ns);
    take_count(&out->wait_ns, comm->wait_ns, &state->wait_ns);
}

int ntk_aggregate_start_ranks(struct runtime_state *runtime,
                              const struct ntk_runtime_reading *reading)
{
    for (size_t i = 0; i < reading->comm_count; i++) {
        struct rank_state *state = state_of(runtime, &reading->comms[i]);
        struct ntk_rank_sample unwatched;

        if (!state) {
            return -ENOMEM;
        }
        take_counts(&reading->comms[i], state, &unwatched);
    }
    return 0;
}

static const char *text_of(struct ntk_aggregate *aggregate,
                           const struct ntk_runtime_reading *reading, uint32_t name)
{
    char text[NAME_BYTES] = "";

    if (name != 0 && reading->text) {
        reading->text(reading->ctx, name, text, sizeof text);
    }
    return ntk_snapshot_text(aggregate->pending, text);
}

static void take_rank(struct ntk_aggregate *aggregate, const struct ntk_runtime_reading *reading,
                      const struct ntk_ring_comm *comm, const struct rank_state *state,
                      struct ntk_rank_sample *out)
{
    out->key = state->owned_key;
    out->state = comm->state == NTK_COMM_JOINED   ? NTK_RANK_JOINED
                 : comm->state == NTK_COMM_BROKEN ? NTK_RANK_BROKEN
                                                  : NTK_RANK_LEFT;
    out->rank = comm->rank;
    out->rank_count = comm->rank_count;
    out->world_rank = comm->world_rank;
    out->world_count = comm->world_count;
    out->model_id = comm->model;
    out->core = comm->core;
    out->rendezvous = text_of(aggregate, reading, comm->name);
    out->members = text_of(aggregate, reading, comm->group);
    out->join_timestamp_ns = comm->join_realtime_ns;
    out->sequence = comm->sequence;
    out->operation = (enum ntk_collective)comm->operation;
    out->in_flight = comm->in_flight;
    out->state_ns = comm->state_ns;
    out->bytes = comm->bytes;
    out->dtype = comm->dtype;
    out->status = comm->status;
    out->tid = comm->tid;
    out->longest_ns = comm->longest_ns;
}

/* ---- lost ranks ---- */

static void lost_free(struct lost_rank_state *state)
{
    free((char *)state->lost.tag);
    free((char *)state->lost.command);
    free((char *)state->lost.rank.rendezvous);
    free((char *)state->lost.rank.members);
}

static struct lost_rank_state *lost_at(struct ntk_aggregate *aggregate, size_t index)
{
    return ntk_vec_at(&aggregate->lost_ranks, index);
}

static void lost_remove(struct ntk_aggregate *aggregate, size_t index)
{
    lost_free(lost_at(aggregate, index));
    ntk_vec_remove(&aggregate->lost_ranks, index);
}

/* Adds a lost rank; if out of memory, the rank is omitted. */
static void lost_add(struct ntk_aggregate *aggregate, const struct ntk_runtime_sample *runtime,
                     const struct ntk_rank_sample *rank)
{
    struct lost_rank_state state = { .lost = { .pid = runtime->pid, .rank = *rank } };

    state.lost.tag = strdup(runtime->tag);
    state.lost.command = strdup(runtime->command);
    state.lost.rank.rendezvous = strdup(rank->rendezvous);
    state.lost.rank.members = strdup(rank->members);
    if (!state.lost.tag || !state.lost.command || !state.lost.rank.rendezvous ||
        !state.lost.rank.members || ntk_vec_push(&aggregate->lost_ranks, &state) < 0) {
        lost_free(&state);
    } else if (aggregate->lost_ranks.count > LOST_RANKS_MAX) {
        lost_remove(aggregate, 0);
    }
}

static bool is_of_key(const struct lost_rank_state *known, const struct ntk_rank_sample *rank)
{
    return known->lost.rank.key == rank->key;
}

/* Returns true if this rank replaced a lost rank. */
static bool has_place_of(const struct ntk_rank_sample *rank, const struct ntk_rank_sample *lost)
{
    return rank->key == lost->key && rank->rank == lost->rank &&
           rank->join_timestamp_ns > lost->join_timestamp_ns;
}

/* Returns true if the communicator belongs to a later job: a job that meets at the place of a
 * broken communicator has the same key. The later job's ranks replaced lost ranks, joined when
 * these were lost, or joined when others had replaced them. */
static bool is_of_later_life(const struct ntk_aggregate *aggregate,
                             const struct ntk_rank_sample *rank)
{
    bool is_earlier = false;

    ntk_vec_each(const struct lost_rank_state, known, &aggregate->lost_ranks) {
        if (has_place_of(rank, &known->lost.rank)) {
            return true;
        }
        is_earlier =
            is_earlier || (is_of_key(known, rank) &&
                           !(known->realtime_ns && rank->join_timestamp_ns > known->realtime_ns) &&
                           !(known->newer_ns && rank->join_timestamp_ns >= known->newer_ns));
    }
    return !is_earlier;
}

/* Returns true if a rank of an ended process is still reported: it did not leave, or its
 * communicator has lost a rank, so that other ranks need its position. */
static bool is_kept(const struct ntk_aggregate *aggregate, const struct ntk_rank_sample *rank)
{
    if (rank->state != NTK_RANK_LEFT) {
        return true;
    }
    ntk_vec_each(const struct lost_rank_state, known, &aggregate->lost_ranks) {
        if (is_of_key(known, rank)) {
            return rank->errors.total > 0 || !is_of_later_life(aggregate, rank);
        }
    }
    return false;
}

static void note_newer(struct lost_rank_state *known, const struct ntk_rank_sample *rank)
{
    bool is_older =
        is_of_key(known, rank) && known->lost.rank.join_timestamp_ns < rank->join_timestamp_ns;

    if (is_older && (!known->newer_ns || rank->join_timestamp_ns < known->newer_ns)) {
        known->newer_ns = rank->join_timestamp_ns;
    }
}

/* Marks the lost ranks that this rank replaces. */
static void lost_replace(struct ntk_aggregate *aggregate, const struct ntk_rank_sample *rank)
{
    bool is_replaced = false;

    for (size_t i = aggregate->lost_ranks.count; i-- > 0;) {
        if (has_place_of(rank, &lost_at(aggregate, i)->lost.rank)) {
            lost_remove(aggregate, i);
            is_replaced = true;
        }
    }
    for (size_t i = 0; is_replaced && i < aggregate->lost_ranks.count; i++) {
        note_newer(lost_at(aggregate, i), rank);
    }
}

void ntk_aggregate_free_lost_ranks(struct ntk_aggregate *aggregate)
{
    while (aggregate->lost_ranks.count > 0) {
        lost_remove(aggregate, aggregate->lost_ranks.count - 1);
    }
    ntk_vec_fini(&aggregate->lost_ranks);
}

/* Marks lost ranks that ranks of living processes replace. */
static void replace_by_living(struct ntk_aggregate *aggregate, const struct ntk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->runtime_count && aggregate->lost_ranks.count > 0; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t k = 0; !runtime->ended && k < runtime->rank_count; k++) {
            lost_replace(aggregate, &runtime->ranks[k]);
        }
    }
}

void ntk_aggregate_build_lost_ranks(struct ntk_aggregate *aggregate, struct ntk_snapshot *snapshot)
{
    struct ntk_lost_rank *out;

    replace_by_living(aggregate, snapshot);
    for (size_t i = aggregate->lost_ranks.count; i-- > 0;) {
        struct lost_rank_state *state = lost_at(aggregate, i);

        if (state->since_ns == 0) {
            state->since_ns = snapshot->monotonic_ns;
            state->realtime_ns = snapshot->realtime_ns;
        }
        if (snapshot->monotonic_ns - state->since_ns > LOST_KEPT_NS) {
            lost_remove(aggregate, i);
        }
    }
    out = ntk_snapshot_alloc_lost_ranks(snapshot, aggregate->lost_ranks.count);
    for (size_t i = 0; out && i < snapshot->lost_rank_count; i++) {
        const struct lost_rank_state *state = ntk_vec_at(&aggregate->lost_ranks, i);

        out[i] = state->lost;
        out[i].tag = ntk_snapshot_text(snapshot, state->lost.tag);
        out[i].command = ntk_snapshot_text(snapshot, state->lost.command);
        out[i].rank.rendezvous = ntk_snapshot_text(snapshot, state->lost.rank.rendezvous);
        out[i].rank.members = ntk_snapshot_text(snapshot, state->lost.rank.members);
        out[i].lost_for_ns = snapshot->monotonic_ns - state->since_ns;
    }
}

/* ---- a period ---- */

static void count_add(struct ntk_count *to, struct ntk_count more)
{
    to->period += more.period;
    to->total += more.total;
}

static void core_add(struct ntk_rank_sample *rank, const struct ntk_core_sample *core)
{
    count_add(&rank->core_busy_ns, core->busy_ns);
    for (size_t engine = 0; engine < NTK_ENGINE_COUNT; engine++) {
        count_add(engine == NTK_ENGINE_DMA ? &rank->dma_busy_ns : &rank->engine_busy_ns,
                  core->engine_busy_ns[engine]);
    }
    count_add(&rank->dma_bytes, core->dma_bytes);
}

int ntk_aggregate_take_ranks(struct ntk_aggregate *aggregate, struct runtime_state *runtime,
                             const struct ntk_runtime_reading *reading,
                             struct ntk_runtime_sample *out)
{
    struct ntk_rank_sample *ranks;

    ntk_vec_each(struct rank_state, state, &runtime->ranks) {
        state->seen = false;
    }
    if (reading->comm_count == 0 && runtime->ranks.count == 0) {
        return 0;
    }
    ranks = ntk_snapshot_alloc_ranks(aggregate->pending, out, reading->comm_count);
    for (size_t i = 0; i < reading->comm_count; i++) {
        struct rank_state *state = state_of(runtime, &reading->comms[i]);

        if (!state || !ranks) {
            return -ENOMEM;
        }
        take_rank(aggregate, reading, &reading->comms[i], state, &ranks[i]);
        take_counts(&reading->comms[i], state, &ranks[i]);
        for (size_t k = 0; k < out->core_count; k++) {
            core_add(&ranks[i], &out->cores[k]);
        }
        state->seen = true;
        if (reading->ended) {
            bool is_reported = is_kept(aggregate, &ranks[i]);

            lost_replace(aggregate, &ranks[i]);
            if (is_reported) {
                lost_add(aggregate, out, &ranks[i]);
            }
        }
    }
    for (size_t i = runtime->ranks.count; i-- > 0;) {
        if (!((struct rank_state *)ntk_vec_at(&runtime->ranks, i))->seen) {
            ntk_vec_remove(&runtime->ranks, i);
        }
    }
    return 0;
}
