/* SPDX-License-Identifier: MIT */
/*
 * output_chakra - writes ranks as Chakra execution traces, one file each
 * (docs/formats/rank-traces.md): a graph of executions, collectives and host time between them, for
 * simulation.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "profiler/output/traces/chakra.pb-c.h"
#include "profiler/output/export_to.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/traces/rank_files.h"
#include "shared/base/json.h"

#define SCHEMA_VERSION "0.0.4"
#define ATTRIBUTES_MAX 8
#define NO_NODE UINT64_MAX
#define VARINT_BYTES 10

/* An execution on some cores of the rank, or a collective. */
struct work {
    const struct ntk_rank_span *of;
    int64_t start_ns, end_ns;
};

struct ended {
    uint64_t node; /* NO_NODE if none */
    int64_t end_ns;
};

struct writer {
    const struct ntk_rank_files *files;
    struct ntk_sink *sink;
    uint64_t node_count;
    struct ended runs, collectives; /* last completed ones */
    size_t attribute_count;
    Ntk__Chakra__AttributeProto attributes[ATTRIBUTES_MAX];
    Ntk__Chakra__AttributeProto *rows[ATTRIBUTES_MAX];
};

/* ---- messages ---- */

static Ntk__Chakra__AttributeProto *attribute_add(struct writer *w, const char *name,
                                                  Ntk__Chakra__AttributeProto__ValueCase kind)
{
    Ntk__Chakra__AttributeProto *attribute = &w->attributes[w->attribute_count];

    ntk__chakra__attribute_proto__init(attribute);
    attribute->name = (char *)name;
    attribute->value_case = kind;
    w->rows[w->attribute_count++] = attribute;
    return attribute;
}

static void add_number(struct writer *w, const char *name, int64_t value)
{
    attribute_add(w, name, NTK__CHAKRA__ATTRIBUTE_PROTO__VALUE_INT64_VAL)->int64_val = value;
}

static void add_bool(struct writer *w, const char *name, bool value)
{
    attribute_add(w, name, NTK__CHAKRA__ATTRIBUTE_PROTO__VALUE_BOOL_VAL)->bool_val = value;
}

static void add_text(struct writer *w, const char *name, const char *value)
{
    attribute_add(w, name, NTK__CHAKRA__ATTRIBUTE_PROTO__VALUE_STRING_VAL)->string_val =
        (char *)value;
}

/* Writes a message after its length. */
static int put_message(struct writer *w, const ProtobufCMessage *message)
{
    struct ntk_buf *buf = &w->sink->buf;
    size_t bytes_count = protobuf_c_message_get_packed_size(message);

    for (size_t left = bytes_count;; left >>= 7) {
        ntk_buf_put_u8(buf, (uint8_t)(left < 0x80 ? left : left | 0x80));
        if (left < 0x80) {
            break;
        }
    }
    uint8_t *room = bytes_count ? ntk_buf_extend(buf, bytes_count) : NULL;
    if (room) {
        protobuf_c_message_pack(message, room);
    }
    w->attribute_count = 0;
    return ntk_sink_step(w->sink);
}

static int put_metadata(struct writer *w, const struct ntk_rank *rank, size_t in_program_count)
{
    Ntk__Chakra__GlobalMetadata metadata = NTK__CHAKRA__GLOBAL_METADATA__INIT;

    add_number(w, "rank", rank->number);
    add_number(w, "world_size", w->files->world_count);
    add_number(w, "worker_gid", rank->worker);
    add_number(w, "base_time_ns", w->files->zero_ns);
    add_number(w, "clock_offset_ns", rank->offset_ns);
    add_number(w, "lost_events", ntk_rows_i64(rank->lost_count));
    add_number(w, "partial_spans", ntk_rows_i64(rank->partial_count));
    add_number(w, "collectives_in_programs", (int64_t)in_program_count);
    metadata.version = (char *)SCHEMA_VERSION;
    metadata.attr = w->rows;
    metadata.n_attr = w->attribute_count;
    return put_message(w, &metadata.base);
}

/* Writes a node; its attributes are in the writer. Ends are rounded, so that consecutive lengths
 * add up. */
static int put_node(struct writer *w, Ntk__Chakra__Node *node, int64_t start_ns, int64_t end_ns)
{
    int64_t start_us = start_ns / 1000;

    node->has_id = 1;
    node->id = w->node_count++;
    node->has_type = 1;
    node->has_start_time_micros = 1;
    node->start_time_micros = (uint64_t)start_us;
    node->has_duration_micros = 1;
    node->duration_micros = (uint64_t)(end_ns / 1000 - start_us);
    add_number(w, "duration_ns", end_ns - start_ns);
    node->attr = w->rows;
    node->n_attr = w->attribute_count;
    return put_message(w, &node->base);
}

/* ---- the graph ---- */

/* Returns -1 if unknown, or if there are several in a program. */
static int comm_type_of(const struct ntk_system_span *span)
{
    static const struct {
        const char *operation;
        Ntk__Chakra__CollectiveCommType type;
    } types[] = {
        { "barrier", NTK__CHAKRA__COLLECTIVE_COMM_TYPE__BARRIER },
        { "all_gather", NTK__CHAKRA__COLLECTIVE_COMM_TYPE__ALL_GATHER },
        { "all_reduce", NTK__CHAKRA__COLLECTIVE_COMM_TYPE__ALL_REDUCE },
        { "reduce_scatter", NTK__CHAKRA__COLLECTIVE_COMM_TYPE__REDUCE_SCATTER },
    };
    const char *operation = ntk_system_span_operation(span);

    for (size_t i = 0; operation && i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].operation, operation) == 0) {
            return (int)types[i].type;
        }
    }
    return -1;
}

/* Adds a group; groups are named by numbers from 1, as simulators expect. */
static void add_group(struct writer *w, size_t index, char key_text[24], char name[24])
{
    const struct ntk_rank_group *group = ntk_vec_at(&w->files->groups, index);

    (void)snprintf(key_text, 24, "%016llx", (unsigned long long)group->key);
    add_text(w, "communicator", key_text);
    if (group->rank_count < w->files->world_count) {
        (void)snprintf(name, 24, "%zu", index + 1);
        add_text(w, "pg_name", name);
    }
}

/* Writes a work node, which depends on the last execution and the last collective that ended before
 * it started, and on the host's time since the later of the two. */
static int put_work(struct writer *w, const struct work *work)
{
    Ntk__Chakra__Node node = NTK__CHAKRA__NODE__INIT;
    const struct ntk_system_span *span = work->of->span;
    const char *operation = ntk_system_span_operation(span);
    bool is_run = work->of->kind == NTK_RANK_RUN;
    bool is_run_later = w->runs.node != NO_NODE &&
                        (w->collectives.node == NO_NODE || w->runs.end_ns >= w->collectives.end_ns);
    struct ended last = is_run_later ? w->runs : w->collectives;
    uint64_t other = is_run_later ? w->collectives.node : w->runs.node;
    int64_t since_ns = last.node == NO_NODE ? 0 : last.end_ns;
    char key_text[24];
    char name[24];
    int ret = 0;

    if (work->start_ns > since_ns) {
        Ntk__Chakra__Node host = NTK__CHAKRA__NODE__INIT;

        host.name = (char *)(last.node == NO_NODE ? "before" : "host");
        host.type = NTK__CHAKRA__NODE_TYPE__COMP_NODE;
        host.data_deps = &last.node;
        host.n_data_deps = last.node != NO_NODE;
        add_bool(w, "is_cpu_op", true);
        uint64_t host_node = w->node_count;
        ret = put_node(w, &host, since_ns, work->start_ns);
        last.node = host_node;
    }
    node.data_deps = &last.node;
    node.n_data_deps = last.node != NO_NODE;
    node.ctrl_deps = &other;
    node.n_ctrl_deps = other != NO_NODE;
    node.name = (char *)(is_run && span->name[0] ? span->name : operation ? operation : span->type);
    node.type = is_run ? NTK__CHAKRA__NODE_TYPE__COMP_NODE : NTK__CHAKRA__NODE_TYPE__COMM_COLL_NODE;
    add_bool(w, "is_cpu_op", false);
    if (!is_run) {
        if (comm_type_of(span) >= 0) {
            add_number(w, "comm_type", comm_type_of(span));
        }
        add_number(w, "comm_size", ntk_rows_i64(span->bytes));
        if (work->of->group != NTK_RANK_NO_GROUP) {
            add_group(w, work->of->group, key_text, name);
            add_number(w, "sequence", ntk_rows_i64(span->exec_id));
        }
    }
    return ret == 0 ? put_node(w, &node, work->start_ns, work->end_ns) : ret;
}

/* A written node that has not ended, so nothing depends on it yet. */
struct open {
    uint64_t node;
    int64_t end_ns;
    bool is_run;
};

/* Makes nodes that end until then possible dependencies. */
static void let_end(struct writer *w, struct ntk_vec *open, int64_t until_ns)
{
    for (size_t i = open->count; i-- > 0;) {
        const struct open *one = ntk_vec_at(open, i);
        struct ended *ended = one->is_run ? &w->runs : &w->collectives;

        if (one->end_ns > until_ns) {
            continue;
        }
        if (ended->node == NO_NODE || one->end_ns > ended->end_ns ||
            (one->end_ns == ended->end_ns && one->node > ended->node)) {
            *ended = (struct ended){ one->node, one->end_ns };
        }
        ntk_vec_remove(open, i);
    }
}

/* Returns true for a collective within an execution that has a node. */
static bool is_in_program(const struct ntk_system_span *span)
{
    const char *operation = ntk_system_span_operation(span);

    return operation && strcmp(operation, "program") == 0;
}

/* Finds executions and collectives; overlapping executions, as on a pair of cores, are merged. */
static int find_work(const struct ntk_vec *spans, struct ntk_vec *out, size_t *out_in_program_count)
{
    size_t last_run = SIZE_MAX;

    ntk_vec_each(const struct ntk_rank_span, span, spans) {
        struct work work = { span, span->start_ns, span->end_ns };
        bool is_run = span->kind == NTK_RANK_RUN;

        if (span->span->is_instant || (!is_run && span->kind != NTK_RANK_COLLECTIVE)) {
            continue;
        }
        if (is_in_program(span->span)) {
            ++*out_in_program_count;
            continue;
        }
        struct work *run = is_run && last_run != SIZE_MAX ? ntk_vec_at(out, last_run) : NULL;
        if (run && span->start_ns < run->end_ns) {
            run->end_ns = span->end_ns > run->end_ns ? span->end_ns : run->end_ns;
            continue;
        }
        last_run = is_run ? out->count : last_run;
        if (ntk_vec_push(out, &work) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int put_rank(const struct ntk_rank_files *files, const struct ntk_rank *rank,
                    struct ntk_sink *sink)
{
    struct writer w = {
        .files = files, .sink = sink, .runs.node = NO_NODE, .collectives.node = NO_NODE
    };
    struct ntk_vec works = NTK_VEC_INIT(struct work);
    struct ntk_vec open = NTK_VEC_INIT(struct open);
    size_t in_program_count = 0;
    struct ntk_vec spans;
    int ret = ntk_rank_files_spans(files, rank, &spans);

    if (ret < 0) {
        return ret;
    }
    ret = find_work(&spans, &works, &in_program_count);
    ret = ret == 0 ? put_metadata(&w, rank, in_program_count) : ret;
    ntk_vec_each(const struct work, work, &works) {
        if (ret < 0) {
            break;
        }
        let_end(&w, &open, work->start_ns);
        ret = put_work(&w, work);
        struct open one = { w.node_count - 1, work->end_ns, work->of->kind == NTK_RANK_RUN };
        ret = ret == 0 ? ntk_vec_push(&open, &one) : ret;
    }
    ntk_vec_fini(&open);
    ntk_vec_fini(&works);
    ntk_vec_fini(&spans);
    return ret;
}

/* Writes ranks of the groups that do not include all, if all are known, such as {"1": [0, 1]}. */
static void put_groups(const struct ntk_rank_files *files, struct ntk_buf *out)
{
    struct ntk_json json;
    char name[24];
    size_t index = 0;

    ntk_json_init(&json, out, false);
    ntk_json_object_begin(&json);
    ntk_vec_each(const struct ntk_rank_group, group, &files->groups) {
        index++;
        if (group->rank_count >= files->world_count || group->known_count < group->rank_count) {
            continue;
        }
        (void)snprintf(name, sizeof name, "%zu", index);
        ntk_json_key_array_begin(&json, name);
        for (uint32_t i = 0; i < group->rank_count; i++) {
            ntk_json_i64(&json, group->members[i]);
        }
        ntk_json_array_end(&json);
    }
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}

int ntk_export_to_chakra(const struct ntk_export *export, const char *path, struct ntk_err *err)
{
    static const struct ntk_rank_format format = { .name = "chakra",
                                                   .head = "rank.",
                                                   .tail = ".et",
                                                   .extra = "comm_groups.json",
                                                   .put = put_rank,
                                                   .put_extra = put_groups };

    return ntk_rank_files_write(export, path, &format, err);
}
