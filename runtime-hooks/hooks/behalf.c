/* SPDX-License-Identifier: MIT */
/*
 * behalf - records that one program writes about another process, later than the events and
 * sometimes only as sums.
 *
 * One thread writes this segment, so no function here needs a lock.
 */
#include "runtime-hooks/hooks/hooks_state.h"

static int is_off(void)
{
    return ntk_abi_load(&hooks_mask) == 0 || !hooks.is_behalf;
}

static struct ntk_segment_model *model_of(struct ntk_hooks_model_ref model)
{
    return model.slot_plus_one - 1u < NTK_SEGMENT_MODELS
               ? &hooks.segment.models[model.slot_plus_one - 1u]
               : NULL;
}

void ntk_hooks_behalf_at(uint64_t monotonic_ns, uint32_t tid, const char *thread_name)
{
    struct ntk_ring_writer *writer;

    if (is_off()) {
        return;
    }
    hooks.given_ns = monotonic_ns;
    if (monotonic_ns != 0 && (ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0) {
        writer = hooks_ring();
        if (writer != NULL) {
            writer->thread = hooks_thread_entry(tid, thread_name);
        }
    }
}

void ntk_hooks_behalf_model_found(struct ntk_hooks_model_ref model)
{
    struct ntk_segment_model *entry = model_of(model);

    if (!is_off() && entry != NULL) {
        ntk_abi_store_release(&entry->state, (uint32_t)NTK_MODEL_LOADED);
    }
}

static void histogram_add(struct ntk_histogram_pair *pair, const struct ntk_hooks_missed *missed)
{
    hooks_histogram_mark(pair, missed->bucket);
    ntk_abi_add_owned(&pair->total[missed->bucket], missed->count);
    ntk_abi_add_owned(&pair->total_sum_ns, missed->sum_ns);
}

void ntk_hooks_behalf_missed(const struct ntk_hooks_missed *missed)
{
    struct ntk_segment_model *entry = model_of(missed->model);
    enum ntk_outcome outcome = ntk_outcome_of_status(missed->status);
    enum ntk_error_class error_class = ntk_error_class_of_status(missed->status);
    struct ntk_segment_core *block;

    if (is_off() || missed->core >= NTK_SEGMENT_CORES || missed->bucket >= NTK_HISTOGRAM_BUCKETS) {
        return;
    }
    block = &hooks.segment.cores[missed->core];
    hooks_note_end(block, missed->status, hooks_now());
    ntk_abi_add_owned(&block->outcome[outcome], missed->count);
    ntk_abi_add_owned(&block->status[ntk_status_counter_of_status(missed->status)], missed->count);
    if (error_class != NTK_ERROR_CLASS_NONE) {
        ntk_abi_add_owned(&block->error_class[error_class], missed->count);
    }
    if (entry != NULL && missed->status != 0) {
        ntk_abi_add_owned(&entry->errors, missed->count);
    }
    if (ntk_hooks_is_refusal(missed->status)) {
        return;
    }
    if (ntk_abi_load(&block->histogram) != 0) {
        histogram_add(&hooks.segment.histograms[missed->core], missed);
    }
    if (entry != NULL) {
        ntk_abi_add_owned(&entry->executions, missed->count);
        if (ntk_abi_load(&entry->histogram) != 0) {
            histogram_add(
                &hooks.segment.histograms[NTK_SEGMENT_CORES + missed->model.slot_plus_one - 1u],
                missed);
        }
    }
}

void ntk_hooks_behalf_busy(uint16_t core, uint16_t core_count, uint64_t busy_ns)
{
    uint32_t i;

    if (is_off()) {
        return;
    }
    for (i = core; i < (uint32_t)core + (core_count ? core_count : 1) && i < NTK_SEGMENT_CORES;
         i++) {
        struct ntk_segment_core *block = &hooks.segment.cores[i];
        uint64_t seq = ntk_abi_load(&block->seq);

        /* Follows the protocol of core_turn() in hooks.c. */
        ntk_abi_store(&block->seq, seq + 1);
        ntk_abi_fence_release();
        ntk_abi_store(&block->busy_ns, ntk_abi_load(&block->busy_ns) + busy_ns);
        ntk_abi_store_release(&block->seq, seq + 2);
    }
}

void ntk_hooks_behalf_lost(uint64_t records)
{
    if (!is_off()) {
        ntk_abi_add_shared(&hooks.segment.header->events_without_ring, records);
    }
}

void ntk_hooks_behalf_flag(uint32_t flags)
{
    if (!is_off()) {
        /* Pairs with ntk_ring_segment_process(), which reads again. */
        ntk_abi_store_release(&hooks.segment.process->flags, hooks.segment.process->flags | flags);
    }
}
