/* SPDX-License-Identifier: MIT */
/*
 * ntff_read - turns the header message of a capture file into structs.
 *
 * The header message is unpacked by protobuf-c with a limit on its allocations; everything else is
 * bounded by the size of the file. Impossible values are omitted and cause a warning.
 */
#include "shared/formats/ntff/ntff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/cursor.h"
#include "shared/base/fs.h"
#include "shared/base/map_guard.h"
#include "shared/base/str.h"
#include "shared/formats/common/protobuf.h"
#include "shared/formats/ntff/ntff.pb-c.h"
#include "shared/formats/ntff/ntff_layout.h"
#include "shared/formats/ntff/ntff_program.h"
#include "shared/formats/ntff/ntff_read_private.h"

size_t ntk_ntff_map_from_bytes = (size_t)64 << 20;

/* Memory limit for protobuf-c: this, and six times the message. */
#define UNPACK_BYTES_MIN ((size_t)64 << 20)
#define UNPACK_BYTES_FACTOR 6

/* Sections by content; the last kind stands for any other number. */
#define SECTION_KINDS 7U
static const char *const section_kind_names[SECTION_KINDS] = {
    "instruction", "semaphore and event", "error",   "unknown (type 3)",
    "DMA",         "throttling",          "unknown",
};

/* Amount of missing data in all sections of one kind, or in all programs. */
struct missing {
    uint64_t stated, present; /* records or bytes of incomplete sections */
    bool has_torn_record;
};

struct reader {
    struct ntk_ntff ntff; /* must be first: its private_data points here */
    uint8_t *copied;
    void *mapped;
    size_t mapped_bytes;
    int guard; /* handle of the mapping's guard */
    struct ntk_protobuf_budget budget;
    NtkNtffPb__Header *message;
    const uint8_t *payload;
    uint64_t payload_bytes;
    struct missing sections[SECTION_KINDS];
    struct missing programs;
    uint64_t unknown_engines, unlisted_sections;
    const ProtobufCBinaryData *uuids[NTK_NTFF_SUBGRAPHS_MAX]; /* by subgraph, in message */
};

static void warn(struct ntk_ntff *ntff, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void warn(struct ntk_ntff *ntff, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    if (ntff->warning_count >= NTK_NTFF_WARNINGS_MAX) {
        return;
    }
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        text = NULL;
    }
    va_end(args);
    if (text) {
        (void)ntk_str_clean(text, strlen(text)); /* clean the file's names */
        ntff->warnings[ntff->warning_count++] = text;
    }
}

static void copy_text(char *to, size_t to_bytes, const char *text)
{
    ntk_str_copy_clean(to, to_bytes, text ? text : "", text ? strlen(text) : 0);
}

static void copy_version(struct ntk_ntff_version *to, const NtkNtffPb__Version *from)
{
    if (from) {
        to->present = true;
        to->major = from->major;
        to->minor = from->minor;
        to->patch = from->patch;
        copy_text(to->git, sizeof to->git, from->git);
    }
}

static void set_clock(struct ntk_ntff_clock *clock, const NtkNtffPb__Clock *from)
{
    clock->origin = from ? from->raw : 0;
    clock->divisor = from && from->divisor ? from->divisor : 1;
    clock->multiplier = from && from->multiplier ? from->multiplier : 1;
}

static void set_clocks(struct ntk_ntff_subgraph *to, const NtkNtffPb__Clocks *from)
{
    set_clock(&to->engine_clocks[NTK_NTFF_ENGINE_TENSOR], from ? from->tensor : NULL);
    set_clock(&to->engine_clocks[NTK_NTFF_ENGINE_SCALAR], from ? from->scalar : NULL);
    set_clock(&to->engine_clocks[NTK_NTFF_ENGINE_GPSIMD], from ? from->gpsimd : NULL);
    set_clock(&to->engine_clocks[NTK_NTFF_ENGINE_VECTOR], from ? from->vector : NULL);
    set_clock(&to->engine_clocks[NTK_NTFF_ENGINE_SYNC], from ? from->sync : NULL);
    set_clock(&to->event_clock, from ? from->events : NULL);
    set_clock(&to->throttle_clock, from ? from->throttle : NULL);
    for (size_t i = 0; i < NTK_NTFF_DMA_ENGINES; i++) {
        set_clock(&to->dma_clocks[i], from && i < from->n_dma ? from->dma[i] : NULL);
    }
}

static void missing_add(struct missing *missing, uint64_t stated, uint64_t present)
{
    /* Saturates, because an invalid file can state any number. */
    missing->stated +=
        stated <= UINT64_MAX - missing->stated ? stated : UINT64_MAX - missing->stated;
    missing->present += present;
}

static int read_buffers(struct reader *r, struct ntk_ntff_subgraph *to,
                        const NtkNtffPb__Subgraph *from)
{
    struct ntk_ntff *ntff = &r->ntff;

    to->buffers = calloc(from->n_buffers + 1, sizeof *to->buffers);
    if (!to->buffers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < from->n_buffers; i++) {
        const NtkNtffPb__Buffer *b = from->buffers[i];
        struct ntk_ntff_buffer *buffer = &to->buffers[to->buffer_count];
        if (b->engine >= NTK_NTFF_ENGINE_COUNT) {
            r->unknown_engines++;
            continue;
        }
        buffer->engine = (uint32_t)b->engine;
        buffer->address = b->address;
        if (ntff->version < 6) {
            buffer->code = b->code.data;
            buffer->code_bytes = b->code.len;
        } else if (b->offset > r->payload_bytes) {
            missing_add(&r->programs, b->length, 0);
        } else {
            buffer->code = r->payload + b->offset;
            buffer->code_bytes = b->length;
            if (b->length > r->payload_bytes - b->offset) {
                buffer->code_bytes = r->payload_bytes - b->offset;
                missing_add(&r->programs, b->length, buffer->code_bytes);
            }
        }
        to->buffer_count++;
        if (!to->engine_buffers[buffer->engine]) {
            to->engine_buffers[buffer->engine] = buffer;
        }
    }
    return 0;
}

static int read_insertions(struct ntk_ntff_subgraph *to, const NtkNtffPb__Subgraph *from)
{
    size_t count = 0;

    for (size_t i = 0; i < from->n_insertions; i++) {
        count += from->insertions[i]->n_entries;
    }
    to->insertions = calloc(count + 1, sizeof *to->insertions);
    if (!to->insertions) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < from->n_insertions; i++) {
        for (size_t k = 0; k < from->insertions[i]->n_entries; k++) {
            const NtkNtffPb__Insertion *entry = from->insertions[i]->entries[k];
            uint64_t slot = entry->offset / NTK_NTFF_SLOT_BYTES;
            if (from->insertions[i]->engine >= NTK_NTFF_ENGINE_COUNT || slot > UINT32_MAX ||
                entry->count > UINT32_MAX || entry->kind > UINT32_MAX) {
                continue;
            }
            to->insertions[to->insertion_count++] = (struct ntk_ntff_insertion){
                .engine = (uint32_t)from->insertions[i]->engine,
                .slot = (uint32_t)slot,
                .count = entry->count,
                .kind = (uint32_t)entry->kind,
            };
        }
    }
    return 0;
}

/* Version 4 numbers the usage types differently: from 10 on, its numbers are one ahead of the later
 * list; which of 4 to 9 is the additional type is unknown. */
static void name_old_memory(struct ntk_ntff_memory *memory, uint64_t number)
{
    const char *name = NULL;

    if (number < 4) {
        name = ntk_ntff_memory_name((unsigned)number);
    } else if (number >= 10 && number <= NTK_NTFF_MEMORY_COUNT) {
        name = ntk_ntff_memory_name((unsigned)number - 1);
    }
    if (name) {
        ntk_str_copy(memory->name, sizeof memory->name, name);
    } else {
        snprintf(memory->name, sizeof memory->name, "Type %llu", (unsigned long long)number);
    }
}

static void name_memory(struct ntk_ntff_memory *memory, const char *text)
{
    static const char *const texts[] = {
#define NTK_NTFF_MEMORY(number, id, file_text, shown) (file_text),
#include "shared/formats/ntff/ntff_memory.def"
    };

    for (unsigned i = 0; i < NTK_NTFF_MEMORY_COUNT; i++) {
        if (strcmp(texts[i], text) == 0) {
            ntk_str_copy(memory->name, sizeof memory->name, ntk_ntff_memory_name(i));
            return;
        }
    }
    copy_text(memory->name, sizeof memory->name, text);
}

static int read_queues_and_memory(struct ntk_ntff *ntff, struct ntk_ntff_subgraph *to,
                                  const NtkNtffPb__Subgraph *from)
{
    to->queues = calloc(from->n_queues + 1, sizeof *to->queues);
    to->memory = calloc(from->n_memory + 1, sizeof *to->memory);
    if (!to->queues || !to->memory) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < from->n_queues; i++) {
        struct ntk_ntff_queue *queue = &to->queues[to->queue_count++];
        queue->engine = (uint32_t)from->queues[i]->engine;
        queue->queue = (uint32_t)from->queues[i]->queue;
        queue->type = (uint32_t)from->queues[i]->type;
        queue->event_id = from->queues[i]->event_id;
        queue->dram_channel = from->queues[i]->dram_channel;
        copy_text(queue->name, sizeof queue->name, from->queues[i]->name);
    }
    for (size_t i = 0; i < from->n_memory; i++) {
        struct ntk_ntff_memory *memory = &to->memory[to->memory_count++];
        memory->bytes_count = from->memory[i]->bytes;
        if (ntff->version == 4) {
            name_old_memory(memory, from->memory[i]->type_number);
        } else {
            name_memory(memory, from->memory[i]->type_name);
        }
    }
    return 0;
}

static void add_section(struct reader *r, struct ntk_ntff_subgraph *to,
                        const NtkNtffPb__Section *from)
{
    struct ntk_ntff_section section = { .type = (uint32_t)from->queue_type,
                                        .block = (uint32_t)from->block,
                                        .index = (uint32_t)from->index,
                                        .core = to->core,
                                        .offset = from->offset,
                                        .stated_bytes = from->length };
    uint64_t bytes_count = section.stated_bytes;
    uint64_t stated = bytes_count / NTK_NTFF_RECORD_BYTES;
    struct missing *missing =
        &r->sections[section.type < SECTION_KINDS - 1 ? section.type : SECTION_KINDS - 1];

    if (bytes_count && section.offset > r->payload_bytes) {
        missing_add(missing, stated, 0);
        bytes_count = 0;
    } else if (bytes_count > r->payload_bytes - section.offset && bytes_count) {
        bytes_count = r->payload_bytes - section.offset;
        missing_add(missing, stated, bytes_count / NTK_NTFF_RECORD_BYTES);
    } else if (bytes_count % NTK_NTFF_RECORD_BYTES) {
        missing->has_torn_record = true;
    }
    section.record_count = bytes_count / NTK_NTFF_RECORD_BYTES;
    section.records = section.record_count ? r->payload + section.offset : NULL;
    to->sections[to->section_count++] = section;
}

static int read_old_sections(struct reader *r, struct ntk_ntff_subgraph *to,
                             const NtkNtffPb__Subgraph *from)
{
    to->sections = calloc(from->n_sections + 1, sizeof *to->sections);
    if (!to->sections) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < from->n_sections; i++) {
        add_section(r, to, from->sections[i]);
    }
    return 0;
}

static bool has_section(const struct ntk_ntff_subgraph *subgraph, const NtkNtffPb__Section *s)
{
    for (size_t i = 0; i < subgraph->section_count; i++) {
        if (subgraph->sections[i].type == s->queue_type &&
            subgraph->sections[i].block == s->block && subgraph->sections[i].index == s->index) {
            return true;
        }
    }
    return false;
}

static int read_new_sections(struct reader *r)
{
    struct ntk_ntff *ntff = &r->ntff;
    const NtkNtffPb__Header *h = r->message;

    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        ntff->subgraphs[g].sections =
            calloc(h->n_sections + 1, sizeof *ntff->subgraphs[g].sections);
        if (!ntff->subgraphs[g].sections) {
            return -ENOMEM;
        }
    }
    for (size_t i = 0; i < h->n_sections; i++) {
        const NtkNtffPb__Section *s = h->sections[i];
        struct ntk_ntff_subgraph *to = NULL;
        /* Subgraphs on the same core have consecutive sections. */
        for (size_t g = 0; g < ntff->subgraph_count; g++) {
            if (ntff->subgraphs[g].core == s->core) {
                to = to ? to : &ntff->subgraphs[g];
                if (!has_section(&ntff->subgraphs[g], s)) {
                    to = &ntff->subgraphs[g];
                    break;
                }
            }
        }
        if (!to) {
            if (s->length) {
                r->unlisted_sections++;
            }
            continue;
        }
        add_section(r, to, s);
    }
    return 0;
}

static int read_subgraph(struct reader *r, const NtkNtffPb__Subgraph *from)
{
    struct ntk_ntff *ntff = &r->ntff;
    int ret;

    if (ntff->subgraph_count >= NTK_NTFF_SUBGRAPHS_MAX) {
        if (ntff->subgraph_count == NTK_NTFF_SUBGRAPHS_MAX) {
            warn(ntff, "too many subgraphs (at most %d); ignoring the rest",
                 NTK_NTFF_SUBGRAPHS_MAX);
        }
        return 0;
    }
    struct ntk_ntff_subgraph *to = &ntff->subgraphs[ntff->subgraph_count++];
    copy_text(to->name, sizeof to->name, from->name);
    to->core = (uint32_t)from->core;
    to->execution_ps = from->execution_ps;
    set_clocks(to, from->clocks);
    ret = read_buffers(r, to, from);
    if (ret == 0) {
        ret = read_insertions(to, from);
    }
    if (ret == 0) {
        ret = read_queues_and_memory(ntff, to, from);
    }
    if (ret == 0 && ntff->version < 6) {
        ret = read_old_sections(r, to, from);
    }
    return ret;
}

/* Adds one warning for each kind of incomplete data. */
static void tell_missing(struct reader *r)
{
    struct ntk_ntff *ntff = &r->ntff;

    if (r->unknown_engines) {
        warn(ntff, "ignoring %llu programs for unknown engines",
             (unsigned long long)r->unknown_engines);
    }
    if (r->programs.stated > r->programs.present) {
        warn(ntff, "the file ends inside the programs: %llu of %llu bytes are present",
             (unsigned long long)r->programs.present, (unsigned long long)r->programs.stated);
    }
    for (size_t kind = 0; kind < SECTION_KINDS; kind++) {
        const struct missing *missing = &r->sections[kind];

        if (missing->stated > missing->present) {
            warn(ntff, "the file ends inside the %s records: %llu of %llu are present",
                 section_kind_names[kind], (unsigned long long)missing->present,
                 (unsigned long long)missing->stated);
        } else if (missing->has_torn_record) {
            warn(ntff, "a section of %s records ends inside a record", section_kind_names[kind]);
        }
    }
    if (r->unlisted_sections) {
        warn(ntff, "ignoring %llu sections of cores that the capture does not list",
             (unsigned long long)r->unlisted_sections);
    }
}

/* Runtimes write the uuid into field 2 like a C string: it is too long if none of its bytes is
 * zero; otherwise it ends before the first zero byte, which is then known, too. Version 6 also has
 * the complete uuid in the execution and in the node. */
static void read_neff_uuid(struct ntk_ntff *ntff, const NtkNtffPb__Header *h)
{
    const ProtobufCBinaryData *uuid = &h->neff_uuid;

    if (h->execution && h->execution->uuid.len >= NTK_NTFF_UUID_BYTES) {
        uuid = &h->execution->uuid;
    }
    size_t bytes = uuid->len < NTK_NTFF_UUID_BYTES ? uuid->len : NTK_NTFF_UUID_BYTES;
    if (bytes) {
        memcpy(ntff->neff_uuid, uuid->data, bytes);
        ntff->neff_uuid_known_bytes =
            (unsigned)(bytes < NTK_NTFF_UUID_BYTES ? bytes + 1 : NTK_NTFF_UUID_BYTES);
    }
}

static void add_program_uuid(struct ntk_ntff *ntff, const ProtobufCBinaryData *uuid)
{
    if (uuid->len >= NTK_NTFF_UUID_BYTES && ntff->program_uuid_count < NTK_NTFF_SUBGRAPHS_MAX) {
        memcpy(ntff->program_uuids[ntff->program_uuid_count++], uuid->data, NTK_NTFF_UUID_BYTES);
    }
}

static int read_message(struct reader *r)
{
    struct ntk_ntff *ntff = &r->ntff;
    const NtkNtffPb__Header *h = r->message;
    int ret = 0;

    copy_text(ntff->neff_name, sizeof ntff->neff_name, h->neff_name);
    read_neff_uuid(ntff, h);
    ntff->model_id = h->model_id;
    ntff->unix_time = h->unix_time;
    copy_version(&ntff->runtime, h->runtime);
    copy_version(&ntff->driver, h->driver);
    copy_version(&ntff->collectives, h->collectives);
    copy_text(ntff->instance_type, sizeof ntff->instance_type, h->instance_type);
    copy_text(ntff->instance_id, sizeof ntff->instance_id, h->instance_id);
    ntff->process_id = h->process_id;
    if (h->execution && ntff->version >= 6) {
        if (h->execution->end_ps < h->execution->start_ps || h->execution->end_ps > INT64_MAX) {
            warn(ntff, "the end time of the execution is invalid; its times are ignored");
        } else {
            ntff->has_window = true;
            ntff->window_start_ps = h->execution->start_ps;
            ntff->window_end_ps = h->execution->end_ps;
        }
    }
    for (size_t n = 0; n < h->n_nodes && ret == 0; n++) {
        add_program_uuid(ntff, &h->nodes[n]->uuid);
        for (size_t g = 0; g < h->nodes[n]->n_graphs && ret == 0; g++) {
            const NtkNtffPb__Graph *graph = h->nodes[n]->graphs[g];
            add_program_uuid(ntff, &graph->uuid);
            size_t first = ntff->subgraph_count;
            for (size_t i = 0; i < graph->n_subgraphs && ret == 0; i++) {
                ret = read_subgraph(r, graph->subgraphs[i]);
            }
            for (; first < ntff->subgraph_count; first++) {
                r->uuids[first] = graph->uuid.len ? &graph->uuid : &h->nodes[n]->uuid;
            }
        }
    }
    if (ntff->neff_uuid_known_bytes < NTK_NTFF_UUID_BYTES && ntff->program_uuid_count) {
        memcpy(ntff->neff_uuid, ntff->program_uuids[0], NTK_NTFF_UUID_BYTES);
        ntff->neff_uuid_known_bytes = NTK_NTFF_UUID_BYTES;
    }
    if (ret == 0 && ntff->version >= 6) {
        ret = read_new_sections(r);
    }
    tell_missing(r);
    if (ret == 0 && ntff->subgraph_count == 0) {
        warn(ntff, "the header lists no subgraphs: no trace to show");
    }
    return ret;
}

static struct reader *reader_create(void)
{
    struct reader *r = calloc(1, sizeof *r);

    if (!r) {
        return NULL;
    }
    r->ntff.private_data = r;
    r->ntff.warnings = calloc(NTK_NTFF_WARNINGS_MAX, sizeof *r->ntff.warnings);
    r->ntff.subgraphs = calloc(NTK_NTFF_SUBGRAPHS_MAX, sizeof *r->ntff.subgraphs);
    if (!r->ntff.warnings || !r->ntff.subgraphs) {
        ntk_ntff_close(&r->ntff);
        return NULL;
    }
    return r;
}

static int reader_fill(struct reader *r, const uint8_t *bytes, size_t bytes_count,
                       struct ntk_err *err)
{
    struct ntk_ntff *ntff = &r->ntff;
    struct ntk_cursor cursor;

    if (bytes_count == 0) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the file is empty");
    }
    if (bytes[0] < NTK_NTFF_VERSION_MIN || bytes[0] > NTK_NTFF_VERSION_MAX) {
        /* Another version of a capture has a header of a possible length; other files do not. */
        uint64_t length = bytes_count >= NTK_NTFF_HEADER_OFFSET
                              ? ntff_load_u32(bytes) >> 8 | (uint64_t)ntff_load_u32(bytes + 4) << 24
                              : 0;
        bool is_capture =
            bytes[0] != 0 && length > 0 && length <= bytes_count - NTK_NTFF_HEADER_OFFSET;
        return ntk_err_set(err, -ENOTSUP, is_capture ? NTK_ERR_NO_OFFSET : 0,
                           "%sNTFF version %u is not supported (supported: %d - %d)",
                           is_capture ? "" : "not an NTFF capture: ", bytes[0],
                           NTK_NTFF_VERSION_MIN, NTK_NTFF_VERSION_MAX);
    }
    if (bytes_count < NTK_NTFF_HEADER_OFFSET) {
        return ntk_err_set(err, -EBADMSG, bytes_count, "the file ends inside the header");
    }
    ntk_cursor_init(&cursor, bytes, bytes_count);
    uint64_t first = ntk_cursor_u64(&cursor);
    ntff->version = (unsigned)(first & 0xff);
    ntff->header_bytes = first >> 8;
    ntff->file_bytes = bytes_count;
    uint64_t header_bytes = ntff->header_bytes;
    uint64_t bytes_left = bytes_count - NTK_NTFF_HEADER_OFFSET;
    const uint8_t *header = bytes + NTK_NTFF_HEADER_OFFSET;
    if (header_bytes > bytes_left) {
        header_bytes = ntk_protobuf_complete_bytes(header, bytes_left);
        if (header_bytes == 0) {
            return ntk_err_set(
                err, -EBADMSG, bytes_count,
                "the file ends inside the header message (%llu of %llu bytes are present)",
                (unsigned long long)bytes_left, (unsigned long long)ntff->header_bytes);
        }
        warn(ntff, "the file ends inside the header message (%llu of %llu bytes are present)",
             (unsigned long long)bytes_left, (unsigned long long)ntff->header_bytes);
        r->payload = bytes + bytes_count;
    } else {
        r->payload = header + header_bytes;
        r->payload_bytes = bytes_left - header_bytes;
    }
    if (header_bytes > NTK_NTFF_HEADER_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, 1, "the header message of %llu bytes is too long",
                           (unsigned long long)header_bytes);
    }
    ntk_protobuf_budget_init(&r->budget,
                             UNPACK_BYTES_MIN + UNPACK_BYTES_FACTOR * (size_t)header_bytes);
    r->message = ntk_ntff_pb__header__unpack(&r->budget.allocator, header_bytes, header);
    if (!r->message) {
        return ntk_err_set(err, -EBADMSG, NTK_NTFF_HEADER_OFFSET, "the header message is damaged");
    }
    if (read_message(r) < 0) {
        return ntk_err_no_memory(err);
    }
    return 0;
}

int ntk_ntff_open_bytes(const void *bytes, size_t bytes_count, struct ntk_ntff **out_ntff,
                        struct ntk_err *err)
{
    struct reader *r = reader_create();
    int ret;

    if (!r) {
        return ntk_err_no_memory(err);
    }
    ret = reader_fill(r, bytes, bytes_count, err);
    if (ret < 0) {
        ntk_ntff_close(&r->ntff);
        return ret;
    }
    *out_ntff = &r->ntff;
    return 0;
}

static int map_file(struct reader *r, const char *path, const uint8_t **out_bytes,
                    size_t *out_count, struct ntk_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int ret = 0;

    if (fd < 0) {
        ret = -errno;
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot open '%s': %s", path,
                           strerror(-ret));
    }
    if (fstat(fd, &st) < 0) {
        ret = -errno;
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot read '%s': %s", path, strerror(-ret));
    } else if (!S_ISREG(st.st_mode)) {
        ret =
            ntk_err_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, NTK_ERR_NO_OFFSET,
                        S_ISDIR(st.st_mode) ? "%s is a folder" : "%s is not a regular file", path);
    } else if ((uint64_t)st.st_size < ntk_ntff_map_from_bytes) {
        ret = ntk_fs_read(path, ntk_ntff_map_from_bytes, &r->copied, out_count, err);
        *out_bytes = r->copied;
    } else {
        void *mapped = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped == MAP_FAILED) {
            ret = -errno;
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot map '%s': %s", path, strerror(-ret));
        } else {
            r->mapped = mapped;
            r->mapped_bytes = (size_t)st.st_size;
            r->guard = ntk_map_guard_add(mapped, r->mapped_bytes);
            if (r->guard < 0) {
                ret = ntk_err_set(err, r->guard, NTK_ERR_NO_OFFSET,
                                  "cannot open '%s': too many open captures", path);
            }
            *out_bytes = mapped;
            *out_count = r->mapped_bytes;
        }
    }
    close(fd);
    return ret;
}

int ntk_ntff_open(const char *path, struct ntk_ntff **out_ntff, struct ntk_err *err)
{
    struct reader *r = reader_create();
    const uint8_t *bytes = NULL;
    size_t bytes_count = 0;
    int ret;

    if (!r) {
        return ntk_err_no_memory(err);
    }
    ret = map_file(r, path, &bytes, &bytes_count, err);
    if (ret == 0) {
        ret = reader_fill(r, bytes, bytes_count, err);
        ret = ntk_ntff_check_whole(&r->ntff, err) < 0 ? -ESTALE : ret;
        if (ret < 0) {
            ntk_err_prefix(err, "%s", path);
        }
    }
    if (ret < 0) {
        ntk_ntff_close(&r->ntff);
        return ret;
    }
    *out_ntff = &r->ntff;
    return 0;
}

void ntk_ntff_close(struct ntk_ntff *ntff)
{
    if (!ntff) {
        return;
    }
    struct reader *r = ntff->private_data;
    for (size_t i = 0; ntff->subgraphs && i < ntff->subgraph_count; i++) {
        free(ntff->subgraphs[i].buffers);
        free(ntff->subgraphs[i].insertions);
        free(ntff->subgraphs[i].queues);
        free(ntff->subgraphs[i].memory);
        free(ntff->subgraphs[i].sections);
    }
    for (size_t i = 0; i < ntff->warning_count; i++) {
        free(ntff->warnings[i]);
    }
    free(ntff->warnings);
    free(ntff->subgraphs);
    if (r->message) {
        ntk_ntff_pb__header__free_unpacked(r->message, &r->budget.allocator);
    }
    if (r->mapped) {
        ntk_map_guard_remove(r->guard);
        munmap(r->mapped, r->mapped_bytes);
    }
    free(r->copied);
    free(r);
}

void ntk_ntff_give_back(const struct ntk_ntff *ntff, const void *bytes, size_t bytes_count)
{
    const struct reader *r = ntff->private_data;
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (uintptr_t)bytes & ~(page_bytes - 1);
    uintptr_t to = ((uintptr_t)bytes + bytes_count) & ~(page_bytes - 1);
    uintptr_t mapped = (uintptr_t)r->mapped;

    if (r->mapped && from >= mapped && to <= mapped + r->mapped_bytes && from < to) {
        (void)madvise((char *)r->mapped + (from - mapped), to - from, MADV_DONTNEED);
    }
}

int ntk_ntff_check_whole(const struct ntk_ntff *ntff, struct ntk_err *err)
{
    const struct reader *r = ntff->private_data;
    size_t intact_bytes = r->mapped ? ntk_map_guard_intact_bytes(r->guard) : SIZE_MAX;

    if (intact_bytes == SIZE_MAX) {
        return 0;
    }
    return ntk_err_set(err, -ESTALE, intact_bytes,
                       "the file shrank below %zu bytes while it was being read", r->mapped_bytes);
}

void ntk_ntff_uuid_text(const struct ntk_ntff *ntff, char text[NTK_NTFF_UUID_TEXT_BYTES])
{
    unsigned known = ntff->neff_uuid_known_bytes;

    ntk_str_hex(text, ntff->neff_uuid, known);
    if (known < NTK_NTFF_UUID_BYTES) {
        memcpy(text + 2 * known, known ? "..." : "-", known ? 4 : 2);
    }
}

const uint8_t *ntk_ntff_subgraph_uuid(const struct ntk_ntff *ntff, size_t subgraph)
{
    const struct reader *r = ntff->private_data;
    const ProtobufCBinaryData *uuid =
        r && subgraph < ntff->subgraph_count ? r->uuids[subgraph] : NULL;

    return uuid && uuid->len >= NTK_NTFF_UUID_BYTES ? uuid->data : NULL;
}

int ntk_ntff_check_neff(const struct ntk_ntff *ntff, const uint8_t uuid[NTK_NTFF_UUID_BYTES],
                        struct ntk_err *err)
{
    char has[2 * NTK_NTFF_UUID_BYTES + 1];
    char wants[NTK_NTFF_UUID_TEXT_BYTES];

    if (ntff->neff_uuid_known_bytes &&
        memcmp(ntff->neff_uuid, uuid, ntff->neff_uuid_known_bytes) == 0) {
        return 0;
    }
    for (size_t i = 0; i < ntff->program_uuid_count; i++) {
        if (memcmp(ntff->program_uuids[i], uuid, NTK_NTFF_UUID_BYTES) == 0) {
            return 0;
        }
    }
    if (!ntff->neff_uuid_known_bytes && !ntff->program_uuid_count) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "the capture does not name its NEFF; the output is correct only if the "
                           "given NEFF belongs to the capture");
    }
    ntk_ntff_uuid_text(ntff, wants);
    ntk_str_hex(has, uuid, NTK_NTFF_UUID_BYTES);
    return ntk_err_set(err, -ENOEXEC, NTK_ERR_NO_OFFSET,
                       "capture and NEFF do not match: the capture belongs to the NEFF with UUID "
                       "%s, but this NEFF has UUID %s",
                       wants, has);
}
