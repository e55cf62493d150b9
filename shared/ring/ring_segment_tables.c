/* SPDX-License-Identifier: MIT */
/* ring_segment_tables - copies the tables of a segment into bounded plain structs: cores,
 * histograms, models, memory, names, threads. */
#include "shared/ring/ring_segment_private.h"

#include <errno.h>
#include <string.h>

#include "shared/abi/raw_clock.h"

/* After this many consecutive unused rows, the rest is unused, too. */
#define MEMORY_ROWS_UNUSED 8

/* ---- cores ---- */

/* Reads line 0 under its sequence word; keeps the last values if that stays odd. Pairs with
 * core_turn() in runtime-hooks/hooks/hooks.c. */
static void read_core_line(const struct ntk_segment_core *block, struct ntk_ring_core_seen *seen)
{
    int i;

    for (i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&block->seq);
        struct ntk_ring_core_seen now = *seen;

        now.busy_ns = ntk_abi_load(&block->busy_ns);
        now.in_flight = ntk_abi_load(&block->in_flight);
        now.since_ticks = ntk_abi_load(&block->since_ticks);
        now.current_model = ntk_abi_load(&block->current_model);
        ntk_abi_fence_acquire();
        if ((seq & 1) == 0 && ntk_abi_load(&block->seq) == seq) {
            *seen = now;
            return;
        }
    }
}

size_t ntk_ring_segment_cores(struct ntk_ring_segment *segment, struct ntk_ring_core *out_cores,
                              size_t out_count)
{
    const struct ntk_segment_header *header = (const void *)segment->base;
    uint64_t now = ntk_raw_clock_now(segment->process.clock.kind);
    uint64_t now_ns = ntk_ring_segment_monotonic_ns(segment, now);
    size_t filled = 0;
    uint32_t i;

    for (i = 0; i < segment->section[NTK_SECTION_CORES].count && filled < out_count; i++) {
        const struct ntk_segment_core *block =
            (const void *)segment_entry_at(segment, NTK_SECTION_CORES, i);
        struct ntk_ring_core_seen *seen = &segment->core_seen[i];
        struct ntk_ring_core *out = &out_cores[filled];
        uint32_t state;

        if ((ntk_abi_load(&header->cores_used[i / 64]) >> i % 64 & 1) == 0) {
            continue;
        }
        state = ntk_abi_load_acquire(&block->state);
        if (state == NTK_CORE_UNUSED) {
            continue;
        }
        segment->first_core = filled == 0 ? i : segment->first_core;
        segment_copy_words(&out->counters, block, offsetof(struct ntk_segment_core, reserved_2));
        memset(out->counters.reserved_2, 0, sizeof out->counters.reserved_2);
        read_core_line(block, seen);
        out->core = (uint16_t)i;
        out->owned = state == NTK_CORE_OWNED && segment->state == NTK_SEGMENT_ALIVE;
        out->has_histogram = ntk_abi_load_acquire(&block->histogram) != 0;
        out->logical = ntk_abi_load(&block->logical);
        if (out->logical >= NTK_SEGMENT_CORES) {
            out->logical = i / segment->process.lnc;
        }
        out->in_flight = segment->state == NTK_SEGMENT_ALIVE ? seen->in_flight : 0;
        out->current_model = seen->current_model;
        out->running_ns = out->idle_ns = 0;
        out->failing_since_ns =
            out->counters.failing_since_ticks != 0
                ? ntk_ring_segment_realtime_ns(segment, out->counters.failing_since_ticks)
                : 0;
        if (out->owned && out->in_flight == 0) {
            uint64_t began_ns = segment->process.clock.monotonic_ns;

            out->idle_ns = seen->since_ticks == 0 ? now_ns - (began_ns < now_ns ? began_ns : now_ns)
                           : now > seen->since_ticks
                               ? ntk_ring_segment_ticks_to_ns(segment, now - seen->since_ticks)
                               : 0;
        }
        out->busy_ns = seen->busy_ns;
        out->read_monotonic_ns = now_ns;
        if (out->in_flight > 0 && now > seen->since_ticks) {
            out->running_ns = ntk_ring_segment_ticks_to_ns(segment, now - seen->since_ticks);
            out->busy_ns = out->running_ns > UINT64_MAX - out->busy_ns
                               ? UINT64_MAX
                               : out->busy_ns + out->running_ns;
        }
        /* Writer and reader use slightly different tick frequencies, but busy time must never
         * decrease. */
        if (out->busy_ns < seen->reported_ns && seen->reported_ns - out->busy_ns < 1000000000u) {
            out->busy_ns = seen->reported_ns;
        }
        seen->reported_ns = out->busy_ns;
        out->counters.busy_ns = seen->busy_ns;
        out->counters.in_flight = seen->in_flight;
        out->counters.since_ticks = seen->since_ticks;
        filled++;
    }
    return filled;
}

/* ---- histograms ---- */

static void clear_buckets(struct ntk_ring_buckets *out)
{
    uint32_t line = 0;

    while ((line = ntk_ring_line_next(out->lines, line)) < NTK_HISTOGRAM_LINES) {
        memset(&out->bucket[line++ * NTK_HISTOGRAM_LINE_BUCKETS], 0,
               NTK_HISTOGRAM_LINE_BUCKETS * sizeof *out->bucket);
    }
    memset(out->lines, 0, sizeof out->lines);
    out->sum_ns = 0;
}

/* Reads the lines that have counts; they replace those of an earlier read. */
static void read_buckets(struct ntk_ring_buckets *out, const uint64_t *buckets, const uint64_t *sum,
                         const uint64_t *lines)
{
    clear_buckets(out);
    /* Pairs with histogram_add(): the sum never includes more executions than the buckets, and no
     * bucket outside of the lines has counts. */
    out->sum_ns = ntk_abi_load_acquire(sum);
    for (size_t w = 0; w < NTK_HISTOGRAM_LINE_WORDS; w++) {
        out->lines[w] = ntk_abi_load_acquire(&lines[w]);
    }
    for (uint32_t line = 0; (line = ntk_ring_line_next(out->lines, line)) < NTK_HISTOGRAM_LINES;
         line++) {
        __builtin_prefetch(&buckets[line * NTK_HISTOGRAM_LINE_BUCKETS]);
    }
    for (uint32_t line = 0; (line = ntk_ring_line_next(out->lines, line)) < NTK_HISTOGRAM_LINES;
         line++) {
        uint32_t first = line * NTK_HISTOGRAM_LINE_BUCKETS;

        segment_copy_words(&out->bucket[first], &buckets[first],
                           NTK_HISTOGRAM_LINE_BUCKETS * sizeof *buckets);
    }
}

static int read_histogram(const struct ntk_ring_segment *segment, uint32_t pair, uint64_t owner,
                          struct ntk_ring_histogram *out)
{
    const struct ntk_histogram_pair *source;

    if (pair >= segment->section[NTK_SECTION_HISTOGRAMS].count) {
        return -ENOENT;
    }
    source = (const void *)segment_entry_at(segment, NTK_SECTION_HISTOGRAMS, pair);
    /* Pairs with hooks_histogram_prepare(): the owner is removed before the counters are
     * cleared. */
    if (ntk_abi_load_acquire(&source->owner) != owner) {
        return -ENOENT;
    }
    read_buckets(&out->total, source->total, &source->total_sum_ns, source->lines);
    if (out->total_only) {
        clear_buckets(&out->device);
    } else {
        read_buckets(&out->device, source->device, &source->device_sum_ns, source->lines);
    }
    ntk_abi_fence_acquire();
    return ntk_abi_load(&source->owner) == owner ? 0 : -ENOENT;
}

uint64_t ntk_ring_segment_in_flight_offset(const struct ntk_ring_segment *segment, uint16_t core)
{
    return (uint64_t)(segment_entry_at(segment, NTK_SECTION_CORES, core) - segment->base) +
           offsetof(struct ntk_segment_core, in_flight);
}

int ntk_ring_segment_core_histogram(const struct ntk_ring_segment *segment, uint16_t core,
                                    struct ntk_ring_histogram *out)
{
    const struct ntk_segment_core *block;

    if (core >= segment->section[NTK_SECTION_CORES].count) {
        return -ENOENT;
    }
    block = (const void *)segment_entry_at(segment, NTK_SECTION_CORES, core);
    if (ntk_abi_load_acquire(&block->histogram) == 0) {
        return -ENOENT;
    }
    return read_histogram(segment, core, NTK_HISTOGRAM_OWNER_CORE(core), out);
}

int ntk_ring_segment_model_histogram(const struct ntk_ring_segment *segment,
                                     const struct ntk_ring_model *model,
                                     struct ntk_ring_histogram *out)
{
    if (!model->has_histogram || model->slot >= NTK_SEGMENT_MODELS) {
        return -ENOENT;
    }
    return read_histogram(segment, NTK_SEGMENT_CORES + model->slot,
                          NTK_HISTOGRAM_OWNER_MODEL(model->id), out);
}

/* ---- models ---- */

/* Reads under the slot's sequence word; false if the slot is being written, or was never
 * finished. */
static bool read_model(const struct ntk_segment_model *entry, struct ntk_segment_model *out)
{
    int i;

    for (i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&entry->seq);

        if ((seq & 1) != 0) {
            continue;
        }
        segment_copy_words(out, entry, sizeof *out);
        ntk_abi_fence_acquire();
        if (ntk_abi_load(&entry->seq) == seq) {
            return true;
        }
    }
    return false;
}

size_t ntk_ring_segment_models(const struct ntk_ring_segment *segment,
                               struct ntk_ring_model *out_models, size_t out_count)
{
    size_t filled = 0;
    uint32_t i;

    for (i = 0; i < segment->section[NTK_SECTION_MODELS].count && filled < out_count; i++) {
        const struct ntk_segment_model *entry =
            (const void *)segment_entry_at(segment, NTK_SECTION_MODELS, i);
        struct ntk_ring_model *out = &out_models[filled];
        struct ntk_segment_model model;

        if (ntk_abi_load_acquire(&entry->state) == NTK_MODEL_FREE) {
            break; /* slots are used in order and never become free again, so the rest is unused */
        }
        if (!read_model(entry, &model) || model.id == 0 || model.state == NTK_MODEL_FREE ||
            model.state > NTK_MODEL_UNLOADED) {
            continue;
        }
        out->id = model.id;
        out->slot = i;
        out->state = model.state;
        memcpy(out->uuid, model.uuid, sizeof out->uuid);
        out->core = model.core < NTK_SEGMENT_CORES ? model.core : (uint16_t)NTK_NO_CORE;
        out->core_count = model.core_count <= NTK_SEGMENT_CORES ? model.core_count : 0;
        if (out->core == NTK_NO_CORE) {
            out->core_count = 0;
        } else if (out->core_count > NTK_SEGMENT_CORES - out->core) {
            out->core_count = (uint16_t)(NTK_SEGMENT_CORES - out->core);
        }
        out->has_histogram = model.histogram != 0;
        out->load_realtime_ns = model.load_realtime_ns;
        out->load_ns = model.load_ns;
        out->device_bytes = model.device_bytes;
        out->running = model.running < 1ull << 32 ? model.running : 0;
        out->executions = model.executions;
        out->errors = model.errors;
        out->effective_flops = model.effective_flops;
        out->node_switches = model.node_switches;
        out->starts = model.starts;
        out->stops = model.stops;
        out->flags = model.flags;
        ntk_ring_segment_take_text(out->name, model.name, sizeof model.name);
        ntk_ring_segment_take_text(out->neff_path, model.neff_path, sizeof model.neff_path);
        filled++;
    }
    return filled;
}

void ntk_ring_segment_model_name(const struct ntk_ring_segment *segment, uint32_t id,
                                 char out_name[NTK_MODEL_NAME_BYTES + 1])
{
    out_name[0] = '\0';
    for (uint32_t i = 0; id != 0 && i < segment->section[NTK_SECTION_MODELS].count; i++) {
        const struct ntk_segment_model *entry =
            (const void *)segment_entry_at(segment, NTK_SECTION_MODELS, i);
        struct ntk_segment_model model;

        if (ntk_abi_load_acquire(&entry->state) == NTK_MODEL_FREE) {
            return;
        }
        if (ntk_abi_load(&entry->id) != id) {
            continue;
        }
        if (read_model(entry, &model) && model.id == id && model.state <= NTK_MODEL_UNLOADED) {
            ntk_ring_segment_take_text(out_name, model.name, sizeof model.name);
        }
        return;
    }
}

/* ---- memory ---- */

size_t ntk_ring_segment_memory(const struct ntk_ring_segment *segment,
                               struct ntk_ring_memory *out_rows, size_t out_count)
{
    size_t filled = 0;
    uint32_t unused = 0; /* consecutive unused rows */
    uint32_t i;

    /* Rows are used in order, and a used row keeps its counts, so most of the table need not be
     * read. A row that is being reused temporarily has neither key nor counts. */
    for (i = 0; i < segment->section[NTK_SECTION_MEMORY].count && filled < out_count &&
                unused < MEMORY_ROWS_UNUSED;
         i++) {
        const struct ntk_segment_memory_row *row =
            (const void *)segment_entry_at(segment, NTK_SECTION_MEMORY, i);
        struct ntk_ring_memory *out = &out_rows[filled];
        /* Pairs with the release stores of add_row() and hooks_rows_release(). */
        uint64_t key = ntk_abi_load_acquire(&row->key);

        unused = key == 0 && ntk_abi_load(&row->alloc_count) == 0 ? unused + 1 : 0;
        if (key >> 63 == 0 || NTK_MEMORY_KEY_CATEGORY(key) >= NTK_MEMORY_CATEGORY_COUNT ||
            ntk_memory_location_of((enum ntk_memory_category)NTK_MEMORY_KEY_CATEGORY(key)) !=
                NTK_MEMORY_KEY_LOCATION(key)) {
            continue;
        }
        out->model = NTK_MEMORY_KEY_MODEL(key);
        out->core = (uint16_t)NTK_MEMORY_KEY_CORE(key);
        if (out->core >= NTK_SEGMENT_CORES) {
            out->core = (uint16_t)NTK_NO_CORE;
        }
        out->category = (uint8_t)NTK_MEMORY_KEY_CATEGORY(key);
        out->location = (uint8_t)NTK_MEMORY_KEY_LOCATION(key);
        out->current_bytes = ntk_abi_load(&row->current_bytes);
        if (out->current_bytes >> 63 != 0) {
            out->current_bytes = 0; /* the free was counted before its allocation */
        }
        out->peak_bytes = ntk_abi_load(&row->peak_bytes);
        out->alloc_count = ntk_abi_load(&row->alloc_count);
        out->free_count = ntk_abi_load(&row->free_count);
        out->last_bytes = ntk_abi_load(&row->last_bytes);
        ntk_abi_fence_acquire();
        if (ntk_abi_load(&row->key) == key) {
            filled++;
        }
    }
    return filled;
}

/* ---- names and threads ---- */

size_t ntk_ring_segment_text(const struct ntk_ring_segment *segment, uint32_t name, char *buf,
                             size_t buf_bytes)
{
    const struct ntk_segment_name *entry;
    uint32_t bytes;
    uint32_t offset;

    if (buf_bytes == 0) {
        return 0;
    }
    buf[0] = '\0';
    if (name == 0 || name >= segment->section[NTK_SECTION_NAMES].count) {
        return 0;
    }
    entry = (const void *)segment_entry_at(segment, NTK_SECTION_NAMES, name);
    /* Pairs with the release store in ntk_hooks_name(). */
    bytes = ntk_abi_load_acquire(&entry->bytes_plus_one);
    offset = ntk_abi_load(&entry->offset);
    if (bytes == 0 || offset > segment->section[NTK_SECTION_NAME_BYTES].count ||
        bytes - 1 > segment->section[NTK_SECTION_NAME_BYTES].count - offset ||
        segment->section[NTK_SECTION_NAME_BYTES].entry_bytes != 1) {
        return 0;
    }
    bytes--;
    if (bytes > buf_bytes - 1) {
        bytes = (uint32_t)(buf_bytes - 1);
    }
    memcpy(buf, segment->section[NTK_SECTION_NAME_BYTES].at + offset, bytes);
    buf[bytes] = '\0';
    return ntk_ring_segment_make_printable(buf, bytes);
}

void ntk_ring_segment_thread(const struct ntk_ring_segment *segment, const struct ntk_slot *slot,
                             struct ntk_ring_thread *out)
{
    const struct ntk_segment_thread *entry;
    int i;

    memset(out, 0, sizeof *out);
    if (slot->thread == 0 || slot->thread >= segment->section[NTK_SECTION_THREADS].count) {
        return;
    }
    entry = (const void *)segment_entry_at(segment, NTK_SECTION_THREADS, slot->thread);
    for (i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&entry->seq);
        struct ntk_segment_thread thread;

        if ((seq & 1) != 0) {
            continue;
        }
        segment_copy_words(&thread, entry, sizeof thread);
        ntk_abi_fence_acquire();
        if (ntk_abi_load(&entry->seq) != seq) {
            continue;
        }
        /* A record from long before the entry was taken belongs to an earlier thread. Spans may
         * begin slightly before their thread's first event. */
        if (slot->start_ticks + slot->word[0] < thread.first_ticks &&
            slot->kind != NTK_EVENT_NONE) {
            return;
        }
        out->tid = thread.tid;
        out->alive = thread.state == NTK_THREAD_ALIVE;
        out->first_ticks = thread.first_ticks;
        ntk_ring_segment_take_text(out->name, thread.name, sizeof thread.name);
        return;
    }
}
