/* SPDX-License-Identifier: MIT */
/*
 * ntff_write - writes a version 6 capture file from records as they arrive.
 *
 * The header message precedes the records and contains their number, so records are kept in one
 * spool per kind and core until the end: in memory up to NTK_NTFF_SPOOL_BYTES, then in a file
 * without a name.
 */
#include "shared/formats/ntff/ntff_write_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/formats/ntff/ntff_layout.h"

/* ---- life ---- */

static int check_capture(const struct ntk_ntff_capture *capture, struct ntk_err *err)
{
    if (capture->subgraph_count == 0 || capture->subgraph_count > NTK_NTFF_SUBGRAPHS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a capture must have 1 to %d subgraphs",
                           NTK_NTFF_SUBGRAPHS_MAX);
    }
    for (size_t g = 0; g < capture->subgraph_count; g++) {
        const struct ntk_ntff_capture_subgraph *from = &capture->subgraphs[g];
        for (size_t e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            if (from->engines[e].code_bytes % NTK_NTFF_SLOT_BYTES ||
                from->engines[e].code_bytes / NTK_NTFF_SLOT_BYTES > NTK_NTFF_SLOT_MASK ||
                from->engines[e].address % NTK_NTFF_SLOT_BYTES) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "cannot write the program of the %s engine: %zu bytes at 0x%llx",
                                   ntk_ntff_engine_name((unsigned)e), from->engines[e].code_bytes,
                                   (unsigned long long)from->engines[e].address);
            }
        }
        for (size_t q = 0; q < from->queue_count; q++) {
            if (from->queues[q].dma_engine >= NTK_NTFF_DMA_ENGINES ||
                from->queues[q].queue >= NTK_NTFF_DMA_QUEUES) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "unknown queue: DMA engine %u, queue %u",
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
            int ret = ntff_spool_add(&w->code, w->folder, from->engines[e].code,
                                     from->engines[e].code_bytes);
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
        return ntk_err_set(err, -ENOSPC, NTK_ERR_NO_OFFSET,
                           "a capture must have at most %d subgraphs", NTK_NTFF_SUBGRAPHS_MAX);
    }
    for (size_t g = 0; g < capture->subgraph_count; g++) {
        struct writer_subgraph *to = &writer->subgraphs[writer->subgraph_count++];

        memcpy(to->uuid, capture->neff_uuid, sizeof to->uuid);
        ret = copy_subgraph(writer, to, &capture->subgraphs[g]);
        if (ret < 0) {
            /* The copied programs stay without records until the writer is destroyed. */
            return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "%s: cannot store the program: %s",
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
            ntff_spool_fini(&subgraph->sections[s]);
        }
        for (size_t q = 0; q < subgraph->queue_count; q++) {
            free((char *)subgraph->queues[q].name);
        }
        free(subgraph->queues);
        free(subgraph->name);
    }
    ntff_spool_fini(&writer->code);
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
        return (uint64_t)NTK_NTFF_ERROR_RECORDS_MAX * NTK_NTFF_RECORD_BYTES;
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
    ret = ntff_spool_add(&w->subgraphs[subgraph].sections[section], w->folder, bytes,
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

/* The address of a slot without its high bits, as the field stores it. */
static uint32_t slot_address(const struct writer_subgraph *subgraph, uint32_t engine, uint32_t slot)
{
    return (uint32_t)((subgraph->code[engine].address >> 6) + slot) & NTK_NTFF_W0_ADDRESS_MASK;
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
    uint32_t address = slot_address(of, instruction->engine, instruction->slot);
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

/* The start of packet i of this many; the start after the last packet is the end of the transfer.
 * Most transfers are one packet, and a 128-bit division costs more than writing the record. */
static uint64_t packet_ps(const struct ntk_ntff_dma *dma, uint64_t i, uint64_t packets)
{
    __extension__ unsigned __int128 wide = dma->end_ps - dma->start_ps;

    if (i == 0) {
        return dma->start_ps;
    }
    return i == packets ? dma->end_ps : dma->start_ps + (uint64_t)(wide * i / packets);
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
    uint64_t packets =
        dma->bytes_count ? (dma->bytes_count - 1) / NTK_NTFF_PACKET_BYTES_MAX + 1 : 1;
    /* The odd core of a pair writes the DMA engines as 16 to 31. */
    uint32_t who = NTK_NTFF_W0_TRACE |
                   (dma->dma_engine + NTK_NTFF_DMA_ENGINES * (writer->subgraphs[subgraph].core & 1))
                       << 24;
    see_time(writer, dma->start_ps, dma->end_ps);
    for (uint64_t i = 0; i < packets && ret == 0; i++) {
        uint64_t bytes_left = dma->bytes_count - i * NTK_NTFF_PACKET_BYTES_MAX;
        uint32_t bytes_count = bytes_left < NTK_NTFF_PACKET_BYTES_MAX ? (uint32_t)bytes_left
                                                                      : NTK_NTFF_PACKET_BYTES_MAX;
        put_record(records, who, NTK_NTFF_DMA_START | dma->queue << 4, packet_ps(dma, i, packets));
        put_record(records + NTK_NTFF_RECORD_BYTES, who | bytes_count,
                   NTK_NTFF_DMA_END | dma->queue << 4 | NTK_NTFF_CRC_NONE << 16,
                   packet_ps(dma, i + 1, packets));
        ret = add_records(writer, subgraph, SECTION_DMA, records, 2);
        if (ret < 0) { /* the rest of the transfer is lost, too */
            writer->records += 2 * (packets - i - 1);
            writer->dropped += 2 * (packets - i - 1);
        }
    }
    return ret;
}

int ntk_ntff_writer_add_error(struct ntk_ntff_writer *writer, size_t subgraph,
                              const struct ntk_ntff_error *error)
{
    uint8_t record[NTK_NTFF_RECORD_BYTES];
    bool is_dma = error->engine == NTK_NTFF_ENGINE_AXI;

    if (subgraph >= writer->subgraph_count || error->engine > NTK_NTFF_ENGINE_AXI ||
        error->kind < NTK_NTFF_ERROR_NUMERICAL || error->kind >= NTK_NTFF_ERROR_COUNT ||
        error->time_ps > INT64_MAX) {
        return -EINVAL;
    }
    put_record(
        record,
        NTK_NTFF_W0_TRACE | (error->engine + 1) << 26 | NTK_NTFF_PHASE_ERROR << 24 |
            (is_dma ? 0u : slot_address(&writer->subgraphs[subgraph], error->engine, error->slot)),
        NTK_NTFF_W1_ERROR_MARK | (uint32_t)error->kind, error->time_ps);
    return add_records(writer, subgraph, SECTION_ERROR, record, 1);
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
            struct ntff_spool *spool = &writer->subgraphs[g].sections[s];

            ntk_buf_reset(&spool->memory);
            spool->bytes_count = spool->file_bytes = 0;
            if (spool->fd >= 0 && ftruncate(spool->fd, 0) < 0) {
                continue; /* the counts overwrite or truncate existing records */
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
