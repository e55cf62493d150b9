/* SPDX-License-Identifier: MIT */
/*
 * ntff_write - a capture file of version 6, from records as they come.
 *
 * The header message stands before the records and says how many there are, so records are kept in
 * one spool per kind and core until the end: in memory up to NTK_NTFF_SPOOL_BYTES, then in a file
 * without a name.
 */
#include "shared/formats/ntff/ntff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/ntff/ntff.pb-c.h"
#include "shared/formats/ntff/ntff_layout.h"

#define COPY_BYTES (64u << 10)
/* How often the share of the records that is written is halved while the disk has no room. */
#define SHRINK_STEPS 24

struct spool {
    struct ntk_buf memory;
    int fd; /* -1: nothing left memory yet */
    uint64_t bytes_count;
    uint64_t file_bytes;
};

/* In the order of the sections of one core in the file; the error section is always empty. */
enum section_index {
    SECTION_INSTRUCTION,
    SECTION_EVENT,
    SECTION_ERROR,
    SECTION_DMA,
    SECTION_THROTTLE,
    SECTION_COUNT
};

static const struct {
    uint32_t type;
    uint32_t block;
} section_kinds[SECTION_COUNT] = {
    { NTK_NTFF_SECTION_INSTRUCTION, NTK_NTFF_BLOCK_CORE },
    { NTK_NTFF_SECTION_EVENT, NTK_NTFF_BLOCK_CORE },
    { NTK_NTFF_SECTION_ERROR, NTK_NTFF_BLOCK_CORE },
    { NTK_NTFF_SECTION_DMA, NTK_NTFF_BLOCK_DMA },
    { NTK_NTFF_SECTION_THROTTLE, NTK_NTFF_BLOCK_CORE },
};

struct writer_subgraph {
    char *name;
    uint8_t uuid[NTK_NTFF_UUID_BYTES]; /* of its NEFF; neighbours of one make a graph */
    uint32_t core;
    struct {
        uint64_t address, offset, bytes_count;
    } code[NTK_NTFF_ENGINE_COUNT];
    size_t queue_count;
    struct ntk_ntff_capture_queue *queues; /* names are ours */
    uint64_t memory_bytes[NTK_NTFF_MEMORY_COUNT];
    struct spool sections[SECTION_COUNT];
};

struct ntk_ntff_writer {
    struct ntk_fs_replace replace;
    char *folder;
    char *neff_name, *instance_type, *instance_id;
    struct ntk_ntff_capture capture; /* numbers alone; texts are the ones above */
    size_t subgraph_count;
    struct writer_subgraph subgraphs[NTK_NTFF_SUBGRAPHS_MAX];
    struct spool code;
    bool has_times, is_window_set;
    uint64_t start_ps, end_ps;
    int full; /* the negative errno that ended the recording, else 0 */
    uint64_t records, dropped;
};

/* ---- spools ---- */

static bool is_full_error(int code)
{
    return code == -ENOSPC || code == -EFBIG || code == -EDQUOT;
}

static int spool_add(struct spool *spool, const char *folder, const void *bytes, size_t bytes_count)
{
    if (spool->memory.bytes_count + bytes_count > NTK_NTFF_SPOOL_BYTES &&
        spool->memory.bytes_count) {
        if (spool->fd < 0) {
            spool->fd = ntk_fs_open_unnamed(folder, NULL);
            if (spool->fd < 0) {
                return spool->fd;
            }
        }
        int ret = ntk_fs_pwrite(spool->fd, spool->memory.bytes, spool->memory.bytes_count,
                                spool->file_bytes);
        if (ret < 0) {
            return ret;
        }
        spool->file_bytes += spool->memory.bytes_count;
        ntk_buf_reset(&spool->memory);
    }
    ntk_buf_add(&spool->memory, bytes, bytes_count);
    if (!ntk_buf_ok(&spool->memory)) {
        return -ENOMEM;
    }
    spool->bytes_count += bytes_count;
    return 0;
}

static void spool_fini(struct spool *spool)
{
    ntk_buf_fini(&spool->memory);
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    spool->fd = -1;
}

/* The first bytes_count bytes of the spool go to fd at offset. */
static int spool_copy(const struct spool *spool, uint64_t bytes_count, int fd, uint64_t offset)
{
    uint8_t chunk[COPY_BYTES];
    uint64_t from_file = bytes_count < spool->file_bytes ? bytes_count : spool->file_bytes;

    for (uint64_t at = 0; at < from_file;) {
        size_t wanted = from_file - at < sizeof chunk ? (size_t)(from_file - at) : sizeof chunk;
        int ret = ntk_fs_pread(spool->fd, chunk, wanted, at);
        if (ret == 0) {
            ret = ntk_fs_pwrite(fd, chunk, wanted, offset + at);
        }
        if (ret < 0) {
            return ret;
        }
        at += wanted;
    }
    return bytes_count > from_file
               ? ntk_fs_pwrite(fd, spool->memory.bytes, (size_t)(bytes_count - from_file),
                               offset + from_file)
               : 0;
}

/* ---- life ---- */

static int check_capture(const struct ntk_ntff_capture *capture, struct ntk_err *err)
{
    if (capture->subgraph_count == 0 || capture->subgraph_count > NTK_NTFF_SUBGRAPHS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a capture has 1 to %d subgraphs",
                           NTK_NTFF_SUBGRAPHS_MAX);
    }
    for (size_t g = 0; g < capture->subgraph_count; g++) {
        const struct ntk_ntff_capture_subgraph *from = &capture->subgraphs[g];
        for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            if (from->engines[e].code_bytes % NTK_NTFF_SLOT_BYTES ||
                from->engines[e].code_bytes / NTK_NTFF_SLOT_BYTES > NTK_NTFF_SLOT_MASK ||
                from->engines[e].address % NTK_NTFF_SLOT_BYTES) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "the %s engine's program cannot be written: %zu bytes at 0x%llx",
                                   ntk_ntff_engine_name((unsigned)e), from->engines[e].code_bytes,
                                   (unsigned long long)from->engines[e].address);
            }
        }
        for (size_t q = 0; q < from->queue_count; q++) {
            if (from->queues[q].dma_engine >= NTK_NTFF_DMA_ENGINES ||
                from->queues[q].queue >= NTK_NTFF_DMA_QUEUES) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "DMA engine %u, queue %u does not exist",
                                   from->queues[q].dma_engine, from->queues[q].queue);
            }
        }
    }
    return 0;
}

static int copy_subgraph(struct ntk_ntff_writer *w, struct writer_subgraph *to,
                         const struct ntk_ntff_capture_subgraph *from)
{
    for (size_t s = 0; s < SECTION_COUNT; s++) {
        to->sections[s].fd = -1;
    }
    to->core = from->core;
    to->name = strdup(from->name ? from->name : "");
    to->queues = calloc(from->queue_count + 1, sizeof *to->queues);
    if (!to->name || !to->queues) {
        return -ENOMEM;
    }
    memcpy(to->memory_bytes, from->memory_bytes, sizeof to->memory_bytes);
    for (size_t q = 0; q < from->queue_count; q++) {
        to->queues[q] = from->queues[q];
        to->queues[q].name = strdup(from->queues[q].name ? from->queues[q].name : "");
        if (!to->queues[q].name) {
            return -ENOMEM;
        }
        to->queue_count++;
    }
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        to->code[e].address = from->engines[e].address;
        to->code[e].offset = w->code.bytes_count;
        to->code[e].bytes_count = from->engines[e].code_bytes;
        if (from->engines[e].code_bytes) {
            int ret =
                spool_add(&w->code, w->folder, from->engines[e].code, from->engines[e].code_bytes);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash) {
        return strdup(".");
    }
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int ntk_ntff_writer_add_program(struct ntk_ntff_writer *writer,
                                const struct ntk_ntff_capture *capture, size_t *out_first_subgraph,
                                struct ntk_err *err)
{
    size_t first = writer->subgraph_count;
    int ret = check_capture(capture, err);

    if (ret < 0) {
        return ret;
    }
    if (capture->subgraph_count > NTK_NTFF_SUBGRAPHS_MAX - first) {
        return ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET, "a capture has at most %d subgraphs",
                           NTK_NTFF_SUBGRAPHS_MAX);
    }
    for (size_t g = 0; g < capture->subgraph_count; g++) {
        struct writer_subgraph *to = &writer->subgraphs[writer->subgraph_count++];

        memcpy(to->uuid, capture->neff_uuid, sizeof to->uuid);
        ret = copy_subgraph(writer, to, &capture->subgraphs[g]);
        if (ret < 0) {
            /* What was copied stays, without records, until the writer goes. */
            return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s: cannot keep the program: %s",
                               writer->folder, strerror(-ret));
        }
    }
    *out_first_subgraph = first;
    return 0;
}

int ntk_ntff_writer_create_unnamed(const char *folder, const struct ntk_ntff_capture *capture,
                                   struct ntk_ntff_writer **out_writer, struct ntk_err *err)
{
    size_t first = 0;
    struct ntk_ntff_writer *w = calloc(1, sizeof *w);

    if (!w) {
        return ntk_err_no_memory(err);
    }
    w->code.fd = -1;
    w->capture = *capture;
    w->capture.subgraphs = NULL;
    w->folder = strdup(folder);
    w->neff_name = strdup(capture->neff_name ? capture->neff_name : "");
    w->instance_type = strdup(capture->instance_type ? capture->instance_type : "");
    w->instance_id = strdup(capture->instance_id ? capture->instance_id : "");
    int ret = -ENOMEM;
    if (!w->folder || !w->neff_name || !w->instance_type || !w->instance_id) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory");
    } else {
        ret = ntk_ntff_writer_add_program(w, capture, &first, err);
    }
    if (ret < 0) {
        ntk_ntff_writer_destroy(w);
        return ret;
    }
    *out_writer = w;
    return 0;
}

int ntk_ntff_writer_create(const char *path, const struct ntk_ntff_capture *capture,
                           struct ntk_ntff_writer **out_writer, struct ntk_err *err)
{
    struct ntk_ntff_writer *w = NULL;
    char *folder = folder_of(path);

    if (!folder) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_ntff_writer_create_unnamed(folder, capture, &w, err);
    free(folder);
    if (ret < 0) {
        return ret;
    }
    ret = ntk_fs_replace_begin(&w->replace, path, err);
    if (ret < 0) {
        ntk_ntff_writer_destroy(w);
        return ret;
    }
    *out_writer = w;
    return 0;
}

void ntk_ntff_writer_destroy(struct ntk_ntff_writer *writer)
{
    if (!writer) {
        return;
    }
    ntk_fs_replace_abort(&writer->replace);
    for (size_t g = 0; g < writer->subgraph_count; g++) {
        struct writer_subgraph *subgraph = &writer->subgraphs[g];
        for (size_t s = 0; s < SECTION_COUNT; s++) {
            spool_fini(&subgraph->sections[s]);
        }
        for (size_t q = 0; q < subgraph->queue_count; q++) {
            free((char *)subgraph->queues[q].name);
        }
        free(subgraph->queues);
        free(subgraph->name);
    }
    spool_fini(&writer->code);
    free(writer->folder);
    free(writer->neff_name);
    free(writer->instance_type);
    free(writer->instance_id);
    free(writer);
}

/* ---- records ---- */

static void put_record(uint8_t *to, uint32_t w0, uint32_t w1, uint64_t time)
{
    for (unsigned i = 0; i < 4; i++) {
        to[i] = (uint8_t)(w0 >> (8 * i));
        to[4 + i] = (uint8_t)(w1 >> (8 * i));
    }
    for (unsigned i = 0; i < 8; i++) {
        to[8 + i] = (uint8_t)(time >> (8 * i));
    }
}

static uint64_t section_bytes_max(const struct ntk_ntff_bounds *bounds, enum section_index section)
{
    switch (section) {
    case SECTION_INSTRUCTION:
        return bounds->instruction_bytes;
    case SECTION_EVENT:
        return bounds->event_bytes;
    case SECTION_DMA:
        return bounds->dma_bytes;
    case SECTION_THROTTLE:
        return bounds->throttle_bytes;
    case SECTION_ERROR:
    case SECTION_COUNT:
        break;
    }
    return 0;
}

static int add_records(struct ntk_ntff_writer *w, size_t subgraph, enum section_index section,
                       const uint8_t *bytes, size_t record_count)
{
    uint64_t bytes_max = section_bytes_max(&w->capture.bounds, section);
    int ret;

    w->records += record_count;
    if (bytes_max && w->subgraphs[subgraph].sections[section].bytes_count +
                             record_count * NTK_NTFF_RECORD_BYTES >
                         bytes_max) {
        w->dropped += record_count;
        return -ENOBUFS;
    }
    if (w->full) {
        w->dropped += record_count;
        return w->full;
    }
    ret = spool_add(&w->subgraphs[subgraph].sections[section], w->folder, bytes,
                    record_count * NTK_NTFF_RECORD_BYTES);
    if (ret < 0) {
        w->full = ret;
        w->dropped += record_count;
    }
    return ret;
}

static void see_time(struct ntk_ntff_writer *w, uint64_t start_ps, uint64_t end_ps)
{
    if (w->is_window_set) {
        return;
    }
    if (!w->has_times || start_ps < w->start_ps) {
        w->start_ps = start_ps;
    }
    if (!w->has_times || end_ps > w->end_ps) {
        w->end_ps = end_ps;
    }
    w->has_times = true;
}

int ntk_ntff_writer_add_instruction(struct ntk_ntff_writer *writer, size_t subgraph,
                                    const struct ntk_ntff_instruction *instruction)
{
    uint8_t records[2 * NTK_NTFF_RECORD_BYTES];

    if (subgraph >= writer->subgraph_count || instruction->engine >= NTK_NTFF_ENGINE_COUNT ||
        instruction->end_ps < instruction->start_ps || instruction->end_ps > INT64_MAX) {
        return -EINVAL;
    }
    const struct writer_subgraph *of = &writer->subgraphs[subgraph];
    if (instruction->slot >= of->code[instruction->engine].bytes_count / NTK_NTFF_SLOT_BYTES) {
        return -EINVAL;
    }
    /* The address with its high bits cut off is what the field holds. */
    uint32_t address =
        (uint32_t)((of->code[instruction->engine].address >> 6) + instruction->slot) &
        NTK_NTFF_W0_ADDRESS_MASK;
    uint32_t who = NTK_NTFF_W0_TRACE | (instruction->engine + 1) << 26;
    double cycles = (double)instruction->wait_ps * writer->capture.base_clock_mhz / 1e6;
    uint32_t wait = cycles >= UINT16_MAX ? UINT16_MAX : (uint32_t)cycles;

    put_record(records, who | NTK_NTFF_PHASE_START << 24 | address, wait << 16,
               instruction->start_ps);
    put_record(records + NTK_NTFF_RECORD_BYTES, who | NTK_NTFF_PHASE_END << 24 | address,
               NTK_NTFF_CRC_NONE << 16 | NTK_NTFF_CRC_NONE, instruction->end_ps);
    see_time(writer, instruction->start_ps, instruction->end_ps);
    return add_records(writer, subgraph, SECTION_INSTRUCTION, records, 2);
}

int ntk_ntff_writer_add_event(struct ntk_ntff_writer *writer, size_t subgraph,
                              const struct ntk_ntff_event *event)
{
    uint8_t record[NTK_NTFF_RECORD_BYTES];

    if (subgraph >= writer->subgraph_count || event->source > NTK_NTFF_ENGINE_AXI ||
        event->time_ps > INT64_MAX) {
        return -EINVAL;
    }
    put_record(record,
               NTK_NTFF_W0_TRACE | (event->source + 1) << 26 | NTK_NTFF_PHASE_EVENT << 24 |
                   (uint32_t)event->mode << 16 |
                   (event->is_semaphore ? NTK_NTFF_W0_SEMAPHORE : 0u) | event->number,
               event->value, event->time_ps);
    return add_records(writer, subgraph, SECTION_EVENT, record, 1);
}

int ntk_ntff_writer_add_dma(struct ntk_ntff_writer *writer, size_t subgraph,
                            const struct ntk_ntff_dma *dma)
{
    uint8_t records[2 * NTK_NTFF_RECORD_BYTES];
    int ret = 0;

    if (subgraph >= writer->subgraph_count || dma->dma_engine >= NTK_NTFF_DMA_ENGINES ||
        dma->queue >= NTK_NTFF_DMA_QUEUES || dma->end_ps < dma->start_ps ||
        dma->end_ps > INT64_MAX) {
        return -EINVAL;
    }
    uint64_t duration_ps = dma->end_ps - dma->start_ps;
    uint64_t packets =
        dma->bytes_count ? (dma->bytes_count - 1) / NTK_NTFF_PACKET_BYTES_MAX + 1 : 1;
    /* The odd core of a pair writes 16 to 31. */
    uint32_t who = NTK_NTFF_W0_TRACE |
                   (dma->dma_engine + NTK_NTFF_DMA_ENGINES * (writer->subgraphs[subgraph].core & 1))
                       << 24;
    see_time(writer, dma->start_ps, dma->end_ps);
    for (uint64_t i = 0; i < packets && ret == 0; i++) {
        uint64_t bytes_left = dma->bytes_count - i * NTK_NTFF_PACKET_BYTES_MAX;
        uint32_t bytes_count = bytes_left < NTK_NTFF_PACKET_BYTES_MAX ? (uint32_t)bytes_left
                                                                      : NTK_NTFF_PACKET_BYTES_MAX;
        __extension__ unsigned __int128 wide = duration_ps;
        uint64_t start_ps = dma->start_ps + (uint64_t)(wide * i / packets);
        uint64_t end_ps = dma->start_ps + (uint64_t)(wide * (i + 1) / packets);
        put_record(records, who, NTK_NTFF_DMA_START | dma->queue << 4, start_ps);
        put_record(records + NTK_NTFF_RECORD_BYTES, who | bytes_count,
                   NTK_NTFF_DMA_END | dma->queue << 4 | NTK_NTFF_CRC_NONE << 16, end_ps);
        ret = add_records(writer, subgraph, SECTION_DMA, records, 2);
        if (ret < 0) { /* the rest of the transfer is lost with it */
            writer->records += 2 * (packets - i - 1);
            writer->dropped += 2 * (packets - i - 1);
        }
    }
    return ret;
}

int ntk_ntff_writer_add_throttle(struct ntk_ntff_writer *writer, size_t subgraph,
                                 const struct ntk_ntff_throttle *throttle)
{
    uint8_t record[NTK_NTFF_RECORD_BYTES];

    if (subgraph >= writer->subgraph_count || throttle->n == 0 || throttle->time_ps > INT64_MAX) {
        return -EINVAL;
    }
    put_record(record, NTK_NTFF_THROTTLE_BYTE << 24 | (uint32_t)throttle->n << 16,
               throttle->k | (uint32_t)throttle->type << 8, throttle->time_ps);
    return add_records(writer, subgraph, SECTION_THROTTLE, record, 1);
}

void ntk_ntff_writer_set_execution(struct ntk_ntff_writer *writer, uint64_t start_ps,
                                   uint64_t end_ps)
{
    writer->is_window_set = true;
    writer->start_ps = start_ps;
    writer->end_ps = end_ps < start_ps ? start_ps : end_ps;
}

void ntk_ntff_writer_reset(struct ntk_ntff_writer *writer)
{
    for (size_t g = 0; g < writer->subgraph_count; g++) {
        for (size_t s = 0; s < SECTION_COUNT; s++) {
            struct spool *spool = &writer->subgraphs[g].sections[s];

            ntk_buf_reset(&spool->memory);
            spool->bytes_count = spool->file_bytes = 0;
            if (spool->fd >= 0 && ftruncate(spool->fd, 0) < 0) {
                continue; /* what lies there is overwritten or cut off by the counts */
            }
        }
    }
    writer->has_times = writer->is_window_set = false;
    writer->start_ps = writer->end_ps = 0;
    writer->full = 0;
    writer->records = writer->dropped = 0;
}

uint64_t ntk_ntff_writer_dropped(const struct ntk_ntff_writer *writer)
{
    return writer->dropped;
}

/* ---- the file ---- */

struct message {
    NtkNtffPb__Header header;
    NtkNtffPb__Version runtime, driver, collectives;
    NtkNtffPb__Execution execution;
    NtkNtffPb__Node node, *node_list;
    NtkNtffPb__Graph *graphs, **graph_list;
    NtkNtffPb__Subgraph *subgraphs, **subgraph_list;
    NtkNtffPb__Section *sections, **section_list;
    void *blocks[8 * NTK_NTFF_SUBGRAPHS_MAX + 16]; /* everything to free */
    size_t block_count;
    bool failed;
};

static void *message_alloc(struct message *m, size_t count, size_t item_bytes)
{
    void *p = calloc(count + 1, item_bytes);

    if (!p) {
        m->failed = true;
        return NULL;
    }
    m->blocks[m->block_count++] = p;
    return p;
}

static void message_destroy(struct message *m)
{
    if (m) {
        for (size_t i = 0; i < m->block_count; i++) {
            free(m->blocks[i]);
        }
        free(m);
    }
}

static NtkNtffPb__Version *make_version(NtkNtffPb__Version *to, struct ntk_ntff_version *from)
{
    if (!from->present) {
        return NULL;
    }
    ntk_ntff_pb__version__init(to);
    to->major = from->major;
    to->minor = from->minor;
    to->patch = from->patch;
    to->git = from->git;
    return to;
}

static void make_subgraph(struct message *m, NtkNtffPb__Subgraph *to, struct writer_subgraph *from,
                          uint64_t execution_ps)
{
    static char *const memory_texts[] = {
#define NTK_NTFF_MEMORY(number, id, text, shown) (text),
#include "shared/formats/ntff/ntff_memory.def"
    };
    NtkNtffPb__Buffer *buffers = message_alloc(m, NTK_NTFF_ENGINE_COUNT, sizeof *buffers);
    NtkNtffPb__Queue *queues = message_alloc(m, from->queue_count, sizeof *queues);
    NtkNtffPb__MemoryUse *memory = message_alloc(m, NTK_NTFF_MEMORY_COUNT, sizeof *memory);

    ntk_ntff_pb__subgraph__init(to);
    to->buffers = message_alloc(m, NTK_NTFF_ENGINE_COUNT, sizeof *to->buffers);
    to->queues = message_alloc(m, from->queue_count, sizeof *to->queues);
    to->memory = message_alloc(m, NTK_NTFF_MEMORY_COUNT, sizeof *to->memory);
    if (m->failed) {
        return;
    }
    to->name = from->name;
    to->core = from->core;
    to->execution_ps = execution_ps;
    for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        ntk_ntff_pb__buffer__init(&buffers[e]);
        buffers[e].engine = e;
        buffers[e].address = from->code[e].address;
        buffers[e].offset = from->code[e].offset;
        buffers[e].length = from->code[e].bytes_count;
        to->buffers[to->n_buffers++] = &buffers[e];
    }
    for (size_t q = 0; q < from->queue_count; q++) {
        ntk_ntff_pb__queue__init(&queues[q]);
        queues[q].engine = (uint64_t)NTK_NTFF_DMA_ENGINES * from->core + from->queues[q].dma_engine;
        queues[q].queue = from->queues[q].queue;
        queues[q].type = from->queues[q].type;
        queues[q].name = (char *)from->queues[q].name;
        queues[q].event_id = -1;
        queues[q].dram_channel = from->queues[q].dram_channel;
        to->queues[to->n_queues++] = &queues[q];
    }
    for (size_t t = 0; t < NTK_NTFF_MEMORY_COUNT; t++) {
        ntk_ntff_pb__memory_use__init(&memory[t]);
        memory[t].bytes = from->memory_bytes[t];
        memory[t].type_name = memory_texts[t];
        to->memory[to->n_memory++] = &memory[t];
    }
}

/* The share of a section that is written, in bytes: an even number of records, so that starts keep
 * their ends. */
static uint64_t kept_bytes(const struct spool *spool, unsigned shrink)
{
    const uint64_t pair = 2 * NTK_NTFF_RECORD_BYTES;

    return shrink == 0 ? spool->bytes_count : (spool->bytes_count >> shrink) / pair * pair;
}

/* Subgraphs of one NEFF that follow one another are one graph. */
static void add_to_graph(struct message *m, struct ntk_ntff_writer *w, size_t subgraph)
{
    if (subgraph == 0 ||
        memcmp(w->subgraphs[subgraph].uuid, w->subgraphs[subgraph - 1].uuid, NTK_NTFF_UUID_BYTES)) {
        NtkNtffPb__Graph *graph = &m->graphs[m->node.n_graphs];

        ntk_ntff_pb__graph__init(graph);
        graph->uuid.data = w->subgraphs[subgraph].uuid;
        graph->uuid.len = NTK_NTFF_UUID_BYTES;
        graph->subgraphs = &m->subgraph_list[subgraph];
        m->graph_list[m->node.n_graphs++] = graph;
        m->node.graphs = m->graph_list;
    }
    m->graphs[m->node.n_graphs - 1].n_subgraphs++;
}

static struct message *make_message(struct ntk_ntff_writer *w, unsigned shrink,
                                    uint64_t *out_payload_bytes)
{
    struct message *m = calloc(1, sizeof *m);
    uint64_t offset = w->code.bytes_count;

    if (!m) {
        return NULL;
    }
    ntk_ntff_pb__header__init(&m->header);
    m->header.neff_name = w->neff_name;
    m->header.neff_uuid.data = w->capture.neff_uuid;
    m->header.neff_uuid.len = NTK_NTFF_UUID_BYTES;
    m->header.model_id = w->capture.model_id;
    m->header.runtime = make_version(&m->runtime, &w->capture.runtime);
    m->header.driver = make_version(&m->driver, &w->capture.driver);
    m->header.collectives = make_version(&m->collectives, &w->capture.collectives);
    m->header.instance_type = w->instance_type;
    m->header.instance_id = w->instance_id;
    m->header.process_id = w->capture.process_id;
    m->header.subgraph_count = w->subgraph_count;
    ntk_ntff_pb__execution__init(&m->execution);
    m->execution.start_ps = w->start_ps;
    m->execution.end_ps = w->end_ps;
    m->header.execution = &m->execution;
    ntk_ntff_pb__node__init(&m->node);
    m->node_list = &m->node;
    m->header.n_nodes = 1;
    m->header.nodes = &m->node_list;
    m->graphs = message_alloc(m, w->subgraph_count, sizeof *m->graphs);
    m->graph_list = message_alloc(m, w->subgraph_count, sizeof(void *));
    m->subgraphs = message_alloc(m, w->subgraph_count, sizeof *m->subgraphs);
    m->subgraph_list = message_alloc(m, w->subgraph_count, sizeof(void *));
    m->sections = message_alloc(m, w->subgraph_count * SECTION_COUNT, sizeof *m->sections);
    m->section_list = message_alloc(m, w->subgraph_count * SECTION_COUNT, sizeof(void *));
    for (size_t g = 0; g < w->subgraph_count && !m->failed; g++) {
        make_subgraph(m, &m->subgraphs[g], &w->subgraphs[g], w->end_ps - w->start_ps);
        m->subgraph_list[g] = &m->subgraphs[g];
        add_to_graph(m, w, g);
        for (size_t s = 0; s < SECTION_COUNT; s++) {
            NtkNtffPb__Section *section = &m->sections[g * SECTION_COUNT + s];
            ntk_ntff_pb__section__init(section);
            section->queue_type = section_kinds[s].type;
            section->block = section_kinds[s].block;
            section->core = w->subgraphs[g].core;
            section->offset = offset;
            section->length = kept_bytes(&w->subgraphs[g].sections[s], shrink);
            offset += section->length;
            m->section_list[g * SECTION_COUNT + s] = section;
        }
    }
    if (m->failed) {
        message_destroy(m);
        return NULL;
    }
    m->header.n_sections = w->subgraph_count * SECTION_COUNT;
    m->header.sections = m->section_list;
    *out_payload_bytes = offset;
    return m;
}

static int write_file(struct ntk_ntff_writer *w, int fd, unsigned shrink)
{
    uint64_t payload_bytes = 0;
    struct ntk_buf head = { 0 };
    struct message *m = make_message(w, shrink, &payload_bytes);
    int ret = -ENOMEM;

    if (!m) {
        return ret;
    }
    size_t header_bytes = ntk_ntff_pb__header__get_packed_size(&m->header);
    ntk_buf_put_u64(&head, NTK_NTFF_VERSION_WRITTEN | (uint64_t)header_bytes << 8);
    ntk_buf_add_fill(&head, 0, NTK_NTFF_HEADER_OFFSET - 8);
    uint8_t *packed = ntk_buf_extend(&head, header_bytes);
    if (!packed || !ntk_buf_ok(&head)) {
        goto out;
    }
    ntk_ntff_pb__header__pack(&m->header, packed);
    uint64_t at = head.bytes_count;
    if (ftruncate(fd, 0) < 0) {
        ret = -errno;
        goto out;
    }
    /* Room first, so that a full disk is found before anything else is tried. */
    ret = -posix_fallocate(fd, 0, (off_t)(at + payload_bytes));
    if (ret < 0 && is_full_error(ret)) {
        goto out;
    }
    ret = ntk_fs_pwrite(fd, head.bytes, head.bytes_count, 0);
    if (ret == 0) {
        ret = spool_copy(&w->code, w->code.bytes_count, fd, at);
        at += w->code.bytes_count;
    }
    for (size_t g = 0; g < w->subgraph_count && ret == 0; g++) {
        for (size_t s = 0; s < SECTION_COUNT && ret == 0; s++) {
            uint64_t kept = kept_bytes(&w->subgraphs[g].sections[s], shrink);
            ret = spool_copy(&w->subgraphs[g].sections[s], kept, fd, at);
            at += kept;
        }
    }

out:
    ntk_buf_fini(&head);
    message_destroy(m);
    return ret;
}

/* Fills and ends the replacement, whatever happens. */
static int put_file(struct ntk_ntff_writer *w, struct ntk_fs_replace *replace,
                    uint64_t *out_dropped, struct ntk_err *err)
{
    int cause = w->full ? w->full : -ENOBUFS; /* where records are missing without a full disk */
    uint64_t dropped = w->dropped;
    unsigned shrink = 0;
    char *path = strdup(replace->path);
    int ret;

    if (!path) {
        ntk_fs_replace_abort(replace);
        return ntk_err_no_memory(err);
    }
    for (;;) {
        ret = write_file(w, fileno(replace->file), shrink);
        if (ret == 0 || !is_full_error(ret) || shrink == SHRINK_STEPS) {
            break;
        }
        cause = ret;
        shrink++;
    }
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write %s: %s", path, strerror(-ret));
        ntk_fs_replace_abort(replace);
        goto out;
    }
    if (shrink) {
        uint64_t kept = 0;
        for (size_t g = 0; g < w->subgraph_count; g++) {
            for (size_t s = 0; s < SECTION_COUNT; s++) {
                kept += kept_bytes(&w->subgraphs[g].sections[s], shrink) / NTK_NTFF_RECORD_BYTES;
            }
        }
        dropped = w->records - kept;
    }
    ret = ntk_fs_replace_commit(replace, err);
    *out_dropped = dropped;
    if (ret == 0 && dropped) {
        ntk_err_set(err, cause, NTK_ERR_NO_OFFSET, "%s: %llu of %llu records are missing: %s", path,
                    (unsigned long long)dropped, (unsigned long long)w->records, strerror(-cause));
        ret = 1;
    }

out:
    free(path);
    return ret;
}

int ntk_ntff_writer_commit(struct ntk_ntff_writer *writer, struct ntk_err *err)
{
    if (!writer->replace.file) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "the capture cannot be written");
    }
    return put_file(writer, &writer->replace, &writer->dropped, err);
}

int ntk_ntff_writer_save(struct ntk_ntff_writer *writer, const char *path, struct ntk_err *err)
{
    struct ntk_fs_replace replace = { 0 };
    uint64_t dropped = 0;
    int ret = ntk_fs_replace_begin(&replace, path, err);

    return ret < 0 ? ret : put_file(writer, &replace, &dropped, err);
}
