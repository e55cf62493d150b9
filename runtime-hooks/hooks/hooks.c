/* SPDX-License-Identifier: MIT */
/* hooks - begins and ends the observation; memory, transfers, errors, profiles. */
#include "runtime-hooks/hooks/hooks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks_state.h"

struct hooks_state hooks = { .segment = { .fd = -1 } };
uint32_t hooks_mask;

static int fork_prepared;

/* ---- attach and detach ---- */

static void in_child(void)
{
    if (ntk_abi_load(&hooks_mask) == 0) {
        return;
    }
    ntk_abi_store(&hooks_mask, 0u);
    hooks_tables_after_fork();
    hooks_threads_after_fork();
    hooks_segment_forget();
}

/* The value of NEURON_HOOKS: 0 off, 1 counters, 2 all. Unknown values are reported and mean all. */
static uint32_t mode_wanted(char *note, size_t note_bytes)
{
    const char *text = getenv("NEURON_HOOKS");

    if (text == NULL || text[0] == '\0' || strcmp(text, "1") == 0) {
        return 2;
    }
    if (strcmp(text, "0") == 0) {
        return 0;
    }
    if (strcmp(text, "counters") == 0) {
        return 1;
    }
    (void)snprintf(note, note_bytes,
                   "NEURON_HOOKS=%.40s: expected 1, counters or 0; recording counters and events",
                   text);
    return 2;
}

int ntk_hooks_attach(const struct ntk_hooks_config *config, char *out_note, size_t note_bytes)
{
    char unwanted_note[256];
    uint64_t ticks_per_second;
    uint32_t mode;
    int ret;

    if (out_note == NULL || note_bytes == 0) {
        out_note = unwanted_note;
        note_bytes = sizeof unwanted_note;
    }
    out_note[0] = '\0';
    if (ntk_abi_load(&hooks_mask) != 0) {
        return -EALREADY;
    }
    mode = mode_wanted(out_note, note_bytes);
    if (mode == 0) {
        return 0;
    }
    if (!hooks_threads_prepare()) {
        (void)snprintf(out_note, note_bytes, "no thread key available for the hooks");
        return -EAGAIN;
    }
    if (!fork_prepared) {
        if (pthread_atfork(NULL, NULL, in_child) != 0) {
            (void)snprintf(out_note, note_bytes, "cannot register a fork handler");
            return -ENOMEM;
        }
        fork_prepared = 1;
    }
    ret = hooks_segment_create(config, mode, out_note, note_bytes);
    if (ret < 0) {
        return ret;
    }
    hooks.attach_count++;
    hooks.writer_pid = (uint32_t)getpid();
    hooks.is_behalf = config->behalf != NULL;
    hooks.given_ns = 0;
    hooks.clock_kind = hooks.segment.process->clock.kind;
    ticks_per_second = hooks.segment.process->clock.ticks_per_second;
    hooks.ns_per_tick = (uint64_t)(1e9 / (double)ticks_per_second * 4294967296.0);
    hooks.ticks_per_ns = (uint64_t)((double)ticks_per_second / 1e9 * 4294967296.0);
    hooks.cores_shared = (config->flags & NTK_HOOKS_CORES_SHARED) != 0;
    hooks_tables_reset();
    hooks_threads_reset();
    __atomic_store_n(&hooks_mask, mode >= 2 ? HOOKS_COUNTERS | HOOKS_EVENTS : HOOKS_COUNTERS,
                     __ATOMIC_RELEASE);
    return 0;
}

static void detach(bool is_in_order)
{
    if (ntk_abi_load(&hooks_mask) == 0) {
        return;
    }
    if (is_in_order && hooks.writer_pid == (uint32_t)getpid()) {
        hooks_comms_leave_all();
    }
    __atomic_store_n(&hooks_mask, 0u, __ATOMIC_SEQ_CST);
    if (hooks.writer_pid != (uint32_t)getpid()) {
        hooks_segment_forget(); /* a child that was created without pthread_atfork */
        return;
    }
    hooks_segment_end();
}

void ntk_hooks_detach(void)
{
    detach(true);
}

/* If a program exits or unloads the library without a regular end, it counts as a lost rank. */
__attribute__((destructor)) static void detach_at_end(void)
{
    detach(false);
}

const char *ntk_hooks_segment_path(void)
{
    return ntk_abi_load(&hooks_mask) != 0 ? hooks.segment.path : NULL;
}

int ntk_hooks_counters_on(void)
{
    return (ntk_abi_load(&hooks_mask) & HOOKS_COUNTERS) != 0;
}

/* ---- clock ---- */

uint64_t ntk_hooks_now(void)
{
    return hooks_now();
}

uint64_t ntk_hooks_ticks_to_ns(uint64_t ticks)
{
    return hooks_scale(ticks, hooks.ns_per_tick);
}

struct ntk_segment_trigger *ntk_hooks_trigger(void)
{
    return ntk_abi_load(&hooks_mask) != 0 ? hooks.segment.trigger : NULL;
}

/* ---- memory ---- */

static enum ntk_memory_category category_of(const struct ntk_hooks_memory *memory)
{
    return memory->category < NTK_MEMORY_CATEGORY_COUNT ? (enum ntk_memory_category)memory->category
                                                        : NTK_MEMORY_UNCATEGORIZED;
}

static void record_memory(uint16_t kind, const struct ntk_hooks_memory *memory,
                          enum ntk_memory_category category)
{
    hooks_record(NTK_SLOT_META(kind, 0, memory->core, 0), hooks_now(), 0,
                 NTK_WORD(hooks_model_id(memory->model), memory->name), memory->address,
                 memory->bytes, NTK_WORD(category, ntk_memory_location_of(category)));
}

ntk_hooks_row ntk_hooks_memory_alloc(const struct ntk_hooks_memory *memory)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    struct ntk_segment_memory_row *row;
    enum ntk_memory_category category;
    uint64_t current;
    uint64_t peak;
    uint32_t index;

    if (hooks_unlikely(mask == 0)) {
        return 0;
    }
    category = category_of(memory);
    index = hooks_row_of(NTK_MEMORY_KEY(ntk_memory_location_of(category), memory->core,
                                        hooks_model_id(memory->model), category));
    row = &hooks.segment.rows[index];
    current = ntk_abi_add_shared(&row->current_bytes, memory->bytes) + memory->bytes;
    ntk_abi_add_shared(&row->alloc_count, 1);
    ntk_abi_store(&row->last_bytes, memory->bytes);
    peak = ntk_abi_load(&row->peak_bytes);
    while (current > peak && current < 1ull << 63 &&
           !__atomic_compare_exchange_n(&row->peak_bytes, &peak, current, 1, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        record_memory(NTK_EVENT_MEM_ALLOC, memory, category);
    }
    return index + 1;
}

void ntk_hooks_memory_free(const struct ntk_hooks_memory *memory, ntk_hooks_row row)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);

    if (hooks_unlikely(mask == 0)) {
        return;
    }
    /* Row 0 was allocated while the hooks were off, so nothing was counted. */
    if (row != 0 && row <= NTK_SEGMENT_MEMORY_ROWS) {
        struct ntk_segment_memory_row *entry = &hooks.segment.rows[row - 1];

        __atomic_fetch_sub(&entry->current_bytes, memory->bytes, __ATOMIC_RELEASE);
        ntk_abi_add_shared(&entry->free_count, 1);
        ntk_abi_store(&entry->last_bytes, memory->bytes);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        record_memory(NTK_EVENT_MEM_FREE, memory, category_of(memory));
    }
}

/* ---- transfers, errors, profiles, marks ---- */

void ntk_hooks_transfer(const struct ntk_hooks_transfer *transfer)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);

    if (hooks_unlikely(mask == 0)) {
        return;
    }
    if (transfer->core < NTK_SEGMENT_CORES) {
        struct ntk_segment_core *block = &hooks.segment.cores[transfer->core];

        if (transfer->direction == NTK_TRANSFER_HOST_TO_DEVICE) {
            ntk_abi_add_shared(&block->host_to_device_bytes, transfer->bytes);
        } else if (transfer->direction == NTK_TRANSFER_DEVICE_TO_HOST) {
            ntk_abi_add_shared(&block->device_to_host_bytes, transfer->bytes);
        } else if (transfer->direction == NTK_TRANSFER_DEVICE_TO_DEVICE) {
            ntk_abi_add_shared(&block->device_to_device_bytes, transfer->bytes);
        }
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        uint64_t now = hooks_now();

        hooks_record(NTK_SLOT_META(NTK_EVENT_TRANSFER, transfer->direction, transfer->core, 0),
                     transfer->start_ticks, hooks_span_ticks(transfer->start_ticks, now),
                     NTK_WORD(hooks_model_id(transfer->model), transfer->name), transfer->bytes,
                     transfer->address, transfer->offset);
    }
}

void ntk_hooks_error(const struct ntk_hooks_error *error)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);

    if (hooks_unlikely(mask == 0)) {
        return;
    }
    if (error->core < NTK_SEGMENT_CORES && error->error_class < NTK_ERROR_CLASS_COUNT) {
        ntk_abi_add_shared(&hooks.segment.cores[error->core].error_class[error->error_class], 1);
    }
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_ERROR, 0, error->core, 0), hooks_now(), 0,
                     NTK_WORD(hooks_model_id(error->model), error->status), error->execution_id,
                     NTK_WORD(error->error_class, error->error_code), error->value);
    }
}

uint64_t ntk_hooks_profile_start(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                                 uint32_t name)
{
    uint32_t mask = ntk_abi_load(&hooks_mask);
    uint64_t now;

    if (hooks_unlikely(mask == 0)) {
        return 0;
    }
    now = hooks_now();
    if ((mask & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_PROFILE_START, 0, core, 0), now, 0,
                     NTK_WORD(hooks_model_id(model), 0), session, name, 0);
    }
    return now;
}

void ntk_hooks_profile_stop(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                            uint32_t name, uint64_t start_ticks, uint64_t bytes_written,
                            uint32_t status)
{
    if ((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_PROFILE_STOP, 0, core, 0), start_ticks,
                     hooks_span_ticks(start_ticks, hooks_now()),
                     NTK_WORD(hooks_model_id(model), status), session, name, bytes_written);
    }
}
