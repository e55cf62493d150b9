/* SPDX-License-Identifier: MIT */
/* ring_segment - opens and closes a mapped segment, checks its header, and reads its process and
 * clock. ring_segment_tables.c copies its tables, ring_segment_events.c drains its rings. */
#include "shared/ring/ring_segment_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/raw_clock.h"
#include "shared/base/map_guard.h"
#include "shared/base/str.h"

#define PAGE_BYTES 4096u
#define ENTRY_BYTES_MAX (1u << 20)
/* brackets closer than this are less exact than the header's frequency */
#define BASELINE_NS 1000000000u

/* The expected layout of each section. */
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
    [NTK_SECTION_COMMS] = { "communicators", sizeof(struct ntk_segment_comm), 1, NTK_SEGMENT_COMMS,
                            64 },
    [NTK_SECTION_TRIGGER] = { "trigger", sizeof(struct ntk_segment_trigger), 1, 1, 64 },
};
/* Number of sections in files from older writers. */
#define SECTIONS_MIN 10u

/* ---- texts ---- */

size_t ntk_ring_segment_make_printable(char *buf, size_t bytes)
{
    size_t length = ntk_str_clean(buf, bytes);

    buf[length] = '\0';
    return length;
}

void ntk_ring_segment_take_text(char *out, const char *field, size_t bytes)
{
    memcpy(out, field, bytes);
    ntk_ring_segment_make_printable(out, bytes);
}

/* ---- open and close ---- */

/* Copies the section table, and checks every entry. */
static int check_sections(struct ntk_ring_segment *segment, const struct ntk_segment_header *header,
                          struct ntk_err *err)
{
    uint32_t i;

    for (i = 0; i < NTK_SECTION_COUNT && i < header->section_count; i++) {
        const struct ntk_segment_section *section = &header->section[i];

        if (section->offset % known[i].alignment != 0 || section->offset < sizeof *header ||
            section->offset > header->segment_bytes) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "section %s has an invalid offset %llu", known[i].name,
                               (unsigned long long)section->offset);
        }
        if (section->entry_bytes < known[i].entry_bytes || section->entry_bytes > ENTRY_BYTES_MAX ||
            section->entry_bytes % known[i].alignment != 0 || section->count < known[i].count_min ||
            section->count > known[i].count_max ||
            (i == NTK_SECTION_SLOTS && section->entry_bytes != NTK_SLOT_BYTES)) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "section %s has an invalid size: %u entries of %u bytes",
                               known[i].name, section->count, section->entry_bytes);
        }
        if ((uint64_t)section->entry_bytes * section->count >
            header->segment_bytes - section->offset) {
            return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                               "section %s extends past the end of the file", known[i].name);
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
        return ntk_err_set(err, -EBADMSG, 0, "is not a segment");
    }
    if (header->abi_version != NTK_SEGMENT_ABI_VERSION) {
        return ntk_err_set(err, -EPROTONOSUPPORT, 8, "unsupported ABI version %u (supported: %u)",
                           header->abi_version, NTK_SEGMENT_ABI_VERSION);
    }
    if (header->header_bytes < sizeof *header || header->slot_bytes != NTK_SLOT_BYTES ||
        header->section_count < SECTIONS_MIN || header->section_count > NTK_SECTION_LIMIT) {
        return ntk_err_set(err, -EBADMSG, 12, "has an unknown header layout");
    }
    if (header->segment_bytes > file_bytes) {
        return ntk_err_set(err, -EBADMSG, 24, "declares %llu bytes, but has %llu",
                           (unsigned long long)header->segment_bytes,
                           (unsigned long long)file_bytes);
    }
    return 0;
}

/* The raw counter of this machine. It is determined from files only once, because there are many
 * segments. */
static uint32_t counter_kind(void)
{
    static _Atomic uint32_t found; /* kind + 1; every thread finds the same value */
    uint32_t kind = found;

    if (kind == 0) {
        kind = ntk_raw_clock_counter_kind() + 1;
        found = kind;
    }
    return kind - 1;
}

/* Reads the process block, which does not change after the magic number is set. */
static int take_process(struct ntk_ring_segment *segment, uint32_t owner, struct ntk_err *err)
{
    struct ntk_ring_process *out = &segment->process;
    struct ntk_segment_process block;

    segment_copy_words(&block, segment->section[NTK_SECTION_PROCESS].at, sizeof block);
    if (block.uid != owner) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET,
                           "declares user %u as its writer, but belongs to user %u", block.uid,
                           owner);
    }
    if (block.pid == 0 || block.pid > INT32_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "has an invalid process id");
    }
    if (block.clock.kind != NTK_CLOCK_MONOTONIC && block.clock.kind != counter_kind()) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "uses a clock that this machine does not have");
    }
    if (block.clock.ticks_per_second < 1000 || block.clock.ticks_per_second > 100000000000u) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "has an invalid clock of %llu Hz",
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
    ntk_ring_segment_take_text(out->tag, block.tag, sizeof block.tag);
    ntk_ring_segment_take_text(out->framework_version, block.framework_version,
                               sizeof block.framework_version);
    ntk_ring_segment_take_text(out->fal_version, block.fal_version, sizeof block.fal_version);
    ntk_ring_segment_take_text(out->runtime_version, block.runtime_version,
                               sizeof block.runtime_version);
    ntk_ring_segment_take_text(out->instance_type, block.instance_type, sizeof block.instance_type);
    ntk_ring_segment_take_text(out->command, block.command, sizeof block.command);

    segment->clock.raw_ticks = block.clock.raw_ticks;
    segment->clock.monotonic_ns = block.clock.monotonic_ns;
    segment->clock.realtime_offset_ns =
        (int64_t)(block.clock.realtime_ns - block.clock.monotonic_ns);
    segment->clock.ns_per_tick = 1e9 / (double)block.clock.ticks_per_second;
    return 0;
}

/* Takes ownership of the mapping, even on failure. */
static int take_mapping(struct ntk_ring_segment *segment, const struct ntk_segment_header *header,
                        void *mapping, uint32_t owner, struct ntk_err *err)
{
    int ret;

    segment->base = mapping;
    segment->bytes = header->segment_bytes;
    segment->guard = ntk_map_guard_add(mapping, segment->bytes);
    if (segment->guard < 0) {
        return ntk_err_set(err, segment->guard, NTK_ERR_NO_OFFSET,
                           "too many segments are mapped in this process");
    }
    /* Pairs with the release store of the magic number in runtime-hooks/hooks/segment.c. */
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
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is not a regular file", path);
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return ntk_err_set(err, -EPERM, NTK_ERR_NO_OFFSET, "%s is writable by other users", path);
    }
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || header.magic == 0) {
        return -EAGAIN;
    }
    if ((uint64_t)status.st_size > NTK_SEGMENT_BYTES_MAX) {
        return ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "%s is larger than any valid segment",
                           path);
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
    segment->pid_fd = -1;
    segment->guard = -1;
    segment->from = from;
    segment->device = (uint64_t)status.st_dev;
    segment->inode = (uint64_t)status.st_ino;
    segment->path = strdup(path);
    if (segment->path == NULL) {
        ret = ntk_err_no_memory(err);
        goto out;
    }
    segment->name = ntk_str_base_name(segment->path);
    mapping = mmap(NULL, header.segment_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot map '%s': %s", path,
                          strerror(errno));
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
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "is not a segment");
    }
    if (ntk_abi_load_acquire(&((const struct ntk_segment_header *)mapping)->magic) == 0) {
        return -EAGAIN;
    }
    memcpy(&header, mapping, sizeof header);
    ret = check_header(&header, bytes, err);
    if (ret < 0) {
        return ret;
    }
    /* Unmapping uses the size in the header, so both sizes must be equal. */
    if (header.segment_bytes != bytes) {
        return ntk_err_set(err, -EBADMSG, 24, "has %zu bytes, but declares %llu", bytes,
                           (unsigned long long)header.segment_bytes);
    }
    segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        return ntk_err_no_memory(err);
    }
    segment->fd = -1;
    segment->pid_fd = -1;
    segment->guard = -1;
    segment->from = NTK_RING_FROM_NOW;
    ret = take_mapping(segment, &header, mapping, (uint32_t)geteuid(), err);
    if (ret < 0) {
        segment->base = NULL; /* the caller keeps it */
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
    if (segment->pid_fd >= 0) {
        close(segment->pid_fd);
    }
    free(segment->path);
    free(segment);
}

bool ntk_ring_segment_said_goodbye(const struct ntk_ring_segment *segment)
{
    const struct ntk_segment_process *process =
        (const void *)segment_entry_at(segment, NTK_SECTION_PROCESS, 0);

    /* Pairs with the release store in hooks_segment_end(). */
    return ntk_abi_load_acquire(&process->ended) != 0;
}

bool ntk_ring_segment_is_damaged(const struct ntk_ring_segment *segment)
{
    return ntk_map_guard_intact_bytes(segment->guard) != SIZE_MAX;
}

/* ---- process and state ---- */

enum ntk_segment_state ntk_ring_segment_state(const struct ntk_ring_segment *segment)
{
    return segment->state;
}

uint64_t ntk_ring_segment_serial(const struct ntk_ring_segment *segment)
{
    return segment->serial;
}

const char *ntk_ring_segment_path(const struct ntk_ring_segment *segment)
{
    return segment->path;
}

void ntk_ring_segment_process(const struct ntk_ring_segment *segment, struct ntk_ring_process *out)
{
    const struct ntk_segment_process *block =
        (const void *)segment->section[NTK_SECTION_PROCESS].at;

    *out = segment->process;
    /* Add flags that are set later. */
    out->flags |= ntk_abi_load_acquire(&block->flags) &
                  (NTK_PROCESS_NO_EXECUTIONS | NTK_PROCESS_CORES_GUESSED);
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
    out->comms = ntk_abi_load(&header->comms_refused);
    out->memory_rows = ntk_abi_load(&header->memory_rows_refused);
    out->names = ntk_abi_load(&header->names_refused);
    out->threads = ntk_abi_load(&header->threads_refused);
    out->events_in_signals = 0;
    for (i = 0; i < segment->section[NTK_SECTION_RINGS].count; i++) {
        const struct ntk_segment_ring *ring =
            (const void *)segment_entry_at(segment, NTK_SECTION_RINGS, i);

        if (ntk_abi_load(&ring->state) != NTK_RING_READY) {
            break; /* rings are used in order, so the rest is unused */
        }
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

        /* Accept only a plausible frequency. A wrong header only affects its own times. */
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
