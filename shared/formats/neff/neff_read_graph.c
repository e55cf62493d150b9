/* SPDX-License-Identifier: MIT */
/* neff_read_graph - reads the graph of neff.json and the programs in kelf-N.json. */
#include "shared/formats/neff/neff_read_private.h"

#include <string.h>

#define SUBGRAPHS_MAX 256

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
    neff_json_drop(r, json);
    return ret;
}

/* ---- neff.json ---- */

static const char *const graph_file = "neff.json";

/* The inner array of ["list_...", [...]]; NULL if missing. */
static const json_t *attribute_list(const json_t *graph, const char *key)
{
    const json_t *pair = json_object_get(json_object_get(graph, "attrs"), key);
    const json_t *list = json_array_get(pair, 1);

    return json_is_array(list) ? list : NULL;
}

struct graph_reader {
    struct reader *r;
    const json_t *graph;
    uint64_t *first_entry;   /* per node, from node_row_ptr or by counting */
    uint32_t **unique;       /* per node: from an output in the file to its index in outputs[] */
    uint32_t *output_counts; /* per node: outputs in the file */
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
            return BAD(r, "%s: node '%s' has no outputs", graph_file, node->name);
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

/* Reads [node, output, ...], which must refer to a node before `before`; outputs with equal names
 * are merged. */
static int read_entry(const struct graph_reader *g, const json_t *json, uint32_t before,
                      struct ntk_neff_entry *entry)
{
    int64_t node;
    int64_t output;

    if (!neff_number_of(json_array_get(json, 0), &node) ||
        !neff_number_of(json_array_get(json, 1), &output) || node < 0 || node >= before ||
        output < 0 || output >= g->output_counts[node]) {
        return BAD(g->r, "%s: an entry must refer to an output of an earlier node", graph_file);
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
        return BAD(r, "%s: node '%s' has no kelf", graph_file, node->name);
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

/* Reads a parameter's value from our attribute attrs.file_name; its size must match shape and
 * dtype. */
static int read_value(struct reader *r, const json_t *attrs, struct ntk_neff_node *node)
{
    const struct ntk_neff_tensor *tensor = &node->outputs[0];
    struct ntk_neff_var *value;
    const char *file_name;
    int ret = neff_get_text(r, attrs, node->name, "file_name", NULL, &file_name);

    if (ret < 0 || !file_name) {
        return ret;
    }
    if (node->output_count != 1) {
        return BAD(r, "%s: parameter '%s' has %u values (expected 1)", graph_file, node->name,
                   node->output_count);
    }
    value = neff_keep(r, 1, sizeof *value);
    if (!value) {
        return NO_MEMORY(r);
    }
    *value = (struct ntk_neff_var){ .name = tensor->name,
                                    .type = NTK_NEFF_VAR_FILE,
                                    .file_name = file_name,
                                    .bytes_count = tensor->bytes_count,
                                    .referenced_var_id = NTK_NEFF_NONE };
    node->value = value;
    return neff_read_constant(r, graph_file, "", value);
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
        ret = read_outputs(g, json, index, node);
        return ret == 0 && node->kind == NTK_NEFF_NODE_PARAM ? read_value(r, attrs, node) : ret;
    }
    if (strcmp(op, "tvm_op") != 0) {
        return BAD(r, "%s: node '%s' has the unknown op '%s'", graph_file, node->name, op);
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

/* Collects the facts in def.json about inputs or outputs by name, from the first such variable of
 * all programs. */
static int map_vars(struct reader *r, enum ntk_neff_var_type type, struct ntk_map *out_vars)
{
    const struct ntk_neff *neff = r->neff;

    for (uint32_t k = 0; k < neff->kelf_count; k++) {
        for (uint32_t s = 0; s < neff->kelfs[k].subgraph_count; s++) {
            const struct ntk_neff_subgraph *subgraph = &neff->kelfs[k].subgraphs[s];

            for (uint32_t v = 0; v < subgraph->var_count; v++) {
                struct ntk_neff_var *var = &subgraph->vars[v];

                if (var->type == type && !ntk_map_get(out_vars, var->name) &&
                    ntk_map_put(out_vars, var->name, var) < 0) {
                    return NO_MEMORY(r);
                }
            }
        }
    }
    return 0;
}

static uint64_t var_bytes(const struct ntk_map *vars, const char *name)
{
    const struct ntk_neff_var *var = ntk_map_get(vars, name);

    return var ? var->bytes_count : 0;
}

static void fill_io(const struct ntk_neff *neff, struct ntk_neff_entry entry,
                    const struct ntk_map *vars, struct ntk_neff_io *io)
{
    const struct ntk_neff_tensor *tensor = ntk_neff_tensor_get(neff, entry);

    io->name = tensor->name;
    io->dtype = tensor->dtype;
    io->dim_count = tensor->dim_count;
    memcpy(io->dims, tensor->dims, sizeof io->dims);
    io->bytes_count = var_bytes(vars, tensor->name);
    if (io->bytes_count == 0) {
        io->bytes_count = tensor->bytes_count;
    }
    io->entry = entry;
}

static int read_inputs(struct reader *r, const struct ntk_map *vars, struct ntk_map *names)
{
    struct ntk_neff *neff = r->neff;

    for (uint32_t i = 0; i < neff->node_count; i++) {
        struct ntk_neff_node *node = &neff->nodes[i];

        if (node->kind == NTK_NEFF_NODE_INPUT ||
            (node->kind == NTK_NEFF_NODE_PARAM && !node->value &&
             var_bytes(vars, node->name) > 0)) {
            if (ntk_map_get(names, node->outputs[0].name)) {
                return BAD(r, "%s: duplicate input '%s'", graph_file, node->name);
            }
            if (ntk_map_put(names, node->outputs[0].name, node) < 0) {
                return NO_MEMORY(r);
            }
            fill_io(neff, (struct ntk_neff_entry){ i, 0 }, vars,
                    &neff->inputs[neff->input_count++]);
        }
    }
    return 0;
}

static int read_heads(struct graph_reader *g, const json_t *heads, uint32_t head_count,
                      const struct ntk_map *vars, struct ntk_map *names)
{
    struct ntk_neff *neff = g->r->neff;

    for (uint32_t i = 0; i < head_count; i++) {
        struct ntk_neff_entry entry;
        int ret = read_entry(g, json_array_get(heads, i), neff->node_count, &entry);

        if (ret < 0) {
            return ret;
        }
        const char *name = ntk_neff_tensor_get(neff, entry)->name;
        if (!ntk_map_get(names, name)) {
            if (ntk_map_put(names, name, neff) < 0) {
                return NO_MEMORY(g->r);
            }
            fill_io(neff, entry, vars, &neff->outputs[neff->output_count++]);
        }
    }
    return 0;
}

static int read_io(struct graph_reader *g)
{
    struct reader *r = g->r;
    struct ntk_neff *neff = r->neff;
    struct ntk_map inputs = { 0 }; /* variables by name */
    struct ntk_map outputs = { 0 };
    struct ntk_map input_names = { 0 };
    struct ntk_map output_names = { 0 };
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
    if ((ret = map_vars(r, NTK_NEFF_VAR_INPUT, &inputs)) == 0 &&
        (ret = map_vars(r, NTK_NEFF_VAR_OUTPUT, &outputs)) == 0 &&
        (ret = read_inputs(r, &inputs, &input_names)) == 0) {
        ret = read_heads(g, heads, head_count, &outputs, &output_names);
    }
    ntk_map_fini(&inputs);
    ntk_map_fini(&outputs);
    ntk_map_fini(&input_names);
    ntk_map_fini(&output_names);
    return ret;
}

int neff_read_graph(struct reader *r)
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
    neff_json_drop(r, json);
    return ret;
}
