/* SPDX-License-Identifier: MIT */
/* neff_build_json - writes neff.json and info.json, and orders all members in the archive. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/json.h"

struct produced { /* a tensor and the node that produces it */
    const struct build_tensor *tensor;
    uint32_t node; /* node index in neff.json */
    uint32_t output;
    bool taken;    /* a node uses it as input */
    bool is_input; /* an input of the network */
};

static struct produced *find_produced(const struct ntk_vec *produced, const char *name)
{
    ntk_vec_each(struct produced, p, produced) {
        if (strcmp(p->tensor->name, name) == 0) {
            return p;
        }
    }
    return NULL;
}

static bool same_tensor(const struct build_tensor *a, const struct build_tensor *b)
{
    return a->dtype == b->dtype && a->bytes_count == b->bytes_count;
}

/* Lists network inputs first, then each node's outputs, and the connections between nodes. */
static bool connect(struct ntk_neff_build *build, struct ntk_vec *produced, uint32_t *out_inputs)
{
    uint32_t inputs = 0;

    for (size_t i = 0; i < build->graph.count; i++) {
        const struct graph_node *node = ntk_vec_at(&build->graph, i);

        ntk_vec_each(struct build_tensor, tensor, &node->inputs) {
            bool made_here = false;
            struct produced *p;

            for (size_t k = 0; k < i && !made_here; k++) {
                const struct graph_node *before = ntk_vec_at(&build->graph, k);

                ntk_vec_each(struct build_tensor, out, &before->outputs) {
                    made_here = made_here || strcmp(out->name, tensor->name) == 0;
                }
            }
            if (made_here || find_produced(produced, tensor->name)) {
                continue;
            }
            p = ntk_vec_add(produced);
            if (!p) {
                neff_build_fail(build, -ENOMEM, "out of memory");
                return false;
            }
            *p = (struct produced){ tensor, inputs++, 0, true, true };
        }
    }
    for (size_t i = 0; i < build->graph.count; i++) {
        const struct graph_node *node = ntk_vec_at(&build->graph, i);
        uint32_t output = 0;

        if (node->outputs.count == 0) {
            neff_build_fail(build, -EINVAL, "node '%s' has no output", node->node->name);
            return false;
        }
        ntk_vec_each(struct build_tensor, tensor, &node->inputs) {
            struct produced *p = find_produced(produced, tensor->name);

            p->taken = true;
            if (!same_tensor(p->tensor, tensor)) {
                neff_build_fail(build, -EINVAL, "tensor '%s' has two different shapes or dtypes",
                                tensor->name);
                return false;
            }
        }
        ntk_vec_each(struct build_tensor, tensor, &node->outputs) {
            struct produced *p;

            if (find_produced(produced, tensor->name)) {
                neff_build_fail(build, -EEXIST, "tensor '%s' has two producers", tensor->name);
                return false;
            }
            p = ntk_vec_add(produced);
            if (!p) {
                neff_build_fail(build, -ENOMEM, "out of memory");
                return false;
            }
            *p = (struct produced){ tensor, inputs + (uint32_t)i, output++, false, false };
        }
    }
    *out_inputs = inputs;
    return true;
}

static void put_entry(struct ntk_json *json, uint32_t node, uint32_t output)
{
    ntk_json_array_begin(json);
    ntk_json_u64(json, node);
    ntk_json_u64(json, output);
    ntk_json_u64(json, 0);
    ntk_json_array_end(json);
}

/* How often a node's outputs are listed: core nodes of an LNC 2 file list them once per
 * subgraph. */
static uint32_t repeats(const struct ntk_neff_build *build, const struct graph_node *node)
{
    return node->node->is_kernel ? build->options.lnc : 1;
}

static bool is_param(const struct ntk_neff_build *build, const struct build_tensor *tensor)
{
    for (size_t i = 0; i < build->params.count; i++) {
        if (strcmp(*(char **)ntk_vec_at(&build->params, i), tensor->name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_input_node(struct ntk_json *json, const struct ntk_neff_build *build,
                           const struct build_tensor *tensor)
{
    bool has_value = is_param(build, tensor);
    char path[NTK_NEFF_MEMBER_NAME_MAX];

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "op", "null");
    ntk_json_key_text(json, "name", tensor->name);
    ntk_json_key_array_begin(json, "inputs");
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "output_names");
    ntk_json_text(json, tensor->name);
    ntk_json_array_end(json);
    ntk_json_key_text(json, "is_param", has_value ? "1" : "0");
    if (has_value) {
        neff_build_param_path(path, tensor->name);
        ntk_json_key_object_begin(json, "attrs");
        ntk_json_key_text(json, "file_name", path);
        ntk_json_object_end(json);
    }
    ntk_json_object_end(json);
}

static void put_key_number_text(struct ntk_json *json, const char *key, size_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%zu", number);
    ntk_json_key_text(json, key, text);
}

static void put_node(struct ntk_json *json, const struct ntk_neff_build *build,
                     const struct graph_node *graph, const struct ntk_vec *produced,
                     uint32_t kelf_index)
{
    const struct build_node *node = graph->node;
    uint32_t times = repeats(build, graph);
    char text[64];

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "op", "tvm_op");
    ntk_json_key_text(json, "name", node->name);
    ntk_json_key_object_begin(json, "attrs");
    ntk_json_key_text(json, "func_name", node->is_kernel ? "__kelf" : node->function);
    ntk_json_key_text(json, "flatten_data", "0");
    put_key_number_text(json, "num_inputs", graph->inputs.count);
    put_key_number_text(json, "num_outputs", graph->outputs.count * times);
    if (node->is_kernel) {
        snprintf(text, sizeof text, "kelf-%u.json", kelf_index);
        ntk_json_key_text(json, "kelf", text);
    } else if (node->library) {
        ntk_json_key_text(json, "library", node->library);
    }
    ntk_json_object_end(json);
    ntk_json_key_array_begin(json, "inputs");
    ntk_vec_each(struct build_tensor, tensor, &graph->inputs) {
        const struct produced *p = find_produced(produced, tensor->name);

        put_entry(json, p->node, p->output);
    }
    ntk_json_array_end(json);
    ntk_json_key_array_begin(json, "output_names");
    for (uint32_t t = 0; t < times; t++) {
        ntk_vec_each(struct build_tensor, tensor, &graph->outputs) {
            ntk_json_text(json, tensor->name);
        }
    }
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static bool is_head(const struct ntk_neff_build *build, const struct produced *p)
{
    for (size_t i = 0; i < build->heads.count; i++) {
        if (strcmp(*(char **)ntk_vec_at(&build->heads, i), p->tensor->name) == 0) {
            return true;
        }
    }
    return !p->taken;
}

enum entry_fact { FACT_SHAPE, FACT_STORAGE, FACT_DTYPE };

static void put_fact(struct ntk_json *json, const struct build_tensor *tensor, enum entry_fact fact,
                     uint64_t *count)
{
    if (fact == FACT_SHAPE) {
        neff_build_put_dims(json, tensor);
    } else if (fact == FACT_STORAGE) {
        ntk_json_u64(json, *count);
    } else {
        ntk_json_text(json, ntk_dtype_name(tensor->dtype));
    }
    ++*count;
}

static void put_facts(struct ntk_json *json, const struct ntk_neff_build *build,
                      const struct ntk_vec *produced, const char *key, const char *kind,
                      enum entry_fact fact)
{
    uint64_t count = 0;

    ntk_json_key_array_begin(json, key);
    ntk_json_text(json, kind);
    ntk_json_array_begin(json);
    ntk_vec_each(struct produced, p, produced) {
        if (p->is_input) {
            put_fact(json, p->tensor, fact, &count);
        }
    }
    for (size_t i = 0; i < build->graph.count; i++) {
        const struct graph_node *node = ntk_vec_at(&build->graph, i);

        for (uint32_t t = 0; t < repeats(build, node); t++) {
            ntk_vec_each(struct build_tensor, tensor, &node->outputs) {
                put_fact(json, tensor, fact, &count);
            }
        }
    }
    ntk_json_array_end(json);
    ntk_json_array_end(json);
}

static void put_heads(struct ntk_json *json, const struct ntk_neff_build *build,
                      const struct ntk_vec *produced, uint32_t inputs)
{
    ntk_json_key_array_begin(json, "heads");
    for (size_t i = 0; i < build->graph.count; i++) {
        const struct graph_node *node = ntk_vec_at(&build->graph, i);

        for (uint32_t t = 0; t < repeats(build, node); t++) {
            ntk_vec_each(struct produced, p, produced) {
                if (!p->is_input && p->node == inputs + i && is_head(build, p)) {
                    put_entry(json, p->node, p->output + t * (uint32_t)node->outputs.count);
                }
            }
        }
    }
    ntk_json_array_end(json);
}

static void put_signatures(struct ntk_json *json, const struct ntk_neff_build *build,
                           const struct ntk_vec *produced)
{
    uint64_t id = 0;

    ntk_json_key_object_begin(json, "metadata");
    ntk_json_key_object_begin(json, "signatures");
    ntk_json_key_object_begin(json, "default");
    ntk_json_key_object_begin(json, "inputs");
    ntk_vec_each(struct produced, p, produced) {
        if (p->is_input && !is_param(build, p->tensor)) {
            ntk_json_key_object_begin(json, p->tensor->name);
            ntk_json_key_u64(json, "id", id++);
            ntk_json_key_text(json, "dtype", ntk_dtype_name(p->tensor->dtype));
            ntk_json_key(json, "shape");
            neff_build_put_dims(json, p->tensor);
            ntk_json_object_end(json);
        }
    }
    ntk_json_object_end(json);
    ntk_json_key_object_begin(json, "outputs");
    ntk_json_object_end(json);
    ntk_json_object_end(json);
    ntk_json_object_end(json);
    ntk_json_object_end(json);
}

static void make_graph(struct ntk_neff_build *build)
{
    struct ntk_vec produced = NTK_VEC_INIT(struct produced);
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    uint32_t inputs = 0;
    uint32_t kelf = 0;
    uint64_t row = 0;

    if (!connect(build, &produced, &inputs)) {
        ntk_vec_fini(&produced);
        return;
    }
    neff_build_begin_json(&json, &buf);
    ntk_json_key_array_begin(&json, "nodes");
    ntk_vec_each(struct produced, p, &produced) {
        if (p->is_input) {
            put_input_node(&json, build, p->tensor);
        }
    }
    for (size_t i = 0; i < build->graph.count; i++) {
        const struct graph_node *node = ntk_vec_at(&build->graph, i);

        put_node(&json, build, node, &produced, kelf);
        kelf += node->node->is_kernel;
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "arg_nodes");
    for (uint32_t i = 0; i < inputs; i++) {
        ntk_json_u64(&json, i);
    }
    ntk_json_array_end(&json);
    put_heads(&json, build, &produced, inputs);
    ntk_json_key_object_begin(&json, "attrs");
    put_facts(&json, build, &produced, "shape", "list_shape", FACT_SHAPE);
    put_facts(&json, build, &produced, "storage_id", "list_int", FACT_STORAGE);
    put_facts(&json, build, &produced, "dltype", "list_str", FACT_DTYPE);
    ntk_json_object_end(&json);
    ntk_json_key_array_begin(&json, "node_row_ptr");
    for (uint32_t i = 0; i < inputs; i++) {
        ntk_json_u64(&json, row++);
    }
    ntk_json_u64(&json, row);
    for (size_t i = 0; i < build->graph.count; i++) {
        const struct graph_node *node = ntk_vec_at(&build->graph, i);

        row += node->outputs.count * repeats(build, node);
        ntk_json_u64(&json, row);
    }
    ntk_json_array_end(&json);
    put_signatures(&json, build, &produced);
    ntk_json_object_end(&json);
    neff_build_finish_member(build, "neff.json", &buf);
    ntk_vec_fini(&produced);
}

static void make_info(struct ntk_neff_build *build, uint32_t tpb_count)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;

    neff_build_begin_json(&json, &buf);
    ntk_json_key_text(&json, "tool_version", build->tool_version);
    ntk_json_key_text(&json, "kelp_version", "Dynamic");
    ntk_json_key_text(&json, "name", build->name);
    ntk_json_key_u64(&json, "num_tpb", tpb_count);
    ntk_json_key_u64(&json, "num_tpb_requested", tpb_count);
    ntk_json_key_array_begin(&json, "num_tpb_per_node");
    for (size_t i = 0; i < 64; i++) {
        const struct graph_node *node =
            i < build->graph.count ? ntk_vec_at(&build->graph, i) : NULL;

        ntk_json_u64(&json, node && node->node->is_kernel ? node->stage_count : 0);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    neff_build_finish_member(build, "info.json", &buf);
}

/* The order of members that compilers use: info.json, then all others by name, neff.json last. */
static int member_rank(const char *name)
{
    return strcmp(name, "info.json") == 0 ? 0 : strcmp(name, "neff.json") == 0 ? 2 : 1;
}

static int compare_members(const void *a, const void *b)
{
    const struct ntk_neff_pack_member *left = a;
    const struct ntk_neff_pack_member *right = b;
    int difference = member_rank(left->name) - member_rank(right->name);

    return difference ? difference : strcmp(left->name, right->name);
}

void neff_build_json(struct ntk_neff_build *build, uint32_t tpb_count)
{
    uint32_t kelf = 0;
    size_t first = 0; /* index in build->nodes */

    make_info(build, tpb_count);
    ntk_vec_each(struct graph_node, node, &build->graph) {
        if (node->node->is_kernel) {
            neff_build_program(build, node, ntk_vec_at(&build->nodes, first), kelf++);
        }
        first += node->stage_count;
    }
    neff_build_positions(build);
    make_graph(build);
    if (build->err.code != 0) {
        return;
    }
    ntk_vec_each(struct build_member, member, &build->members) {
        struct ntk_neff_pack_member packed = { member->name, member->bytes, member->bytes_count };

        if (ntk_vec_push(&build->packed, &packed) < 0) {
            neff_build_fail(build, -ENOMEM, "out of memory");
            return;
        }
    }
    ntk_vec_sort(&build->packed, compare_members);
}
