/* SPDX-License-Identifier: MIT */
#include "shared/ring/ring_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/raw_clock.h"
#include "shared/ring/map_guard.h"

#define PAGE_BYTES 4096u
#define ENTRY_BYTES_MAX (1u << 20)
#define RING_SLOTS_MAX (1u << 24)
#define TRIES 3                 /* of a sequence protocol, then the last sound values count */
#define BASELINE_NS 1000000000u /* brackets closer together say less than the header's frequency */

/* What this version knows of each section. */
static const struct {
    const char *name;
    uint32_t entry_bytes;
    uint32_t count_min;
    uint32_t count_max;
    uint32_t alignment;
} known[NTK_SECTION_COUNT] = {
    [NTK_SECTION_PROCESS] = { "process", sizeof(struct ntk_segment_process), 1, 1, 64 },
    [NTK_SECTION_CORES] = { "cores", sizeof(struct ntk_segment_core), 1, NTK_SEGMENT_CORES, 64 },
    [NTK_SECTION_MODELS] = { "models", sizeof(struct ntk_segment_model), 1, NTK_SEGMENT_MODELS,
                             64 },
    [NTK_SECTION_MEMORY] = { "memory", sizeof(struct ntk_segment_memory_row), 1,
                             NTK_SEGMENT_MEMORY_ROWS, 64 },
    [NTK_SECTION_NAMES] = { "names", sizeof(struct ntk_segment_name), 1, NTK_SEGMENT_NAMES, 8 },
    [NTK_SECTION_NAME_BYTES] = { "name bytes", 1, 1, NTK_SEGMENT_NAME_BYTES, 1 },
    [NTK_SECTION_THREADS] = { "threads", sizeof(struct ntk_segment_thread), 1, NTK_SEGMENT_THREADS,
                              64 },
    [NTK_SECTION_RINGS] = { "rings", sizeof(struct ntk_segment_ring), 1, NTK_SEGMENT_RINGS, 64 },
    [NTK_SECTION_SLOTS] = { "slots", NTK_SLOT_BYTES, 0, UINT32_MAX, 64 },
    [NTK_SECTION_HISTOGRAMS] = { "histograms", sizeof(struct ntk_histogram_pair), 1,
                                 NTK_SEGMENT_HISTOGRAM_PAIRS, 64 },
};

static const uint8_t *entry_at(const struct ntk_ring_segment *segment,
                               enum ntk_segment_section_id section, uint32_t index)
{
    return segment->section[section].at + (size_t)index * segment->section[section].entry_bytes;
}

/* Copies a run of 64-bit words that the writer may be changing. */
static void copy_words(void *to, const void *from, size_t bytes)
{
    const ntk_abi_word *source = from;
    ntk_abi_word *target = to;
    size_t i;

    for (i = 0; i < bytes / sizeof *target; i++) {
        target[i] = ntk_abi_load(&source[i]);
    }
}

/* ---- texts ---- */

/* Bytes of the sound UTF-8 sequence at text, 0 when there is none or it is a control character. */
static size_t utf8_sequence(const unsigned char *text, size_t bytes)
{
    size_t length;
    size_t i;

    if (text[0] < 0x20 || text[0] == 0x7f) {
        return 0;
    }
    if (text[0] < 0x80) {
        return 1;
    }
    if (text[0] >= 0xc2 && text[0] <= 0xdf) {
        length = 2;
    } else if ((text[0] & 0xf0) == 0xe0) {
        length = 3;
    } else if (text[0] >= 0xf0 && text[0] <= 0xf4) {
        length = 4;
    } else {
        return 0;
    }
    if (length > bytes) {
        return 0;
    }
    for (i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((text[0] == 0xc2 && text[1] < 0xa0) || (text[0] == 0xe0 && text[1] < 0xa0) ||
        (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf0 && text[1] < 0x90) ||
        (text[0] == 0xf4 && text[1] > 0x8f)) {
        return 0;
    }
    return length;
}

/* Makes bytes of text printable in place, up to its NUL or end, and ends it; buf holds bytes + 1. */
static size_t make_printable(char *buf, size_t bytes)
{
    size_t length = strnlen(buf, bytes);
    size_t i = 0;

    while (i < length) {
        size_t sequence = utf8_sequence((const unsigned char *)buf + i, length - i);

        if (sequence == 0) {
            buf[i] = '?';
            sequence = 1;
        }
        i += sequence;
    }
    buf[length] = '\0';
    return length;
}

/* ---- open and close ---- */

/* A copy of the section table that holds what it says. */
static int check_sections(struct ntk_ring_segment *segment, const struct ntk_segment_header *header,
                          struct ntk_err *err)
{
    uint32_t i;

    for (i = 0; i < NTK_SECTION_COUNT; i++) {
        const struct ntk_segment_section *section = &header->section[i];

        if (section->offset % known[i].alignment != 0 || section->offset < sizeof *header ||
            section->offset > header->segment_bytes) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "section %s lies at %llu",
                               known[i].name, (unsigned long long)section->offset);
        }
        if (section->entry_bytes < known[i].entry_bytes || section->entry_bytes > ENTRY_BYTES_MAX ||
            section->entry_bytes % known[i].alignment != 0 || section->count < known[i].count_min ||
            section->count > known[i].count_max ||
            (i == NTK_SECTION_SLOTS && section->entry_bytes != NTK_SLOT_BYTES)) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "section %s has %u entries of %u bytes", known[i].name,
                               section->count, section->entry_bytes);
        }
        if ((uint64_t)section->entry_bytes * section->count >
            header->segment_bytes - section->offset) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "section %s ends behind the file",
                               known[i].name);
        }
        segment->section[i].at = segment->base + section->offset;
        segment->section[i].entry_bytes = section->entry_bytes;
        segment->section[i].count = section->count;
    }
    return 0;
}

static int check_header(const struct ntk_segment_header *header, uint64_t file_bytes,
                        struct ntk_err *err)
{
    if (header->magic != NTK_SEGMENT_MAGIC) {
        return ntk_err_set(err, -EBADMSG, 0, "is no segment");
    }
    if (header->abi_version != NTK_SEGMENT_ABI_VERSION) {
        return ntk_err_set(err, -EPROTONOSUPPORT, 8, "has ABI version %u, this program knows %u",
                           header->abi_version, NTK_SEGMENT_ABI_VERSION);
    }
    if (header->header_bytes < sizeof *header || header->slot_bytes != NTK_SLOT_BYTES ||
        header->section_count < NTK_SECTION_COUNT || header->section_count > NTK_SECTION_LIMIT) {
        return ntk_err_set(err, -EBADMSG, 12, "has a header of unknown shape");
    }
    if (header->segment_bytes > file_bytes) {
        return ntk_err_set(err, -EBADMSG, 24, "says it has %llu bytes and has %llu",
                           (unsigned long long)header->segment_bytes,
                           (unsigned long long)file_bytes);
    }
    return 0;
}

static void take_text(char *out, const char *field, size_t bytes)
{
    memcpy(out, field, bytes);
    make_printable(out, bytes);
}

/* The process block, which does not change once the magic is there. */
static int take_process(struct ntk_ring_segment *segment, uint32_t owner, struct ntk_err *err)
{
    struct ntk_ring_process *out = &segment->process;
    struct ntk_segment_process block;

    copy_words(&block, segment->section[NTK_SECTION_PROCESS].at, sizeof block);
    if (block.uid != owner) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                           "says user %u wrote it and belongs to user %u", block.uid, owner);
    }
    if (block.pid == 0 || block.pid > INT32_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "names no process");
    }
    if (block.clock.kind != NTK_CLOCK_MONOTONIC &&
        block.clock.kind != ntk_raw_clock_counter_kind()) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "uses a clock this machine has not");
    }
    if (block.clock.ticks_per_second < 1000 || block.clock.ticks_per_second > 100000000000u) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "has a clock of %llu Hz",
                           (unsigned long long)block.clock.ticks_per_second);
    }
    out->pid = block.pid;
    out->own_pid = block.pid;
    out->start_time = block.start_time;
    out->uid = owner;
    out->mode = block.mode >= 2 ? 2 : 1;
    out->lnc = block.lnc == 2 ? 2 : 1;
    out->device_count = block.device_count <= NTK_SEGMENT_CORES ? block.device_count : 0;
    out->cores_per_device =
        block.cores_per_device <= NTK_SEGMENT_CORES ? block.cores_per_device : 0;
    out->framework_type = block.framework_type;
    out->flags = block.flags;
    out->clock = block.clock;
    segment->pid_namespace = block.pid_namespace;
    take_text(out->tag, block.tag, sizeof block.tag);
    take_text(out->framework_version, block.framework_version, sizeof block.framework_version);
    take_text(out->fal_version, block.fal_version, sizeof block.fal_version);
    take_text(out->runtime_version, block.runtime_version, sizeof block.runtime_version);
    take_text(out->instance_type, block.instance_type, sizeof block.instance_type);
    take_text(out->command, block.command, sizeof block.command);

    segment->clock.raw_ticks = block.clock.raw_ticks;
    segment->clock.monotonic_ns = block.clock.monotonic_ns;
    segment->clock.realtime_offset_ns =
        (int64_t)(block.clock.realtime_ns - block.clock.monotonic_ns);
    segment->clock.ns_per_tick = 1e9 / (double)block.clock.ticks_per_second;
    return 0;
}

/* Takes the mapping in any case. */
static int take_mapping(struct ntk_ring_segment *segment, const struct ntk_segment_header *header,
                        void *mapping, uint32_t owner, struct ntk_err *err)
{
    int ret;

    segment->base = mapping;
    segment->bytes = header->segment_bytes;
    segment->guard = ntk_map_guard_add(mapping, segment->bytes);
    if (segment->guard < 0) {
        return ntk_err_set(err, segment->guard, NTK_ERR_NO_OFFSET, "too many segments are mapped");
    }
    /* Pairs with the release store of the magic in runtime-hooks/hooks/segment.c. */
    (void)ntk_abi_load_acquire(&((const struct ntk_segment_header *)mapping)->magic);
    ret = check_sections(segment, header, err);
    return ret == 0 ? take_process(segment, owner, err) : ret;
}

int ntk_ring_segment_open(int fd, const char *path, enum ntk_ring_from from,
                          struct ntk_ring_segment **out_segment, struct ntk_err *err)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_segment_header header;
    struct stat status;
    void *mapping;
    int ret;

    if (fstat(fd, &status) != 0) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is no regular file", path);
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET, "others may write to %s", path);
    }
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || header.magic == 0) {
        return -EAGAIN;
    }
    if ((uint64_t)status.st_size > NTK_SEGMENT_BYTES_MAX) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "%s is larger than any segment", path);
    }
    ret = check_header(&header, (uint64_t)status.st_size, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
        return ret;
    }

    segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        return ntk_err_no_memory(err);
    }
    segment->fd = -1;
    segment->guard = -1;
    segment->from = from;
    segment->device = (uint64_t)status.st_dev;
    segment->inode = (uint64_t)status.st_ino;
    segment->path = strdup(path);
    if (segment->path == NULL) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    segment->name = strrchr(segment->path, '/');
    segment->name = segment->name != NULL ? segment->name + 1 : segment->path;
    mapping = mmap(NULL, header.segment_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        ret =
            ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot map %s: %s", path, strerror(errno));
        goto out;
    }
    ret = take_mapping(segment, &header, mapping, (uint32_t)status.st_uid, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
        goto out;
    }

    segment->fd = fd;
    *out_segment = segment;
    segment = NULL;

out:
    ntk_ring_segment_close(segment);
    return ret;
}

int ntk_ring_segment_adopt(void *mapping, size_t bytes, struct ntk_ring_segment **out_segment,
                           struct ntk_err *err)
{
    struct ntk_ring_segment *segment = NULL;
    struct ntk_segment_header header;
    int ret;

    if (bytes < sizeof header || bytes > NTK_SEGMENT_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "is no segment");
    }
    if (ntk_abi_load_acquire(&((const struct ntk_segment_header *)mapping)->magic) == 0) {
        return -EAGAIN;
    }
    memcpy(&header, mapping, sizeof header);
    ret = check_header(&header, bytes, err);
    if (ret < 0) {
        return ret;
    }
    /* The unmapping at the end goes by the header, so the two must agree. */
    if (header.segment_bytes != bytes) {
        return ntk_err_set(err, -EBADMSG, 24, "has %zu bytes and says %llu", bytes,
                           (unsigned long long)header.segment_bytes);
    }
    segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        return ntk_err_no_memory(err);
    }
    segment->fd = -1;
    segment->guard = -1;
    segment->from = NTK_RING_FROM_NOW;
    ret = take_mapping(segment, &header, mapping, (uint32_t)geteuid(), err);
    if (ret < 0) {
        segment->base = NULL; /* still the caller's */
        ntk_map_guard_remove(segment->guard);
        goto out;
    }

    *out_segment = segment;
    segment = NULL;

out:
    ntk_ring_segment_close(segment);
    return ret;
}

void ntk_ring_segment_close(struct ntk_ring_segment *segment)
{
    if (segment == NULL) {
        return;
    }
    if (segment->base != NULL) {
        ntk_map_guard_remove(segment->guard);
        munmap((void *)(uintptr_t)segment->base, segment->bytes);
    }
    if (segment->fd >= 0) {
        close(segment->fd);
    }
    free(segment->path);
    free(segment);
}

bool ntk_ring_segment_said_goodbye(const struct ntk_ring_segment *segment)
{
    const struct ntk_segment_process *process =
        (const void *)entry_at(segment, NTK_SECTION_PROCESS, 0);

    /* Pairs with the release store in hooks_segment_end(). */
    return ntk_abi_load_acquire(&process->ended) != 0;
}

bool ntk_ring_segment_is_damaged(const struct ntk_ring_segment *segment)
{
    return ntk_map_guard_is_damaged(segment->guard) != 0;
}

/* ---- what it is ---- */

enum ntk_segment_state ntk_ring_segment_state(const struct ntk_ring_segment *segment)
{
    return segment->state;
}

const char *ntk_ring_segment_path(const struct ntk_ring_segment *segment)
{
    return segment->path;
}

const char *ntk_ring_segment_name(const struct ntk_ring_segment *segment)
{
    return segment->name;
}

void ntk_ring_segment_process(const struct ntk_ring_segment *segment, struct ntk_ring_process *out)
{
    *out = segment->process;
    out->clean_exit = ntk_ring_segment_said_goodbye(segment);
}

void ntk_ring_segment_refusals(const struct ntk_ring_segment *segment,
                               struct ntk_ring_refusals *out)
{
    const struct ntk_segment_header *header = (const void *)segment->base;
    uint32_t i;

    out->events_without_ring = ntk_abi_load_acquire(&header->events_without_ring);
    out->rings = ntk_abi_load(&header->rings_refused);
    out->rings_shrunk = ntk_abi_load(&header->rings_shrunk);
    out->histograms = ntk_abi_load(&header->histograms_refused);
    out->models = ntk_abi_load(&header->models_refused);
    out->memory_rows = ntk_abi_load(&header->memory_rows_refused);
    out->names = ntk_abi_load(&header->names_refused);
    out->threads = ntk_abi_load(&header->threads_refused);
    out->events_in_signals = 0;
    for (i = 0; i < segment->section[NTK_SECTION_RINGS].count; i++) {
        const struct ntk_segment_ring *ring = (const void *)entry_at(segment, NTK_SECTION_RINGS, i);

        out->events_in_signals += ntk_abi_load(&ring->dropped);
    }
}

/* ---- clock ---- */

void ntk_ring_segment_refine_clock(struct ntk_ring_segment *segment,
                                   const struct ntk_segment_clock *bracket)
{
    const struct ntk_segment_clock *header = &segment->process.clock;
    double by_header = 1e9 / (double)header->ticks_per_second;

    if (bracket->kind != header->kind) {
        return;
    }
    if (bracket->raw_ticks > header->raw_ticks &&
        bracket->monotonic_ns > header->monotonic_ns + BASELINE_NS) {
        double measured = (double)(bracket->monotonic_ns - header->monotonic_ns) /
                          (double)(bracket->raw_ticks - header->raw_ticks);

        /* A header that lies about its triple only spoils its own times. */
        if (measured > by_header * 0.99 && measured < by_header * 1.01) {
            segment->clock.ns_per_tick = measured;
        }
    }
    segment->clock.raw_ticks = bracket->raw_ticks;
    segment->clock.monotonic_ns = bracket->monotonic_ns;
    segment->clock.realtime_offset_ns = (int64_t)(bracket->realtime_ns - bracket->monotonic_ns);
}

static uint64_t ticks_ns(double ticks, double ns_per_tick)
{
    double ns = ticks * ns_per_tick;

    return ns <= 0 ? 0 : ns >= 9.2e18 ? (uint64_t)INT64_MAX : (uint64_t)ns;
}

uint64_t ntk_ring_segment_ticks_to_ns(const struct ntk_ring_segment *segment, uint64_t ticks)
{
    return ticks_ns((double)ticks, segment->clock.ns_per_tick);
}

uint64_t ntk_ring_segment_monotonic_ns(const struct ntk_ring_segment *segment, uint64_t ticks)
{
    const struct ntk_ring_clock *clock = &segment->clock;

    if (ticks >= clock->raw_ticks) {
        uint64_t ns = ticks_ns((double)(ticks - clock->raw_ticks), clock->ns_per_tick);

        return ns > UINT64_MAX - clock->monotonic_ns ? UINT64_MAX : clock->monotonic_ns + ns;
    } else {
        uint64_t ns = ticks_ns((double)(clock->raw_ticks - ticks), clock->ns_per_tick);

        return ns > clock->monotonic_ns ? 0 : clock->monotonic_ns - ns;
    }
}

uint64_t ntk_ring_segment_realtime_ns(const struct ntk_ring_segment *segment, uint64_t ticks)
{
    return ntk_ring_segment_monotonic_ns(segment, ticks) +
           (uint64_t)segment->clock.realtime_offset_ns;
}

/* ---- cores ---- */

/* Line 0 under its sequence word; keeps the values last seen when it stays odd. Pairs with core_turn()
 * in runtime-hooks/hooks/hooks.c. */
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
    uint64_t now = ntk_raw_clock_now(segment->process.clock.kind);
    uint64_t now_ns = ntk_ring_segment_monotonic_ns(segment, now);
    size_t filled = 0;
    uint32_t i;

    for (i = 0; i < segment->section[NTK_SECTION_CORES].count && filled < out_count; i++) {
        const struct ntk_segment_core *block =
            (const void *)entry_at(segment, NTK_SECTION_CORES, i);
        struct ntk_ring_core_seen *seen = &segment->core_seen[i];
        uint32_t state = ntk_abi_load_acquire(&block->state);
        struct ntk_ring_core *out = &out_cores[filled];

        if (state == NTK_CORE_UNUSED) {
            continue;
        }
        copy_words(&out->counters, block, sizeof out->counters);
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
        out->busy_ns = seen->busy_ns;
        out->read_monotonic_ns = now_ns;
        if (out->in_flight > 0 && now > seen->since_ticks) {
            uint64_t running = ntk_ring_segment_ticks_to_ns(segment, now - seen->since_ticks);

            out->busy_ns =
                running > UINT64_MAX - out->busy_ns ? UINT64_MAX : out->busy_ns + running;
        }
        /* The writer's and the reader's idea of a tick differ a little; busy time never shrinks. */
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

static int read_histogram(const struct ntk_ring_segment *segment, uint32_t pair, uint64_t owner,
                          struct ntk_ring_histogram *out)
{
    const struct ntk_histogram_pair *source;

    if (pair >= segment->section[NTK_SECTION_HISTOGRAMS].count) {
        return -ENOENT;
    }
    source = (const void *)entry_at(segment, NTK_SECTION_HISTOGRAMS, pair);
    /* Pairs with hooks_histogram_prepare(): the owner goes before the counters are cleared. */
    if (ntk_abi_load_acquire(&source->owner) != owner) {
        return -ENOENT;
    }
    out->total_sum_ns = ntk_abi_load(&source->total_sum_ns);
    out->device_sum_ns = ntk_abi_load(&source->device_sum_ns);
    copy_words(out->total, source->total, sizeof out->total);
    copy_words(out->device, source->device, sizeof out->device);
    ntk_abi_fence_acquire();
    return ntk_abi_load(&source->owner) == owner ? 0 : -ENOENT;
}

int ntk_ring_segment_core_histogram(const struct ntk_ring_segment *segment, uint16_t core,
                                    struct ntk_ring_histogram *out)
{
    const struct ntk_segment_core *block;

    if (core >= segment->section[NTK_SECTION_CORES].count) {
        return -ENOENT;
    }
    block = (const void *)entry_at(segment, NTK_SECTION_CORES, core);
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

/* Under the sequence word of the slot; false: in the making, or never finished. */
static bool read_model(const struct ntk_segment_model *entry, struct ntk_segment_model *out)
{
    int i;

    for (i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&entry->seq);

        if ((seq & 1) != 0) {
            continue;
        }
        copy_words(out, entry, sizeof *out);
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
            (const void *)entry_at(segment, NTK_SECTION_MODELS, i);
        struct ntk_ring_model *out = &out_models[filled];
        struct ntk_segment_model model;

        if (ntk_abi_load_acquire(&entry->state) == NTK_MODEL_FREE || !read_model(entry, &model) ||
            model.id == 0 || model.state == NTK_MODEL_FREE || model.state > NTK_MODEL_UNLOADED) {
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
        out->flags = model.flags;
        take_text(out->name, model.name, sizeof model.name);
        take_text(out->neff_path, model.neff_path, sizeof model.neff_path);
        filled++;
    }
    return filled;
}

/* ---- memory ---- */

static const uint8_t category_location[NTK_MEMORY_CATEGORY_COUNT] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, top_label, oom_row, ntff_type) \
    [id] = NTK_MEMORY_##location,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

size_t ntk_ring_segment_memory(const struct ntk_ring_segment *segment,
                               struct ntk_ring_memory *out_rows, size_t out_count)
{
    size_t filled = 0;
    uint32_t i;

    for (i = 0; i < segment->section[NTK_SECTION_MEMORY].count && filled < out_count; i++) {
        const struct ntk_segment_memory_row *row =
            (const void *)entry_at(segment, NTK_SECTION_MEMORY, i);
        struct ntk_ring_memory *out = &out_rows[filled];
        /* Pairs with the release stores of add_row() and hooks_rows_release(). */
        uint64_t key = ntk_abi_load_acquire(&row->key);

        if (key >> 63 == 0 || NTK_MEMORY_KEY_CATEGORY(key) >= NTK_MEMORY_CATEGORY_COUNT ||
            category_location[NTK_MEMORY_KEY_CATEGORY(key)] != NTK_MEMORY_KEY_LOCATION(key)) {
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
            out->current_bytes = 0; /* a free overtook its allocation for a moment */
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
    entry = (const void *)entry_at(segment, NTK_SECTION_NAMES, name);
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
    return make_printable(buf, bytes);
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
    entry = (const void *)entry_at(segment, NTK_SECTION_THREADS, slot->thread);
    for (i = 0; i < TRIES; i++) {
        uint64_t seq = ntk_abi_load_acquire(&entry->seq);
        struct ntk_segment_thread thread;

        if ((seq & 1) != 0) {
            continue;
        }
        copy_words(&thread, entry, sizeof thread);
        ntk_abi_fence_acquire();
        if (ntk_abi_load(&entry->seq) != seq) {
            continue;
        }
        /* A record that began long before the entry was taken is of an earlier thread. Spans may begin
         * a little before their thread's first event. */
        if (slot->start_ticks + slot->word[0] < thread.first_ticks &&
            slot->kind != NTK_EVENT_NONE) {
            return;
        }
        out->tid = thread.tid;
        out->alive = thread.state == NTK_THREAD_ALIVE;
        out->first_ticks = thread.first_ticks;
        take_text(out->name, thread.name, sizeof thread.name);
        return;
    }
}

/* ---- rings ---- */

/* Sets up readers of rings that are ready by now; a ring that lies is left out for good. */
static void find_rings(struct ntk_ring_segment *segment)
{
    uint64_t slots_begin = (uint64_t)(segment->section[NTK_SECTION_SLOTS].at - segment->base);
    uint64_t slots_end =
        slots_begin + (uint64_t)segment->section[NTK_SECTION_SLOTS].count * NTK_SLOT_BYTES;

    while (segment->ring_count < segment->section[NTK_SECTION_RINGS].count) {
        uint32_t index = segment->ring_count;
        const struct ntk_segment_ring *ring =
            (const void *)entry_at(segment, NTK_SECTION_RINGS, index);
        uint64_t capacity;
        uint64_t offset;

        /* Pairs with the release store in take_ring(). */
        if (ntk_abi_load_acquire(&ring->state) != NTK_RING_READY) {
            return;
        }
        capacity = ntk_abi_load(&ring->capacity);
        offset = ntk_abi_load(&ring->offset);
        if (capacity >= 2 && capacity <= RING_SLOTS_MAX && (capacity & (capacity - 1)) == 0 &&
            offset % NTK_SLOT_BYTES == 0 && offset >= slots_begin && offset <= slots_end &&
            capacity * NTK_SLOT_BYTES <= slots_end - offset) {
            ntk_ring_reader_init(&segment->readers[index], (const void *)(segment->base + offset),
                                 &ring->head, capacity, segment->from);
            segment->ring_usable[index] = 1;
        }
        segment->ring_count++;
    }
}

/* Consumers index tables with these. */
static void bound_slots(struct ntk_slot *slots, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (slots[i].core >= NTK_SEGMENT_CORES) {
            slots[i].core = (uint16_t)NTK_NO_CORE;
        }
        if (slots[i].thread >= NTK_SEGMENT_THREADS) {
            slots[i].thread = 0;
        }
    }
}

size_t ntk_ring_segment_drain(struct ntk_ring_segment *segment, size_t limit, ntk_ring_batch_fn fn,
                              void *ctx)
{
    struct ntk_slot slots[NTK_RING_BATCH];
    size_t delivered = 0;
    uint32_t rings;
    uint32_t i;

    find_rings(segment);
    rings = segment->ring_count;
    for (i = 0; i < rings; i++) {
        uint32_t index = (segment->next_ring + i) % rings;
        struct ntk_ring_reader *reader = &segment->readers[index];
        uint64_t batches;
        int more = segment->ring_usable[index];

        reader->writer_gone = segment->state != NTK_SEGMENT_ALIVE;
        /* One ring's length at most, so that a fast writer cannot keep us here. */
        for (batches = 0; more && batches <= reader->capacity / NTK_RING_BATCH + 1; batches++) {
            size_t count = ntk_ring_reader_next(reader, slots, &more);

            if (count > 0) {
                bound_slots(slots, count);
                fn(segment, slots, count, ctx);
                delivered += count;
            }
            if (limit != 0 && count > 0 && delivered + NTK_RING_BATCH > limit) {
                segment->next_ring = (index + 1) % rings;
                return delivered;
            }
        }
    }
    return delivered;
}

void ntk_ring_segment_events(const struct ntk_ring_segment *segment, uint64_t *out_read,
                             uint64_t *out_lost, uint64_t *out_published)
{
    uint32_t i;

    *out_read = 0;
    *out_lost = 0;
    *out_published = 0;
    for (i = 0; i < segment->ring_count; i++) {
        if (segment->ring_usable[i]) {
            const struct ntk_ring_reader *reader = &segment->readers[i];
            uint64_t head = ntk_abi_load_acquire(reader->head);

            *out_read += reader->read;
            *out_lost += reader->lost;
            *out_published += head > reader->start ? head - reader->start : 0;
        }
    }
}
