/* SPDX-License-Identifier: MIT */
/*
 * hooks_none - replaces runtime-hooks/hooks for a runtime without hooks: no segment, no events, a
 * separate clock.
 *
 * Linked before the archives, it implements every call of hooks.h, so that nothing of the real
 * module is linked.
 */
#include "runtime-hooks/hooks/hooks.h"

#include <time.h>

int ntk_hooks_attach(const struct ntk_hooks_config *config, char *out_note, size_t note_bytes)
{
    (void)config;
    if (out_note && note_bytes > 0) {
        out_note[0] = '\0';
    }
    return 0;
}

void ntk_hooks_detach(void)
{
}

const char *ntk_hooks_segment_path(void)
{
    return NULL;
}

int ntk_hooks_counters_on(void)
{
    return 0;
}

uint64_t ntk_hooks_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

uint64_t ntk_hooks_ticks_to_ns(uint64_t ticks)
{
    return ticks;
}

uint32_t ntk_hooks_name(const char *text)
{
    (void)text;
    return 0;
}

void ntk_hooks_core_claim(uint16_t core, uint32_t logical_core, int is_first)
{
    (void)core;
    (void)logical_core;
    (void)is_first;
}

void ntk_hooks_core_release(uint16_t core)
{
    (void)core;
}

int ntk_hooks_core_is_idle(uint16_t core)
{
    (void)core;
    return 1;
}

void ntk_hooks_model_begin(const struct ntk_hooks_model *model, struct ntk_hooks_model_ref *out_ref)
{
    *out_ref = (struct ntk_hooks_model_ref){ .id = model->id };
}

void ntk_hooks_model_loaded(struct ntk_hooks_model_ref model, uint64_t start_ticks, uint32_t status,
                            uint64_t device_bytes)
{
    (void)model;
    (void)start_ticks;
    (void)status;
    (void)device_bytes;
}

void ntk_hooks_model_switched(struct ntk_hooks_model_ref model)
{
    (void)model;
}

void ntk_hooks_model_started(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status)
{
    (void)model;
    (void)start_ticks;
    (void)status;
}

void ntk_hooks_model_stopped(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                             uint32_t status)
{
    (void)model;
    (void)start_ticks;
    (void)status;
}

void ntk_hooks_model_unloaded(struct ntk_hooks_model_ref model, uint64_t start_ticks,
                              uint32_t status)
{
    (void)model;
    (void)start_ticks;
    (void)status;
}

uint64_t ntk_hooks_exec_begin(struct ntk_hooks_model_ref model, uint16_t core, uint16_t core_count)
{
    (void)model;
    (void)core;
    (void)core_count;
    return ntk_hooks_now();
}

void ntk_hooks_exec_end(const struct ntk_hooks_exec *exec)
{
    (void)exec;
}

void ntk_hooks_exec_refused(const struct ntk_hooks_exec *exec)
{
    (void)exec;
}

ntk_hooks_row ntk_hooks_memory_alloc(const struct ntk_hooks_memory *memory)
{
    (void)memory;
    return 0;
}

void ntk_hooks_memory_free(const struct ntk_hooks_memory *memory, ntk_hooks_row row)
{
    (void)memory;
    (void)row;
}

void ntk_hooks_transfer(const struct ntk_hooks_transfer *transfer)
{
    (void)transfer;
}

void ntk_hooks_error(const struct ntk_hooks_error *error)
{
    (void)error;
}

uint64_t ntk_hooks_profile_start(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                                 uint32_t name)
{
    (void)model;
    (void)core;
    (void)session;
    (void)name;
    return ntk_hooks_now();
}

void ntk_hooks_profile_stop(struct ntk_hooks_model_ref model, uint16_t core, uint64_t session,
                            uint32_t name, uint64_t start_ticks, uint64_t bytes_written,
                            uint32_t status)
{
    (void)model;
    (void)core;
    (void)session;
    (void)name;
    (void)start_ticks;
    (void)bytes_written;
    (void)status;
}

void ntk_hooks_mark(uint32_t name, uint64_t start_ticks, uint16_t core, uint64_t value_0,
                    uint64_t value_1)
{
    (void)name;
    (void)start_ticks;
    (void)core;
    (void)value_0;
    (void)value_1;
}

ntk_hooks_comm ntk_hooks_comm_join(const struct ntk_hooks_rank *rank, uint16_t core)
{
    (void)rank;
    (void)core;
    return 0;
}

void ntk_hooks_comm_leave(ntk_hooks_comm comm, bool is_broken)
{
    (void)comm;
    (void)is_broken;
}

uint64_t ntk_hooks_comm_key(ntk_hooks_comm comm)
{
    (void)comm;
    return 0;
}

uint64_t ntk_hooks_collective_begin(ntk_hooks_comm comm, enum ntk_collective operation,
                                    uint32_t dtype, uint64_t bytes)
{
    (void)comm;
    (void)operation;
    (void)dtype;
    (void)bytes;
    return 0;
}

void ntk_hooks_collective_end(ntk_hooks_comm comm, uint64_t wait_ticks, uint32_t status)
{
    (void)comm;
    (void)wait_ticks;
    (void)status;
}

struct ntk_segment_trigger *ntk_hooks_trigger(void)
{
    return NULL;
}
