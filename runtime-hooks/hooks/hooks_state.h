/* SPDX-License-Identifier: MIT */
/*
 * hooks_state - the private state of the hooks; only for the files in this folder.
 */
#ifndef NTK_RUNTIME_HOOKS_HOOKS_HOOKS_STATE_H
#define NTK_RUNTIME_HOOKS_HOOKS_HOOKS_STATE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/hooks/core_lock.h"
#include "runtime-hooks/hooks/hooks.h"
#include "runtime-hooks/ring/ring_writer.h"
#include "shared/abi/paths.h"
#include "shared/abi/raw_clock.h"
#include "shared/abi/segment_abi.h"

/* Bits of hooks_mask. */
#define HOOKS_COUNTERS 1u
#define HOOKS_EVENTS 2u

#define HOOKS_NAME_HASH (2u * NTK_SEGMENT_NAMES)
#define HOOKS_ROW_HASH (2u * NTK_SEGMENT_MEMORY_ROWS)

#define hooks_likely(condition) __builtin_expect(!!(condition), 1)
#define hooks_unlikely(condition) __builtin_expect(!!(condition), 0)

struct hooks_segment {
    uint8_t *base; /* NULL while detached */
    size_t bytes;
    int fd;
    char path[NTK_PATH_BYTES];
    struct ntk_segment_header *header;
    struct ntk_segment_process *process;
    struct ntk_segment_core *cores;
    struct ntk_segment_model *models;
    struct ntk_segment_memory_row *rows;
    struct ntk_segment_name *names;
    char *name_bytes;
    struct ntk_segment_thread *threads;
    struct ntk_segment_ring *rings;
    struct ntk_histogram_pair *histograms;
    struct ntk_segment_comm *comms;
    struct ntk_segment_trigger *trigger;
    uint64_t slots_offset;
    uint64_t slots_bytes;
};

struct hooks_state {
    struct hooks_segment segment;
    uint32_t clock_kind;
    uint32_t cores_shared;
    uint64_t ns_per_tick; /* 32.32 fixed-point number */
    uint64_t ticks_per_ns;

    uint32_t attach_count;
    uint32_t writer_pid; /* pid of the process that attached */
    uint32_t is_behalf;
    uint64_t given_ns; /* time of the current report about another process; 0: now */

    /* Names and rows: open addressing with the name id or row + 1, 0 is empty; read without a lock,
     * changed only under hooks_table_lock(). */
    uint32_t name_hash[HOOKS_NAME_HASH];
    uint32_t row_hash[HOOKS_ROW_HASH];
    uint32_t names_used;
    uint32_t name_bytes_used;
    uint32_t rows_used;
    uint32_t row_hash_used;
    uint8_t histogram_reserved[NTK_SEGMENT_HISTOGRAM_PAIRS];
    uint8_t model_owned[NTK_SEGMENT_MODELS]; /* 1: only one thread at a time executes the model */
    uint16_t model_comm[NTK_SEGMENT_MODELS]; /* entry of its communicator + 1; 0: none */
    uint32_t threads_used;

    uint32_t rings_used;
    /* number of rings that were claimed and returned; a hint for threads without a ring */
    uint32_t rings_free;
    uint64_t slots_used;
    uint64_t ring_slots; /* capacity of the next new ring; 0: no more rings */
    struct hooks_core_lock core_lock[NTK_SEGMENT_CORES];
    struct hooks_core_lock comm_lock[NTK_SEGMENT_COMMS];

    struct ntk_ring_writer writer[NTK_SEGMENT_RINGS];
};

extern struct hooks_state hooks;
/* Every hook reads it first; 0 while detached. */
extern uint32_t hooks_mask;

/* In segment.c: creates and maps the file of the calling process; sets hooks.segment and the clock.
 * Returns 0 or -errno; note may get a message. */
int hooks_segment_create(const struct ntk_hooks_config *config, uint32_t mode, char *note,
                         size_t note_bytes);
/* Ends the process's segment: marks it as ended, and unlinks it unless a reader waits. Later writes
 * then go to private memory. */
void hooks_segment_end(void);
/* In the child of a fork: turns the parent's segment into private memory. */
void hooks_segment_forget(void);
/* Reserves and populates bytes of the segment. Returns 0 or -errno. */
int hooks_segment_reserve(uint64_t offset, uint64_t bytes);

/* In tables.c. */
void hooks_tables_reset(void);
void hooks_tables_after_fork(void);
/* returns 0 if it is not possible now (a signal handler inside the lock) */
int hooks_table_lock(void);
void hooks_table_unlock(void);
uint32_t hooks_row_of(uint64_t key);
/* Allows the reuse of a model's rows without memory. */
void hooks_rows_release(uint32_t model_id);
/* Returns 1 if the pair may be used; clears it for its new owner. */
int hooks_histogram_prepare(uint32_t pair, uint64_t owner);

/* In threads.c: the ring of the calling thread, claimed if it has none. Returns NULL if there is
 * none; the record is then dropped and counted. */
struct ntk_ring_writer *hooks_ring(void);
/* Prefetches the cache lines of the thread's next record. */
void hooks_ring_prefetch(void);
int hooks_threads_prepare(void);
void hooks_threads_reset(void);
void hooks_threads_after_fork(void);
/* The table entry of another process's thread; 0 if the table is full. */
uint32_t hooks_thread_entry(uint32_t tid, const char *name);

/* In comms.c: leaves all communicators when the process exits regularly. */
void hooks_comms_leave_all(void);
/* For executions of a model loaded for collectives; slot is the model's. */
void hooks_comm_program_join(uint32_t slot, const struct ntk_hooks_model *model);
void hooks_comm_program_leave(uint32_t slot);
void hooks_comm_program_begin(uint32_t slot, uint16_t core, uint64_t now);
void hooks_comm_program_end(uint32_t slot, uint64_t now, uint32_t status);
void hooks_comm_program_cancel(uint32_t slot, uint64_t now);

/* ---- times, models, and one record ---- */

static inline uint64_t hooks_scale(uint64_t value, uint64_t factor)
{
    __extension__ typedef unsigned __int128 wide;

    return factor == 0 ? value : (uint64_t)((wide)value * factor >> 32);
}

static inline uint64_t hooks_now(void)
{
    if (hooks_unlikely(hooks.given_ns != 0)) {
        return hooks.given_ns;
    }
    /* With zeroed state, this is CLOCK_MONOTONIC in nanoseconds. */
    return ntk_raw_clock_now(hooks.clock_kind);
}

/* A span of ticks in nanoseconds, at least 0, because other CPUs may have measured the two ends. */
static inline uint64_t hooks_span_ns(uint64_t start_ticks, uint64_t end_ticks)
{
    return end_ticks > start_ticks ? hooks_scale(end_ticks - start_ticks, hooks.ns_per_tick) : 0;
}

static inline uint64_t hooks_span_ticks(uint64_t start_ticks, uint64_t end_ticks)
{
    return end_ticks > start_ticks ? end_ticks - start_ticks : 0;
}

/* To be called before counting in the bucket, so that readers find its line. Pairs with
 * read_buckets() in ring_segment_tables.c. */
static inline void hooks_histogram_mark(struct ntk_histogram_pair *pair, uint32_t bucket)
{
    uint32_t line = bucket / NTK_HISTOGRAM_LINE_BUCKETS;
    uint64_t *word = &pair->lines[line / 64];
    uint64_t bit = 1ull << line % 64;

    if (hooks_unlikely((ntk_abi_load(word) & bit) == 0)) {
        __atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
    }
}

/* Updates the time since which executions fail on the core, after an execution ended there. */
void hooks_note_end(struct ntk_segment_core *block, uint32_t status, uint64_t now);

static inline uint32_t hooks_model_slot(struct ntk_hooks_model_ref model)
{
    return model.slot_plus_one - 1u; /* NTK_SEGMENT_MODELS or more: no slot */
}

static inline struct ntk_segment_model *hooks_model_entry(struct ntk_hooks_model_ref model)
{
    return hooks_model_slot(model) < NTK_SEGMENT_MODELS
               ? &hooks.segment.models[hooks_model_slot(model)]
               : NULL;
}

/* The id to record: models beyond the table count as model 0. */
static inline uint32_t hooks_model_id(struct ntk_hooks_model_ref model)
{
    return model.slot_plus_one != 0 ? model.id : 0;
}

/* meta is NTK_SLOT_META() with thread 0: the ring sets the thread. */
static inline void hooks_record(uint64_t meta, uint64_t start_ticks, uint64_t word_0,
                                uint64_t word_1, uint64_t word_2, uint64_t word_3, uint64_t word_4)
{
    struct ntk_ring_writer *writer = hooks_ring();

    if (hooks_likely(writer != NULL) && ntk_ring_writer_enter(writer)) {
        ntk_ring_writer_put(writer, start_ticks, meta | NTK_SLOT_META(0, 0, 0, writer->thread),
                            word_0, word_1, word_2, word_3, word_4);
        ntk_ring_writer_leave(writer);
    }
}

#endif
