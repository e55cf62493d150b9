/* SPDX-License-Identifier: MIT */
/* ntff_write_file - writes the file of a capture: its header message, then the records of each
 * core; fewer records if the disk is full. */
#include "shared/formats/ntff/ntff_write_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/formats/ntff/ntff.pb-c.h"
#include "shared/formats/ntff/ntff_layout.h"

/* Number of times that the share of written records is halved if the disk is full. */
#define SHRINK_STEPS 24

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

struct message {
    NtkNtffPb__Header header;
    NtkNtffPb__Version runtime, driver, collectives;
    NtkNtffPb__Execution execution;
    NtkNtffPb__Node *nodes, **node_list;
    NtkNtffPb__Graph *graphs, **graph_list;
    NtkNtffPb__Subgraph *subgraphs, **subgraph_list;
    NtkNtffPb__Section *sections, **section_list;
    void *blocks[8 * NTK_NTFF_SUBGRAPHS_MAX + 16]; /* all blocks to free */
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

/* The written part of a section, in bytes: an even number of records, so that starts keep their
 * ends. */
static uint64_t kept_bytes(const struct ntff_spool *spool, unsigned shrink)
{
    const uint64_t pair = 2 * NTK_NTFF_RECORD_BYTES;

    return shrink == 0 ? spool->bytes_count : (spool->bytes_count >> shrink) / pair * pair;
}

static ProtobufCBinaryData uuid_of(uint8_t uuid[NTK_NTFF_UUID_BYTES])
{
    return (ProtobufCBinaryData){ NTK_NTFF_UUID_BYTES, uuid };
}

/* Adds a subgraph to the graph of its node. Consecutive subgraphs of one NEFF are one node with one
 * graph. */
static void add_to_node(struct message *m, struct ntk_ntff_writer *w, size_t subgraph)
{
    if (subgraph == 0 ||
        memcmp(w->subgraphs[subgraph].uuid, w->subgraphs[subgraph - 1].uuid, NTK_NTFF_UUID_BYTES)) {
        size_t n = m->header.n_nodes++;

        ntk_ntff_pb__graph__init(&m->graphs[n]);
        m->graphs[n].subgraphs = &m->subgraph_list[subgraph];
        m->graph_list[n] = &m->graphs[n];
        ntk_ntff_pb__node__init(&m->nodes[n]);
        m->nodes[n].uuid = uuid_of(w->subgraphs[subgraph].uuid);
        m->nodes[n].graphs = &m->graph_list[n];
        m->nodes[n].n_graphs = 1;
        m->node_list[n] = &m->nodes[n];
    }
    m->graphs[m->header.n_nodes - 1].n_subgraphs++;
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
    m->header.neff_uuid = uuid_of(w->capture.neff_uuid);
    m->header.model_id = w->capture.model_id;
    m->header.runtime = make_version(&m->runtime, &w->capture.runtime);
    m->header.driver = make_version(&m->driver, &w->capture.driver);
    m->header.collectives = make_version(&m->collectives, &w->capture.collectives);
    m->header.instance_type = w->instance_type;
    m->header.instance_id = w->instance_id;
    m->header.process_id = w->capture.process_id;
    m->header.subgraph_count = w->subgraph_count;
    ntk_ntff_pb__execution__init(&m->execution);
    m->execution.uuid = m->header.neff_uuid;
    m->execution.start_ps = w->start_ps;
    m->execution.end_ps = w->end_ps;
    m->header.execution = &m->execution;
    m->nodes = message_alloc(m, w->subgraph_count, sizeof *m->nodes);
    m->header.nodes = m->node_list = message_alloc(m, w->subgraph_count, sizeof(void *));
    m->graphs = message_alloc(m, w->subgraph_count, sizeof *m->graphs);
    m->graph_list = message_alloc(m, w->subgraph_count, sizeof(void *));
    m->subgraphs = message_alloc(m, w->subgraph_count, sizeof *m->subgraphs);
    m->subgraph_list = message_alloc(m, w->subgraph_count, sizeof(void *));
    m->sections = message_alloc(m, w->subgraph_count * SECTION_COUNT, sizeof *m->sections);
    m->section_list = message_alloc(m, w->subgraph_count * SECTION_COUNT, sizeof(void *));
    for (size_t g = 0; g < w->subgraph_count && !m->failed; g++) {
        make_subgraph(m, &m->subgraphs[g], &w->subgraphs[g], w->end_ps - w->start_ps);
        m->subgraph_list[g] = &m->subgraphs[g];
        add_to_node(m, w, g);
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
    /* Allocate space first, so that a full disk is detected before anything is written. */
    ret = -posix_fallocate(fd, 0, (off_t)(at + payload_bytes));
    if (ret < 0 && ntff_is_full_error(ret)) {
        goto out;
    }
    ret = ntk_fs_pwrite(fd, head.bytes, head.bytes_count, 0);
    if (ret == 0) {
        ret = ntff_spool_copy(&w->code, w->code.bytes_count, fd, at);
        at += w->code.bytes_count;
    }
    for (size_t g = 0; g < w->subgraph_count && ret == 0; g++) {
        for (size_t s = 0; s < SECTION_COUNT && ret == 0; s++) {
            uint64_t kept = kept_bytes(&w->subgraphs[g].sections[s], shrink);
            ret = ntff_spool_copy(&w->subgraphs[g].sections[s], kept, fd, at);
            at += kept;
        }
    }

out:
    ntk_buf_fini(&head);
    message_destroy(m);
    return ret;
}

/* Fills and closes the replacement file in any case. */
static int put_file(struct ntk_ntff_writer *w, struct ntk_fs_replace *replace,
                    uint64_t *out_dropped, struct ntk_err *err)
{
    /* the reason for missing records if the disk is not full */
    int cause = w->full ? w->full : -ENOBUFS;
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
        if (ret == 0 || !ntff_is_full_error(ret) || shrink == SHRINK_STEPS) {
            break;
        }
        cause = ret;
        shrink++;
    }
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path, strerror(-ret));
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
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "cannot write the capture");
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
