/* SPDX-License-Identifier: MIT */
/* Opening a NEFF: header, archive, info.json, kelf-N.json and the graph of neff.json. */
#include "shared/formats/neff/neff_read_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/cursor.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff_layout.h"

/* The public member is the tar's, so that nothing is copied. */
static_assert(sizeof(struct ntk_neff_member) == sizeof(struct ntk_tar_member), "same struct");
static_assert(offsetof(struct ntk_neff_member, bytes_count) ==
                  offsetof(struct ntk_tar_member, bytes_count),
              "same struct");
static_assert(offsetof(struct ntk_neff_member, is_landed) ==
                  offsetof(struct ntk_tar_member, is_landed),
              "same struct");

#define SUBGRAPHS_MAX 256

/* ---- header ---- */

int ntk_neff_read_header(const void *bytes, size_t bytes_count, struct ntk_neff_header *out_header,
                         struct ntk_err *err)
{
    struct ntk_neff_header header = { 0 };
    struct ntk_cursor cursor;

    if (bytes_count <= NTK_NEFF_HEADER_BYTES) {
        return ntk_err_set(err, -EBADMSG, bytes_count,
                           "not a NEFF: %zu bytes are no more than its header", bytes_count);
    }
    ntk_cursor_init(&cursor, bytes, bytes_count);
    header.pkg_version = ntk_cursor_u64(&cursor);
    header.header_size = ntk_cursor_u64(&cursor);
    header.data_size = ntk_cursor_u64(&cursor);
    header.version_major = ntk_cursor_u64(&cursor);
    header.version_minor = ntk_cursor_u64(&cursor);
    memcpy(header.build_version, ntk_cursor_take(&cursor, 128), 128);
    header.num_tpb = ntk_cursor_u32(&cursor);
    memcpy(header.hash, ntk_cursor_take(&cursor, 32), 32);
    memcpy(header.uuid, ntk_cursor_take(&cursor, 16), 16);
    memcpy(header.name, ntk_cursor_take(&cursor, 256), 256);
    header.requested_tpb_count = ntk_cursor_u32(&cursor);
    memcpy(header.tpb_per_node, ntk_cursor_take(&cursor, 64), 64);
    header.feature_bits = ntk_cursor_u64(&cursor);
    header.lnc_size = ntk_cursor_u32(&cursor);

    if (header.header_size < NTK_NEFF_HEADER_BYTES || header.header_size >= bytes_count) {
        return ntk_err_set(err, -EBADMSG, 8, "not a NEFF: a header of %llu bytes in a file of %zu",
                           (unsigned long long)header.header_size, bytes_count);
    }
    if (header.data_size == 0 || header.data_size > bytes_count - header.header_size) {
        return ntk_err_set(err, -EBADMSG, 16, "%s: %llu bytes of payload announced, %llu are there",
                           header.data_size == 0 ? "not a NEFF" : "the file is cut off",
                           (unsigned long long)header.data_size,
                           (unsigned long long)(bytes_count - header.header_size));
    }
    if (header.pkg_version != 1 && header.pkg_version != 2) {
        return ntk_err_set(err, -ENOTSUP, 0,
                           "NEFF package version %llu is not supported (1 and 2 are)",
                           (unsigned long long)header.pkg_version);
    }
    *out_header = header;
    return 0;
}

uint32_t ntk_neff_lnc(const struct ntk_neff_header *header)
{
    return header->lnc_size == 0 ? 1 : header->lnc_size;
}

int ntk_neff_check_versions(const struct ntk_neff_header *header, uint64_t supported_features,
                            struct ntk_err *err)
{
    if (header->pkg_version != 1 && header->pkg_version != 2) {
        return ntk_err_set(err, -ENOTSUP, 0,
                           "NEFF package version %llu is not supported (1 and 2 are)",
                           (unsigned long long)header->pkg_version);
    }
    if (header->version_major > 2) {
        return ntk_err_set(
            err, -ENOTSUP, 24, "NEFF version: %llu.%llu is not supported, up to 2 is",
            (unsigned long long)header->version_major, (unsigned long long)header->version_minor);
    }
    if (header->feature_bits & ~supported_features) {
        return ntk_err_set(
            err, -ENOTSUP, 544,
            "NEFF version: %llu.%llu, features: 0x%llx are not supported. Currently supporting: "
            "0x%llx",
            (unsigned long long)header->version_major, (unsigned long long)header->version_minor,
            (unsigned long long)header->feature_bits, (unsigned long long)supported_features);
    }
    return 0;
}

void ntk_neff_features_show(const struct ntk_neff_header *header, struct ntk_buf *out)
{
    static const char *const names[64] = { [10] = "virtual-core", [11] = "v3-2x-4x-dve-perf-mode" };
    const char *separator = "";

    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(header->feature_bits >> bit & 1)) {
            continue;
        }
        ntk_buf_add_text(out, separator);
        separator = ", ";
        if (names[bit]) {
            ntk_buf_add_text(out, names[bit]);
        } else {
            ntk_buf_add_format(out, "bit %u", bit);
        }
    }
    if (header->feature_bits == 0) {
        ntk_buf_add_text(out, "N/A");
    }
}

/* ---- info.json ---- */

static int read_info(struct reader *r)
{
    struct ntk_neff_info *info = &r->neff->info;
    const char *what = "info.json";
    const char *text;
    json_t *json;
    int ret;

    if (!ntk_neff_member_get(r->neff, what)) {
        return 0;
    }
    ret = neff_load_json(r, what, &json);
    if (ret < 0) {
        return ret;
    }
    ret = neff_get_text(r, json, what, "tool_version", "", &text);
    if (ret == 0) {
        ntk_str_copy(info->tool_version, sizeof info->tool_version, text);
        ret = neff_get_text(r, json, what, "kelp_version", "", &text);
    }
    if (ret == 0) {
        ntk_str_copy(info->kelp_version, sizeof info->kelp_version, text);
        ret = neff_get_text(r, json, what, "name", "", &text);
    }
    if (ret == 0) {
        ntk_str_copy(info->name, sizeof info->name, text);
        ret = neff_get_u32(r, json, what, "num_tpb", UINT32_MAX, 0, &info->num_tpb);
    }
    if (ret == 0) {
        ret = neff_get_u32(r, json, what, "num_tpb_requested", UINT32_MAX, 0,
                           &info->num_tpb_requested);
    }
    json_decref(json);
    return ret;
}

/* ---- kelf-N.json ---- */

static int read_kelf(struct reader *r, const char *file_name, struct ntk_neff_kelf *kelf)
{
    const json_t *list;
    json_t *json;
    int ret = neff_load_json(r, file_name, &json);

    if (ret < 0) {
        return ret;
    }
    kelf->file_name = file_name;
    if ((ret = neff_get_text(r, json, file_name, "version", "", &kelf->version)) < 0 ||
        (ret = neff_get_text(r, json, file_name, "target", "", &kelf->target)) < 0 ||
        (ret = neff_get_array(r, json, file_name, "graphs", true, SUBGRAPHS_MAX, &list,
                              &kelf->subgraph_count)) < 0) {
        goto out;
    }
    if (kelf->subgraph_count == 0) {
        ret = BAD(r, "%s: no graphs", file_name);
        goto out;
    }
    kelf->subgraphs = neff_keep(r, kelf->subgraph_count, sizeof *kelf->subgraphs);
    if (!kelf->subgraphs) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < kelf->subgraph_count; i++) {
        ret = neff_read_subgraph(r, json_array_get(list, i), file_name, &kelf->subgraphs[i]);
        if (ret < 0) {
            goto out;
        }
    }

out:
    json_decref(json);
    return ret;
}

/* ---- neff.json ---- */

static const char *const graph_file = "neff.json";

/* The array behind ["list_...", [...]]; NULL when it is not there. */
static const json_t *attribute_list(const json_t *graph, const char *key)
{
    const json_t *pair = json_object_get(json_object_get(graph, "attrs"), key);
    const json_t *list = json_array_get(pair, 1);

    return json_is_array(list) ? list : NULL;
}

struct graph_reader {
    struct reader *r;
    const json_t *graph;
    uint64_t *first_entry;   /* of each node, by node_row_ptr or counting */
    uint32_t **unique;       /* of each node: output in the file to index in outputs[] */
    uint32_t *output_counts; /* outputs in the file */
};

static void read_entry_facts(const struct graph_reader *g, uint64_t entry,
                             struct ntk_neff_tensor *tensor)
{
    const json_t *shape = json_array_get(attribute_list(g->graph, "shape"), entry);
    const json_t *dtype = json_array_get(attribute_list(g->graph, "dltype"), entry);
    int64_t number;
    bool ok;

    tensor->storage_id = -1;
    if (neff_number_of(json_array_get(attribute_list(g->graph, "storage_id"), entry), &number)) {
        tensor->storage_id = number;
    }
    if (json_is_string(dtype)) {
        tensor->dtype = ntk_dtype_find(json_string_value(dtype));
    }
    tensor->dim_count = neff_read_dims(shape, tensor->dims, &ok);
    if (ok && tensor->dtype != NTK_DTYPE_NONE) {
        uint64_t bytes = ntk_dtype_bytes((unsigned)tensor->dtype);

        for (uint32_t i = 0; i < tensor->dim_count; i++) {
            if (__builtin_mul_overflow(bytes, tensor->dims[i], &bytes)) {
                return;
            }
        }
        tensor->bytes_count = bytes;
    }
}

static int read_outputs(struct graph_reader *g, const json_t *json, uint32_t index,
                        struct ntk_neff_node *node)
{
    struct reader *r = g->r;
    const char **names = NULL;
    uint32_t count;
    int ret = neff_get_texts(r, json, node->name, "output_names", &names, &count);

    if (ret < 0) {
        return ret;
    }
    if (count == 0) {
        if (node->kind != NTK_NEFF_NODE_INPUT && node->kind != NTK_NEFF_NODE_PARAM) {
            return BAD(r, "%s: node %s has no outputs", graph_file, node->name);
        }
        names = neff_keep(r, 1, sizeof *names);
        if (!names) {
            return NO_MEMORY(r);
        }
        names[0] = node->name;
        count = 1;
    }
    node->outputs = neff_keep(r, count, sizeof *node->outputs);
    g->unique[index] = neff_keep(r, count, sizeof **g->unique);
    if (!node->outputs || !g->unique[index]) {
        return NO_MEMORY(r);
    }
    g->output_counts[index] = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;

        while (k < node->output_count && strcmp(node->outputs[k].name, names[i]) != 0) {
            k++;
        }
        g->unique[index][i] = k;
        if (k == node->output_count) {
            node->outputs[k].name = names[i];
            read_entry_facts(g, g->first_entry[index] + i, &node->outputs[k]);
            node->output_count++;
        }
    }
    return 0;
}

/* [node, output, ...] of a node before `before`, with outputs of equal name made one. */
static int read_entry(const struct graph_reader *g, const json_t *json, uint32_t before,
                      struct ntk_neff_entry *entry)
{
    int64_t node;
    int64_t output;

    if (!neff_number_of(json_array_get(json, 0), &node) ||
        !neff_number_of(json_array_get(json, 1), &output) || node < 0 || node >= before ||
        output < 0 || output >= g->output_counts[node]) {
        return BAD(g->r, "%s: an entry names no output of an earlier node", graph_file);
    }
    entry->node = (uint32_t)node;
    entry->output = g->unique[node][output];
    return 0;
}

static int read_kelf_of_node(struct reader *r, const json_t *attrs, struct ntk_neff_node *node)
{
    struct ntk_neff *neff = r->neff;
    const char *file_name;
    int ret = neff_get_text(r, attrs, node->name, "kelf", NULL, &file_name);

    if (ret < 0) {
        return ret;
    }
    if (!file_name) {
        return BAD(r, "%s: node %s names no kelf", graph_file, node->name);
    }
    for (uint32_t i = 0; i < neff->kelf_count; i++) {
        if (strcmp(neff->kelfs[i].file_name, file_name) == 0) {
            node->kelf = i;
            return 0;
        }
    }
    ret = read_kelf(r, file_name, &neff->kelfs[neff->kelf_count]);
    if (ret < 0) {
        return ret;
    }
    node->kelf = neff->kelf_count++;
    return 0;
}

static int read_node(struct graph_reader *g, const json_t *json, uint32_t index)
{
    struct reader *r = g->r;
    struct ntk_neff_node *node = &r->neff->nodes[index];
    const json_t *attrs = json_object_get(json, "attrs");
    const json_t *inputs;
    const char *op;
    int ret;

    node->kelf = NTK_NEFF_NONE;
    node->func_name = "";
    if ((ret = neff_get_text(r, json, graph_file, "name", "", &node->name)) < 0 ||
        (ret = neff_get_text(r, json, graph_file, "op", "", &op)) < 0) {
        return ret;
    }
    if (strcmp(op, "null") == 0) {
        node->kind = neff_is_true(json_object_get(json, "is_param")) ? NTK_NEFF_NODE_PARAM
                                                                     : NTK_NEFF_NODE_INPUT;
        return read_outputs(g, json, index, node);
    }
    if (strcmp(op, "tvm_op") != 0) {
        return BAD(r, "%s: node %s has the unknown op \"%s\"", graph_file, node->name, op);
    }
    if ((ret = neff_get_text(r, attrs, graph_file, "func_name", "", &node->func_name)) < 0 ||
        (ret = neff_get_text(r, attrs, graph_file, "library", NULL, &node->library)) < 0) {
        return ret;
    }
    node->kind = strcmp(node->func_name, "__kelf") == 0 ? NTK_NEFF_NODE_CORE : NTK_NEFF_NODE_CPU;
    ret = neff_get_array(r, json, node->name, "inputs", true, 65536, &inputs, &node->input_count);
    if (ret < 0) {
        return ret;
    }
    node->inputs = neff_keep(r, node->input_count, sizeof *node->inputs);
    if (!node->inputs) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        ret = read_entry(g, json_array_get(inputs, i), index, &node->inputs[i]);
        if (ret < 0) {
            return ret;
        }
    }
    ret = read_outputs(g, json, index, node);
    if (ret < 0) {
        return ret;
    }
    return node->kind == NTK_NEFF_NODE_CORE ? read_kelf_of_node(r, attrs, node) : 0;
}

/* The size that def.json gives to an input or output of this name; 0 when no program has it. */
static uint64_t var_bytes(const struct ntk_neff *neff, const char *name,
                          enum ntk_neff_var_type type)
{
    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            const struct ntk_neff_var *var =
                ntk_neff_var_by_name(&neff->kelfs[k].subgraphs[s], name);

            if (var && var->type == type) {
                return var->bytes_count;
            }
        }
    }
    return 0;
}

static void fill_io(const struct ntk_neff *neff, struct ntk_neff_entry entry,
                    enum ntk_neff_var_type type, struct ntk_neff_io *io)
{
    const struct ntk_neff_tensor *tensor = ntk_neff_tensor_get(neff, entry);

    io->name = tensor->name;
    io->dtype = tensor->dtype;
    io->dim_count = tensor->dim_count;
    memcpy(io->dims, tensor->dims, sizeof io->dims);
    io->bytes_count = var_bytes(neff, tensor->name, type);
    if (io->bytes_count == 0) {
        io->bytes_count = tensor->bytes_count;
    }
    io->entry = entry;
}

static int read_io(struct graph_reader *g)
{
    struct reader *r = g->r;
    struct ntk_neff *neff = r->neff;
    const json_t *heads;
    uint32_t head_count;
    int ret;

    neff->inputs = neff_keep(r, neff->node_count, sizeof *neff->inputs);
    ret = neff_get_array(r, g->graph, graph_file, "heads", true, 65536, &heads, &head_count);
    if (ret < 0) {
        return ret;
    }
    neff->outputs = neff_keep(r, head_count, sizeof *neff->outputs);
    if (!neff->inputs || !neff->outputs) {
        return NO_MEMORY(r);
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        const struct ntk_neff_node *node = &neff->nodes[i];

        if (node->kind == NTK_NEFF_NODE_INPUT ||
            (node->kind == NTK_NEFF_NODE_PARAM &&
             var_bytes(neff, node->name, NTK_NEFF_VAR_INPUT) > 0)) {
            for (uint32_t k = 0; k < neff->input_count; k++) {
                if (strcmp(neff->inputs[k].name, node->outputs[0].name) == 0) {
                    return BAD(r, "%s: two inputs are called %s", graph_file, node->name);
                }
            }
            fill_io(neff, (struct ntk_neff_entry){ i, 0 }, NTK_NEFF_VAR_INPUT,
                    &neff->inputs[neff->input_count++]);
        }
    }
    for (uint32_t i = 0; i < head_count; i++) {
        struct ntk_neff_entry entry;
        uint32_t k = 0;

        ret = read_entry(g, json_array_get(heads, i), neff->node_count, &entry);
        if (ret < 0) {
            return ret;
        }
        while (k < neff->output_count &&
               strcmp(neff->outputs[k].name, ntk_neff_tensor_get(neff, entry)->name) != 0) {
            k++;
        }
        if (k == neff->output_count) {
            fill_io(neff, entry, NTK_NEFF_VAR_OUTPUT, &neff->outputs[neff->output_count++]);
        }
    }
    return 0;
}

static int read_graph(struct reader *r)
{
    struct ntk_neff *neff = r->neff;
    struct graph_reader g = { .r = r };
    const json_t *nodes;
    const json_t *rows;
    uint32_t row_count;
    uint32_t core_count = 0;
    json_t *json;
    int ret = neff_load_json(r, graph_file, &json);

    if (ret < 0) {
        return ret;
    }
    g.graph = json;
    if ((ret = neff_get_array(r, json, graph_file, "nodes", true, 65536, &nodes,
                              &neff->node_count)) < 0 ||
        (ret = neff_get_array(r, json, graph_file, "node_row_ptr", false, ARRAY_MAX, &rows,
                              &row_count)) < 0) {
        goto out;
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        const char *function = json_string_value(
            json_object_get(json_object_get(json_array_get(nodes, i), "attrs"), "func_name"));

        core_count += function && strcmp(function, "__kelf") == 0;
    }
    neff->nodes = neff_keep(r, neff->node_count, sizeof *neff->nodes);
    neff->kelfs = neff_keep(r, core_count, sizeof *neff->kelfs);
    g.first_entry = neff_keep(r, (size_t)neff->node_count + 1, sizeof *g.first_entry);
    g.unique = neff_keep(r, neff->node_count, sizeof *g.unique);
    g.output_counts = neff_keep(r, neff->node_count, sizeof *g.output_counts);
    if (!neff->nodes || !neff->kelfs || !g.first_entry || !g.unique || !g.output_counts) {
        ret = NO_MEMORY(r);
        goto out;
    }
    for (uint32_t i = 0; i < neff->node_count; i++) {
        int64_t row;

        if (i < row_count && neff_number_of(json_array_get(rows, i), &row) && row >= 0) {
            g.first_entry[i] = (uint64_t)row;
        } else if (i > 0) {
            g.first_entry[i] = g.first_entry[i - 1] + g.output_counts[i - 1];
        }
        ret = read_node(&g, json_array_get(nodes, i), i);
        if (ret < 0) {
            goto out;
        }
    }
    ret = read_io(&g);

out:
    json_decref(json);
    return ret;
}

/* ---- open and close ---- */

static void parsed_drop(struct neff_private *data)
{
    ntk_map_each(entry, &data->parsed) {
        json_decref(entry->value);
    }
    ntk_map_fini(&data->parsed);
}

void ntk_neff_close(struct ntk_neff *neff)
{
    struct neff_private *data;

    if (!neff) {
        return;
    }
    data = neff->private_data;
    if (data) {
        ntk_tar_fini(&data->tar);
        ntk_map_fini(&data->members);
        parsed_drop(data);
        for (size_t i = 0; i < data->blocks.count; i++) {
            free(*(void **)ntk_vec_at(&data->blocks, i));
        }
        ntk_vec_fini(&data->blocks);
        free(data);
    }
    free(neff);
}

/* What the hooks of the archive work with. */
struct archive_hooks {
    struct neff_hasher *hasher;
    struct neff_lander *lander;
};

static void hash_consumed(void *ctx, size_t count)
{
    neff_hasher_continue(((struct archive_hooks *)ctx)->hasher, count);
}

static void archive_land(void *ctx, const struct ntk_tar_member *members, size_t member_count,
                         struct ntk_tar_landing *landing)
{
    neff_lander_land(((struct archive_hooks *)ctx)->lander, members, member_count, landing);
}

/* The members, hashed and landed on the way as the options say. */
static int read_archive(struct reader *r, const uint8_t *payload,
                        const struct ntk_neff_open_options *options)
{
    static const struct ntk_tar_limits limits = { NTK_NEFF_INFLATED_BYTES_MAX, NTK_NEFF_MEMBERS_MAX,
                                                  NTK_NEFF_MEMBER_NAME_MAX };
    struct neff_lander lander = { .r = r, .landing = options->landing };
    struct neff_hasher hasher = { 0 };
    struct archive_hooks ctx = { &hasher, &lander };
    struct ntk_tar_hooks hooks = { .land = options->landing ? archive_land : NULL,
                                   .land_bytes_min =
                                       options->landing ? options->landing->bytes_min : 0,
                                   .consume = options->check_hash ? hash_consumed : NULL,
                                   .ctx = &ctx };
    int ret =
        options->check_hash ? neff_hasher_init(&hasher, &r->neff->header, payload, r->err) : 0;

    if (ret < 0) {
        return ret;
    }
    ret = ntk_tar_read_with(payload, (size_t)r->neff->header.data_size, &limits, &hooks,
                            &r->data->tar, r->err);
    if (ret == 0 && options->check_hash) {
        ret = neff_hasher_finish(&hasher, &r->neff->hash, r->err);
    }
    neff_lander_fini(&lander);
    neff_hasher_fini(&hasher);
    return ret;
}

int ntk_neff_open_with(const void *bytes, size_t bytes_count,
                       const struct ntk_neff_open_options *options, struct ntk_neff **out_neff,
                       struct ntk_err *err)
{
    struct reader r = { .err = err };
    struct ntk_neff_header header = { 0 };
    struct ntk_neff *neff;
    int ret = ntk_neff_read_header(bytes, bytes_count, &header, err);

    if (ret < 0) {
        return ret;
    }
    neff = calloc(1, sizeof *neff);
    r.data = calloc(1, sizeof *r.data);
    if (!neff || !r.data) {
        free(neff);
        free(r.data);
        return NO_MEMORY(&r);
    }
    neff->private_data = r.data;
    ntk_vec_init(&r.data->blocks, sizeof(void *));
    r.neff = neff;
    neff->header = header;

    ret = read_archive(&r, (const uint8_t *)bytes + header.header_size, options);
    if (ret < 0) {
        goto out;
    }
    neff->is_compressed = r.data->tar.is_compressed;
    neff->members = (struct ntk_neff_member *)r.data->tar.members;
    neff->member_count = (uint32_t)r.data->tar.member_count;
    for (uint32_t i = 0; i < neff->member_count; i++) {
        if (ntk_map_put(&r.data->members, neff->members[i].name, &neff->members[i]) < 0) {
            ret = NO_MEMORY(&r);
            goto out;
        }
    }
    if ((ret = read_info(&r)) < 0 || (ret = read_graph(&r)) < 0) {
        goto out;
    }
    parsed_drop(r.data);

    *out_neff = neff;
    neff = NULL;
    ret = 0;

out:
    ntk_neff_close(neff);
    return ret;
}

int ntk_neff_open_bytes(const void *bytes, size_t bytes_count, struct ntk_neff **out_neff,
                        struct ntk_err *err)
{
    return ntk_neff_open_with(bytes, bytes_count, &(struct ntk_neff_open_options){ 0 }, out_neff,
                              err);
}

int ntk_neff_open(const char *path, struct ntk_neff **out_neff, struct ntk_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    uint8_t *bytes = NULL;
    size_t done = 0;
    int ret;

    if (fd < 0 || fstat(fd, &status) < 0) {
        ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: cannot open: %s", path,
                          strerror(errno));
        goto out;
    }
    if (!S_ISREG(status.st_mode)) {
        ret = ntk_err_set(err, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL, NTK_ERR_NO_OFFSET,
                          "%s: not a regular file", path);
        goto out;
    }
    if ((uint64_t)status.st_size > NTK_NEFF_FILE_BYTES_MAX) {
        ret = ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "%s: too large for a NEFF", path);
        goto out;
    }
    /* Read, not mapped: a file that shrinks while it is read must not end the process. */
    bytes = malloc((size_t)status.st_size + 1);
    if (!bytes) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "%s: no memory for %lld bytes", path,
                          (long long)status.st_size);
        goto out;
    }
    while (done < (size_t)status.st_size) {
        ssize_t got = read(fd, bytes + done, (size_t)status.st_size - done);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "%s: cannot read: %s", path,
                              strerror(errno));
            goto out;
        }
        if (got == 0) {
            break;
        }
        done += (size_t)got;
    }
    ret = ntk_neff_open_bytes(bytes, done, out_neff, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }

out:
    free(bytes);
    if (fd >= 0) {
        close(fd);
    }
    return ret;
}

/* ---- small questions ---- */

const struct ntk_neff_member *ntk_neff_member_get(const struct ntk_neff *neff, const char *name)
{
    const struct neff_private *data = neff->private_data;

    if (name[0] == '.' && name[1] == '/') {
        name += 2;
    }
    return ntk_map_get(&data->members, name);
}

const struct ntk_neff_var *ntk_neff_var_by_id(const struct ntk_neff_subgraph *subgraph,
                                              uint32_t var_id)
{
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (subgraph->vars[i].var_id == var_id) {
            return &subgraph->vars[i];
        }
    }
    return NULL;
}

const struct ntk_neff_var *ntk_neff_var_by_name(const struct ntk_neff_subgraph *subgraph,
                                                const char *name)
{
    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        if (strcmp(subgraph->vars[i].name, name) == 0) {
            return &subgraph->vars[i];
        }
    }
    return NULL;
}

const struct ntk_neff_tensor *ntk_neff_tensor_get(const struct ntk_neff *neff,
                                                  struct ntk_neff_entry entry)
{
    if (entry.node >= neff->node_count || entry.output >= neff->nodes[entry.node].output_count) {
        return NULL;
    }
    return &neff->nodes[entry.node].outputs[entry.output];
}

uint64_t ntk_neff_transfer_descriptors(const struct ntk_neff_transfer *transfer)
{
    uint32_t first = transfer->tiling_dim_count > 0 ? transfer->tiling_dim_count : 1;
    uint64_t count = 1;

    for (uint32_t i = first; i < transfer->to.dim_count; i++) {
        count *= transfer->to.sizes[i];
    }
    return count;
}

static bool touches_io(const struct ntk_neff_subgraph *subgraph,
                       const struct ntk_neff_transfer *transfer)
{
    enum ntk_neff_var_type type = subgraph->vars[transfer->to.var].type;
    bool io = type == NTK_NEFF_VAR_INPUT || type == NTK_NEFF_VAR_OUTPUT;

    for (uint32_t i = 0; i < transfer->source_count; i++) {
        type = subgraph->vars[transfer->from[i].var].type;
        io = io || type == NTK_NEFF_VAR_INPUT || type == NTK_NEFF_VAR_OUTPUT;
    }
    return io;
}

void ntk_neff_subgraph_sizes(const struct ntk_neff_subgraph *subgraph,
                             struct ntk_neff_sizes *out_sizes)
{
    struct ntk_neff_sizes sizes = { 0 };
    uint64_t shared[2] = { 0, 0 };

    for (uint32_t i = 0; i < subgraph->var_count; i++) {
        const struct ntk_neff_var *var = &subgraph->vars[i];

        switch (var->type) {
        case NTK_NEFF_VAR_FILE:
            sizes.constants += var->bytes_count;
            break;
        case NTK_NEFF_VAR_TMP_BUF:
            sizes.private_scratch += var->bytes_count;
            break;
        case NTK_NEFF_VAR_VIRTUAL:
            if (var->backing_offset + var->bytes_count > shared[var->alt_fabric]) {
                shared[var->alt_fabric] = var->backing_offset + var->bytes_count;
            }
            break;
        case NTK_NEFF_VAR_INPUT:
        case NTK_NEFF_VAR_OUTPUT:
            sizes.io += var->bytes_count;
            break;
        default:
            break;
        }
    }
    sizes.shared_scratch = shared[0] + shared[1];
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        const struct ntk_neff_engine *engine = &subgraph->engines[e];

        sizes.code += engine->code_bytes;
        for (uint32_t i = 0; i < engine->group_count; i++) {
            for (uint32_t k = 0; k < engine->groups[i].transfer_count; k++) {
                const struct ntk_neff_transfer *transfer = &engine->groups[i].transfers[k];
                uint64_t bytes = 16 * ntk_neff_transfer_descriptors(transfer);

                if (touches_io(subgraph, transfer)) {
                    sizes.rings_io += bytes;
                } else {
                    sizes.rings_spill += bytes;
                }
            }
        }
    }
    *out_sizes = sizes;
}
