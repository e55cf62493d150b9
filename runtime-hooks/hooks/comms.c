/* SPDX-License-Identifier: MIT */
/*
 * comms - the process as a rank: the table of communicators, and the current operation of each.
 *
 * An operation is a host call, or the execution of a model loaded for collectives. Entries
 * change under their sequence word and lock.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime-hooks/hooks/hooks_state.h"
#include "shared/abi/raw_clock.h"

#define GROUP_TEXT_BYTES 4096 /* names are short: longer texts are truncated and end in "..." */

/* ---- joining and leaving ---- */

static uint64_t hash_add(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
    }
    return hash;
}

/* A key that is the same on every rank, on any host. */
static uint64_t key_of(const struct ntk_hooks_rank *rank, const uint8_t *uuid)
{
    const char *rendezvous = rank->rendezvous != NULL ? rank->rendezvous : "";
    uint64_t key = 0xcbf29ce484222325u;

    key = hash_add(key, rendezvous, strlen(rendezvous) + 1);
    key = hash_add(key, &rank->world_count, sizeof rank->world_count);
    if (rank->group != NULL) {
        key = hash_add(key, rank->group, rank->group_count * sizeof *rank->group);
    }
    if (uuid != NULL) {
        key = hash_add(key, uuid, 16);
    }
    return key != 0 ? key : 1;
}

/* The rank's index in the group; 0 also if it is not in the group. */
static uint32_t place_of(const struct ntk_hooks_rank *rank)
{
    if (rank->group == NULL) {
        return rank->world_rank;
    }
    for (uint32_t i = 0; i < rank->group_count; i++) {
        if (rank->group[i] == rank->world_rank) {
            return i;
        }
    }
    return 0;
}

static uint32_t group_name(const struct ntk_hooks_rank *rank)
{
    char text[GROUP_TEXT_BYTES];
    size_t at = 0;

    if (rank->group == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < rank->group_count; i++) {
        if (at > sizeof text - 16) {
            memcpy(text + at, ",...", sizeof ",...");
            break;
        }
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s%u", i > 0 ? "," : "", rank->group[i]);
    }
    return ntk_hooks_name(text);
}

/* Takes an entry for a new communicator: an unused one, or the one left longest ago. The caller
 * holds the table's lock. */
static uint32_t slot_take(void)
{
    uint64_t oldest = UINT64_MAX;
    uint32_t found = NTK_SEGMENT_COMMS;

    for (uint32_t i = 0; i < NTK_SEGMENT_COMMS; i++) {
        const struct ntk_segment_comm *entry = &hooks.segment.comms[i];
        uint32_t state = ntk_abi_load(&entry->state);

        if (state == NTK_COMM_FREE) {
            return i;
        }
        if (state != NTK_COMM_JOINED && entry->join_realtime_ns < oldest) {
            oldest = entry->join_realtime_ns;
            found = i;
        }
    }
    return found;
}

/* Opens an entry for a change: until entry_close(), readers skip it. Pairs with read_comm() in
 * ring_segment_comms.c. */
static void entry_open(struct ntk_segment_comm *entry)
{
    /* Make it odd, even if a thread that exited left it odd. */
    ntk_abi_store(&entry->seq, ntk_abi_load(&entry->seq) | 1);
    ntk_abi_fence_release();
}

static void entry_close(struct ntk_segment_comm *entry)
{
    /* Make it even, even if another thread has taken the lock from one that it presumed dead. */
    ntk_abi_store_release(&entry->seq, (ntk_abi_load(&entry->seq) | 1) + 1);
}

static void entry_fill(struct ntk_segment_comm *entry, const struct ntk_segment_comm *about)
{
    const uint64_t *from = (const void *)about;
    uint64_t *to = (void *)entry;

    entry_open(entry);
    for (size_t i = 1; i < sizeof *entry / sizeof *to; i++) { /* all words except seq */
        ntk_abi_store((ntk_abi_word *)&to[i], ((const ntk_abi_word *)from)[i]);
    }
    entry_close(entry);
}

/* Finds a free key. A rank that joins the same key twice, for example with a model loaded twice,
 * joins two communicators. All ranks do the same, and a restarted rank finds the same keys free.
 * The caller holds the table's lock. */
static uint64_t key_free(uint64_t key, uint32_t rank)
{
    uint64_t wanted = key;

    for (uint64_t nth = 1; nth <= NTK_SEGMENT_COMMS; nth++) {
        bool is_taken = false;

        for (uint32_t i = 0; i < NTK_SEGMENT_COMMS && !is_taken; i++) {
            const struct ntk_segment_comm *entry = &hooks.segment.comms[i];
            uint32_t state = ntk_abi_load(&entry->state);

            if (state == NTK_COMM_FREE) {
                break; /* entries are used in order, so the rest is unused */
            }
            is_taken = state == NTK_COMM_JOINED && entry->key == wanted && entry->rank == rank;
        }
        if (!is_taken) {
            break;
        }
        wanted = hash_add(key, &nth, sizeof nth);
        wanted += wanted == 0;
    }
    return wanted;
}

static ntk_hooks_comm join(const struct ntk_hooks_rank *rank, uint16_t core,
                           const struct ntk_hooks_model *model)
{
    struct ntk_segment_comm about = {
        .key = key_of(rank, model != NULL ? model->uuid : NULL),
        .state = NTK_COMM_JOINED,
        .rank = place_of(rank),
        .rank_count = rank->group != NULL ? rank->group_count : rank->world_count,
        .world_rank = rank->world_rank,
        .world_count = rank->world_count,
        .model = model != NULL ? model->id : 0,
        .core = core,
    };

    if (ntk_abi_load(&hooks_mask) == 0) {
        return 0;
    }
    about.join_realtime_ns = ntk_raw_clock_system_ns(CLOCK_REALTIME);
    about.name = ntk_hooks_name(rank->rendezvous);
    about.group = group_name(rank);
    if (!hooks_table_lock()) {
        return 0;
    }
    about.key = key_free(about.key, about.rank);
    uint32_t slot = slot_take();
    /* The last owner may be about to close the entry. */
    if (slot < NTK_SEGMENT_COMMS && hooks_core_lock_take(&hooks.comm_lock[slot])) {
        entry_fill(&hooks.segment.comms[slot], &about);
        hooks_core_lock_drop(&hooks.comm_lock[slot]);
    } else {
        slot = NTK_SEGMENT_COMMS;
        ntk_abi_add_shared(&hooks.segment.header->comms_refused, 1);
    }
    hooks_table_unlock();
    return slot < NTK_SEGMENT_COMMS ? slot + 1 : 0;
}

ntk_hooks_comm ntk_hooks_comm_join(const struct ntk_hooks_rank *rank, uint16_t core)
{
    return join(rank, core, NULL);
}

void ntk_hooks_comm_leave(ntk_hooks_comm comm, bool is_broken)
{
    if (ntk_abi_load(&hooks_mask) == 0 || comm - 1u >= NTK_SEGMENT_COMMS) {
        return;
    }
    struct ntk_segment_comm *entry = &hooks.segment.comms[comm - 1];

    if (hooks_core_lock_take(&hooks.comm_lock[comm - 1])) {
        entry_open(entry);
        ntk_abi_store(&entry->state, (uint32_t)(is_broken ? NTK_COMM_BROKEN : NTK_COMM_LEFT));
        entry_close(entry);
        hooks_core_lock_drop(&hooks.comm_lock[comm - 1]);
    }
}

uint64_t ntk_hooks_comm_key(ntk_hooks_comm comm)
{
    return ntk_abi_load(&hooks_mask) == 0 || comm - 1u >= NTK_SEGMENT_COMMS
               ? 0
               : ntk_abi_load(&hooks.segment.comms[comm - 1].key);
}

/* Leaves all communicators when the process exits regularly; no other rank will miss it. */
void hooks_comms_leave_all(void)
{
    for (uint32_t i = 0; i < NTK_SEGMENT_COMMS; i++) {
        struct ntk_segment_comm *entry = &hooks.segment.comms[i];
        uint32_t state = ntk_abi_load(&entry->state);

        if (state == NTK_COMM_FREE) {
            return;
        }
        if (state == NTK_COMM_JOINED) {
            ntk_hooks_comm_leave(i + 1, false);
        }
    }
}

/* ---- operations ---- */

/* Maximum number of operations in flight that are distinguished; beyond it, the latest ones are. */
#define WAITING 64

struct operation {
    enum ntk_collective kind;
    uint32_t dtype;
    uint64_t bytes;
    uint32_t tid;
};

/* The waiting operations of each communicator, indexed like its entry; protected by the entry's
 * lock. */
static struct operation waiting[NTK_SEGMENT_COMMS][WAITING];

static struct operation *waiting_at(const struct ntk_segment_comm *entry, uint64_t sequence)
{
    return &waiting[entry - hooks.segment.comms][sequence % WAITING];
}

/* The tid of the calling thread; 0 if it records nothing. Must be called before locking, because it
 * may create the ring. */
static uint32_t own_tid(void)
{
    const struct ntk_ring_writer *writer =
        (ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0 ? hooks_ring() : NULL;

    return writer != NULL ? hooks.segment.threads[writer->thread].tid : 0;
}

/* Makes an operation the current one. The caller holds the lock and has opened the entry. */
static void at_hand(struct ntk_segment_comm *entry, const struct operation *operation, uint64_t now)
{
    ntk_abi_store(&entry->enter_ticks, now);
    ntk_abi_store(&entry->bytes, operation->bytes);
    ntk_abi_store(&entry->operation, (uint32_t)operation->kind);
    ntk_abi_store(&entry->dtype, operation->dtype);
    ntk_abi_store(&entry->tid, operation->tid);
}

/* Adds an operation; one that arrives while others are in flight waits for them. The caller holds
 * the lock. */
static void enter(struct ntk_segment_comm *entry, const struct operation *operation, uint64_t now)
{
    uint64_t in_flight = ntk_abi_load(&entry->in_flight);
    uint64_t sequence = ntk_abi_load(&entry->sequence) + 1;

    *waiting_at(entry, sequence) = *operation;
    entry_open(entry);
    ntk_abi_store(&entry->sequence, sequence);
    ntk_abi_store(&entry->in_flight, in_flight + 1);
    if (in_flight == 0) {
        at_hand(entry, operation, now);
        ntk_abi_store(&entry->leave_ticks, 0);
    }
    entry_close(entry);
}

/* An operation that ended. */
struct ended {
    uint16_t flags;
    uint64_t start_ticks;
    uint64_t sequence;
    uint64_t bytes;
};

/* Ends the oldest operation in flight, and makes the next one current; false if none was in flight.
 * The caller holds the lock. */
static bool leave(struct ntk_segment_comm *entry, uint64_t now, uint64_t wait_ticks,
                  uint32_t status, struct ended *out)
{
    uint64_t in_flight = ntk_abi_load(&entry->in_flight);
    uint64_t enter_ticks = ntk_abi_load(&entry->enter_ticks);
    uint64_t time_ns = hooks_span_ns(enter_ticks, now);
    uint32_t kind = ntk_abi_load(&entry->operation);

    if (in_flight == 0) {
        return false;
    }
    *out = (struct ended){ .flags = (uint16_t)(kind | (ntk_abi_load(&entry->dtype) & 0xffu) << 8),
                           .start_ticks = enter_ticks,
                           .sequence = ntk_abi_load(&entry->sequence) - in_flight + 1,
                           .bytes = ntk_abi_load(&entry->bytes) };
    entry_open(entry);
    ntk_abi_store(&entry->in_flight, in_flight - 1);
    if (in_flight > 1) {
        at_hand(entry, waiting_at(entry, out->sequence + 1), now);
    } else {
        ntk_abi_store(&entry->leave_ticks, now);
    }
    ntk_abi_store(&entry->status, status);
    ntk_abi_store(&entry->count[kind], ntk_abi_load(&entry->count[kind]) + 1);
    ntk_abi_store(&entry->time_ns, ntk_abi_load(&entry->time_ns) + time_ns);
    ntk_abi_store(&entry->wait_ns,
                  ntk_abi_load(&entry->wait_ns) + hooks_scale(wait_ticks, hooks.ns_per_tick));
    if (status != 0) {
        ntk_abi_store(&entry->errors, ntk_abi_load(&entry->errors) + 1);
    } else {
        ntk_abi_store(&entry->bytes_total, ntk_abi_load(&entry->bytes_total) + out->bytes);
        if (time_ns > ntk_abi_load(&entry->longest_ns)) {
            ntk_abi_store(&entry->longest_ns, time_ns);
        }
    }
    entry_close(entry);
    return true;
}

/* Ends an operation. The record is written without the lock, because the thread's ring may have to
 * be created. */
static void end(uint32_t comm, uint64_t now, uint64_t wait_ticks, uint32_t status)
{
    struct ntk_segment_comm *entry = &hooks.segment.comms[comm - 1];
    struct ended ended;

    if (!hooks_core_lock_take(&hooks.comm_lock[comm - 1])) {
        return;
    }
    bool has_ended = leave(entry, now, wait_ticks, status, &ended);
    hooks_core_lock_drop(&hooks.comm_lock[comm - 1]);
    if (has_ended && (ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0) {
        hooks_record(NTK_SLOT_META(NTK_EVENT_COLLECTIVE, ended.flags, entry->core, 0),
                     ended.start_ticks, hooks_span_ticks(ended.start_ticks, now),
                     NTK_WORD(comm - 1, status), ended.sequence, ended.bytes, wait_ticks);
    }
}

uint64_t ntk_hooks_collective_begin(ntk_hooks_comm comm, enum ntk_collective operation,
                                    uint32_t dtype, uint64_t bytes)
{
    struct operation what = { .kind = operation, .dtype = dtype, .bytes = bytes };
    uint64_t now;

    if (ntk_abi_load(&hooks_mask) == 0 || comm - 1u >= NTK_SEGMENT_COMMS) {
        return 0;
    }
    what.tid = own_tid();
    now = hooks_now();
    if (hooks_core_lock_take(&hooks.comm_lock[comm - 1])) {
        enter(&hooks.segment.comms[comm - 1], &what, now);
        hooks_core_lock_drop(&hooks.comm_lock[comm - 1]);
    }
    return now;
}

void ntk_hooks_collective_end(ntk_hooks_comm comm, uint64_t wait_ticks, uint32_t status)
{
    if (ntk_abi_load(&hooks_mask) == 0 || comm - 1u >= NTK_SEGMENT_COMMS) {
        return;
    }
    end(comm, hooks_now(), wait_ticks, status);
}

/* ---- executions of a model ---- */

void hooks_comm_program_join(uint32_t slot, const struct ntk_hooks_model *model)
{
    ntk_hooks_comm comm = join(model->rank, model->core, model);

    if (comm != 0) {
        struct ntk_segment_model *entry = &hooks.segment.models[slot];

        hooks.model_comm[slot] = (uint16_t)comm;
        ntk_abi_store(&entry->flags, entry->flags | NTK_PROCESS_RANK);
    }
}

void hooks_comm_program_leave(uint32_t slot)
{
    ntk_hooks_comm_leave(hooks.model_comm[slot], false);
    hooks.model_comm[slot] = 0;
}

void hooks_comm_program_begin(uint32_t slot, uint16_t core, uint64_t now)
{
    struct operation what = { .kind = NTK_COLLECTIVE_PROGRAM };
    uint32_t comm = hooks.model_comm[slot];

    /* A part on another core was already counted on the first core. */
    if (comm == 0 || hooks.segment.comms[comm - 1].core != core) {
        return;
    }
    what.tid = own_tid();
    if (hooks_core_lock_take(&hooks.comm_lock[comm - 1])) {
        enter(&hooks.segment.comms[comm - 1], &what, now);
        hooks_core_lock_drop(&hooks.comm_lock[comm - 1]);
    }
}

void hooks_comm_program_end(uint32_t slot, uint64_t now, uint32_t status)
{
    uint32_t comm = hooks.model_comm[slot];

    if (comm != 0) {
        end(comm, now, 0, status);
    }
}

/* Undoes the start of an execution that never ran. */
void hooks_comm_program_cancel(uint32_t slot, uint64_t now)
{
    uint32_t comm = hooks.model_comm[slot];

    if (comm != 0 && hooks_core_lock_take(&hooks.comm_lock[comm - 1])) {
        struct ntk_segment_comm *entry = &hooks.segment.comms[comm - 1];
        uint64_t in_flight = ntk_abi_load(&entry->in_flight);

        if (in_flight > 0) {
            entry_open(entry);
            ntk_abi_store(&entry->in_flight, in_flight - 1);
            ntk_abi_store(&entry->sequence, ntk_abi_load(&entry->sequence) - 1);
            if (in_flight == 1) {
                ntk_abi_store(&entry->leave_ticks, now);
            }
            entry_close(entry);
        }
        hooks_core_lock_drop(&hooks.comm_lock[comm - 1]);
    }
}
