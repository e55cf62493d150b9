/* SPDX-License-Identifier: MIT */
/*
 * engine_pair - synchronises the cores of one logical core: barriers, exchanges of tiles,
 * semaphores of the other core.
 */
#include "runtime-hooks/engine/engine_run.h"

#include <string.h>

#include "runtime-hooks/engine/dma_mover.h"
#include "runtime-hooks/engine/cost_model.h"
#include "runtime-hooks/engine/engine_move.h"
#include "runtime-hooks/engine/kernel_dtype.h"

/* Maximum number of sendrecv that wait for the other core; beyond it, the run ends because it is
 * out of memory. */
#define OFFERS_MAX 4096

/* A sendrecv that waits for the other core. */
struct engine_offer {
    uint32_t core;
    uint32_t dma_index;
    uint32_t pipe;
};

/* Two matched offers, with the dma of each core. */
struct engine_exchange {
    uint32_t dma_index[NTK_ENGINE_PAIR_MAX];
};

/* --- barriers --------------------------------------------------------------------------------- */

bool engine_barrier_arrive(struct run *run, uint32_t engine)
{
    struct engine_state *state = &run->engines[engine];
    uint32_t number = state->instrs[state->next].sync_number;

    if (state->waits_for_cores) {
        return false;
    }
    state->waits_for_cores = true;
    state->ticket = ++run->arrivals[number];
    run->group->meetings++;
    return true;
}

/* Returns true if the barrier is open: the n-th arrival on one core matches the n-th arrival on
 * every other core. */
bool engine_barrier_open(const struct run *run, uint32_t engine)
{
    const struct engine_state *state = &run->engines[engine];
    uint32_t number = state->instrs[state->next].sync_number;

    for (uint32_t c = 0; c < run->group->count; c++) {
        /* Both counters wrap around equally, and their distance is small. */
        if ((int32_t)(run->group->runs[c].arrivals[number] - state->ticket) < 0) {
            return false;
        }
    }
    return true;
}

/* --- exchanges -------------------------------------------------------------------------------- */

static const struct ntk_engine_transfer *transfer_of(const struct run *run, uint32_t dma_index)
{
    const struct ntk_engine_dma *dma = ntk_vec_at(&run->program->dmas, dma_index);

    return ntk_vec_at(&run->program->transfers, dma->first_transfer);
}

/* Finds the core's oldest offer on that pipe; NULL if there is none. */
static struct engine_offer *offer_find(struct engine_group *group, uint32_t core, uint32_t pipe)
{
    ntk_vec_each(struct engine_offer, offer, &group->offers) {
        if (offer->core == core && offer->pipe == pipe) {
            return offer;
        }
    }
    return NULL;
}

/* The memory of one side of an exchange; both sides are in the state buffer. */
static uint8_t *side_memory(const struct run *run, const struct ntk_engine_side *side)
{
    return run->core->sbuf + side->offset;
}

static uint64_t elements_of(const struct ntk_engine_side *side)
{
    uint64_t elements = 0;

    ntk_dma_walk_elements(&side->walk, &elements);
    return elements;
}

/* Schedules the part that one core receives, on its own queues; returns the time of its last
 * byte. */
static uint64_t receive_start(struct run *run, uint32_t dma_index,
                              const struct ntk_engine_side *source)
{
    const struct ntk_engine_dma *dma = ntk_vec_at(&run->program->dmas, dma_index);
    uint32_t number = (uint32_t)run->core->queue_starts[dma->queue_set]++;
    uint64_t first_ps = UINT64_MAX;
    uint64_t done_ps = engine_transfer_schedule(run, dma, number, transfer_of(run, dma_index),
                                                source, run->now_ps, &first_ps);

    engine_dma_interval(run, first_ps, done_ps);
    return larger(done_ps, run->core->queue_done_ps[dma->queue_set]);
}

bool engine_exchange_start(struct run *run, uint32_t dma_index)
{
    const struct ntk_engine_dma *dma = ntk_vec_at(&run->program->dmas, dma_index);
    struct engine_group *group = run->group;
    struct run *partner = run_partner(run);
    uint32_t mine = run_index(run);
    struct engine_offer *offer = partner ? offer_find(group, mine ^ 1U, dma->pipe) : NULL;
    struct engine_exchange *exchange;
    const struct ntk_engine_transfer *here = transfer_of(run, dma_index);
    const struct ntk_engine_transfer *there;
    uint64_t done_ps;

    group->meetings++;
    if (!offer) {
        struct engine_offer fresh = { mine, dma_index, dma->pipe };

        run->has_no_memory = run->has_no_memory || group->offers.count >= OFFERS_MAX ||
                             ntk_vec_push(&group->offers, &fresh) < 0;
        return true;
    }
    if (group->exchanges_under_way == 0) {
        ntk_vec_clear(&group->exchanges);
    }
    exchange = ntk_vec_add(&group->exchanges);
    if (!exchange) {
        run->has_no_memory = true;
        return true;
    }
    exchange->dma_index[mine] = dma_index;
    exchange->dma_index[mine ^ 1U] = offer->dma_index;
    ntk_vec_remove(&group->offers, (size_t)(offer - (struct engine_offer *)group->offers.items));
    there = transfer_of(partner, exchange->dma_index[mine ^ 1U]);
    if (elements_of(&here->to) != elements_of(&there->to)) {
        return false;
    }
    done_ps = receive_start(run, dma_index, engine_sources_of(partner, there));
    done_ps = larger(done_ps, receive_start(partner, exchange->dma_index[mine ^ 1U],
                                            engine_sources_of(run, here)));
    for (uint32_t c = 0; c < NTK_ENGINE_PAIR_MAX; c++) {
        const struct run *one = &group->runs[c];
        const struct ntk_engine_dma *its = ntk_vec_at(&one->program->dmas, exchange->dma_index[c]);

        one->core->queue_done_ps[its->queue_set] = done_ps;
    }
    group->exchanges_under_way++;
    engine_pending_push(&group->runs[0], done_ps, NTK_ENGINE_PENDING_EXCHANGE,
                        (uint32_t)(group->exchanges.count - 1));
    return true;
}

static void tile_move(struct run *to_run, const struct ntk_engine_side *to,
                      const struct ntk_dma_walk *from_walk, const uint8_t *from)
{
    uint8_t *memory = side_memory(to_run, to);

    ntk_engine_written(to_run->core, to);
    if (to->walk.dtype == from_walk->dtype) {
        ntk_dma_copy(&to->walk, memory, from_walk, from);
    } else {
        ntk_dma_cast(&to->walk, memory, from_walk, from);
    }
}

void engine_exchange_complete(struct run *run, uint32_t exchange_index)
{
    struct engine_group *group = run->group;
    const struct engine_exchange *exchange = ntk_vec_at(&group->exchanges, exchange_index);
    struct run *first = &group->runs[0];
    struct run *second = &group->runs[1];
    const struct ntk_engine_transfer *a = transfer_of(first, exchange->dma_index[0]);
    const struct ntk_engine_transfer *b = transfer_of(second, exchange->dma_index[1]);
    const struct ntk_engine_side *from_first = engine_sources_of(first, a);
    const struct ntk_engine_side *from_second = engine_sources_of(second, b);
    struct ntk_dma_walk dense = { .dtype = from_first->walk.dtype,
                                  .fp8 = from_first->walk.fp8,
                                  .dim_count = 1 };

    /* Read both sides before writing one, because a core may receive into the data that it
     * sends. */
    dense.count[0] = elements_of(from_first);
    dense.step[0] = (int64_t)ntk_dtype_bytes(dense.dtype);
    ntk_dma_copy(&dense, first->core->bounce, &from_first->walk, side_memory(first, from_first));
    tile_move(first, &a->to, &from_second->walk, side_memory(second, from_second));
    tile_move(second, &b->to, &dense, first->core->bounce);
    group->exchanges_under_way--;
    second->last_ps = first->now_ps;
    for (uint32_t c = 0; c < NTK_ENGINE_PAIR_MAX; c++) {
        struct run *one = &group->runs[c];

        engine_dma_count(one, c == 0 ? a : b);
        engine_dma_signal(one, ntk_vec_at(&one->program->dmas, exchange->dma_index[c]));
    }
}

bool engine_exchange_waits(const struct run *run)
{
    ntk_vec_each(struct engine_offer, offer, &run->group->offers) {
        if (offer->core == run_index(run)) {
            return true;
        }
    }
    return false;
}

/* --- semaphores of the other core ------------------------------------------------------------- */

void engine_remote_signal(struct run *run, const struct ntk_engine_dma *dma)
{
    struct run *partner = run_partner(run);

    if (!partner) {
        return;
    }
    for (uint32_t i = 0; i < dma->remote_count; i++) {
        const uint16_t *number =
            ntk_vec_at(&run->program->remote_semaphores, dma->first_remote + i);

        engine_semaphore_add(partner, NTK_ENGINE_DMA, *number, dma->semaphore_value);
    }
}

void engine_pair_init(struct engine_group *group)
{
    ntk_vec_init(&group->offers, sizeof(struct engine_offer));
    ntk_vec_init(&group->exchanges, sizeof(struct engine_exchange));
}

void engine_pair_fini(struct engine_group *group)
{
    ntk_vec_fini(&group->offers);
    ntk_vec_fini(&group->exchanges);
}
