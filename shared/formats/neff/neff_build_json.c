/* SPDX-License-Identifier: MIT */
/* The members of a NEFF in the making: JSON, engine binaries, and their order in the archive. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/json.h"

static const char *const engine_files[NTK_ISA_ENGINE_COUNT] = { "PE", "Activation", "Pool", "DVE",
                                                                "SP" };
static const char *const engine_keys[NTK_ISA_ENGINE_COUNT] = { "pe", "act", "pool", "dve", "sp" };
static const char *const var_types[] = { "state-buffer", "input",   "output",  "file",
                                         "tmp-buf",      "virtual", "pointer", "dge-table" };
static const char *const queue_types[] = { "in", "out", "data", "embedding_update", "dynamic" };
static const char *const transfer_ops[] = {
    "copy", "cast", "add", "min", "max", "fma", "transpose"
};

const char *neff_build_engine_file(int engine)
{
    return engine_files[engine];
}

void neff_build_finish_member(struct ntk_neff_build *build, const char *name, struct ntk_buf *buf)
{
    size_t count = 0;
    char *bytes;

    if (!ntk_buf_ok(buf)) {
        ntk_buf_fini(buf);
        neff_build_fail(build, -ENOMEM, "out of memory");
        return;
    }
    bytes = ntk_buf_take(buf, &count);
    if (!bytes) { /* nothing was written */
        bytes = calloc(1, 1);
    }
    if (!bytes) {
        neff_build_fail(build, -ENOMEM, "out of memory");
        return;
    }
    neff_build_member_take(build, name, bytes, count);
}

static void begin_json(struct ntk_json *json, struct ntk_buf *buf)
{
    ntk_json_init(json, buf, false);
    ntk_json_object_begin(json);
}

/* ---- programs ---- */

static void put_instr(struct ntk_neff_build *build, struct ntk_buf *code, int engine,
                      const struct ntk_isa_instr *instr)
{
    uint8_t bytes[NTK_ISA_INSTR_BYTES_MAX];
    struct ntk_err err = { 0 };
    size_t slots;

    if (ntk_isa_encode(instr, (enum ntk_isa_engine)engine, bytes, &slots, &err) < 0) {
        neff_build_fail(build, err.code, "%s", err.text);
        return;
    }
    ntk_buf_add(code, bytes, slots * NTK_ISA_SLOT_BYTES);
}

static struct ntk_isa_instr wait_instr(const struct build_sync *sync)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);

    instr.wait_semaphore = sync->semaphore;
    instr.wait_value = sync->value;
    instr.flags = NTK_ISA_FLAG_WAIT_CONSUME;
    return instr;
}

/* The instruction takes one wait and one signal along; the others stand next to it. */
static void put_with_syncs(struct ntk_neff_build *build, struct ntk_buf *code, int engine,
                           const struct build_instr *item)
{
    struct ntk_isa_instr instr = item->instr;
    size_t waits_beside = item->waits.count;
    size_t first_signal_beside = 0;

    if (instr.wait_semaphore == NTK_ISA_NO_SEMAPHORE && waits_beside > 0) {
        const struct build_sync *own = ntk_vec_at(&item->waits, --waits_beside);

        instr.wait_semaphore = own->semaphore;
        instr.wait_value = own->value;
        instr.flags |= NTK_ISA_FLAG_WAIT_CONSUME;
    }
    if (instr.signal_semaphore == NTK_ISA_NO_SEMAPHORE && item->signals.count > 0) {
        const struct build_sync *own = ntk_vec_at(&item->signals, first_signal_beside++);

        instr.signal_semaphore = own->semaphore;
        instr.signal_value = own->value;
    }
    for (size_t i = 0; i < waits_beside; i++) {
        struct ntk_isa_instr wait = wait_instr(ntk_vec_at(&item->waits, i));

        wait.name_id = instr.name_id;
        put_instr(build, code, engine, &wait);
    }
    put_instr(build, code, engine, &instr);
    for (size_t i = first_signal_beside; i < item->signals.count; i++) {
        const struct build_sync *sync = ntk_vec_at(&item->signals, i);
        struct ntk_isa_instr signal = ntk_isa_instr_make(NTK_ISA_OP_EVENT_SEMAPHORE);

        signal.name_id = instr.name_id;
        signal.signal_semaphore = sync->semaphore;
        signal.signal_value = sync->value;
        put_instr(build, code, engine, &signal);
    }
}

static void put_side(struct ntk_json *json, const struct build_subgraph *subgraph, const char *side,
                     const struct ntk_neff_build_side *value)
{
    const struct build_var *var = ntk_vec_at(&subgraph->vars, value->var_id);
    char key[32];

    ntk_json_key_text(json, side, var->name);
    snprintf(key, sizeof key, "%s_dtype", side);
    ntk_json_key_text(json, key, ntk_dtype_name(value->dtype ? value->dtype : NTK_DTYPE_UINT8));
    snprintf(key, sizeof key, "%s_off", side);
    ntk_json_key_u64(json, key, value->offset);
    snprintf(key, sizeof key, "%s_sizes", side);
    ntk_json_key_array_begin(json, key);
    for (uint32_t i = 0; i < value->dim_count; i++) {
        ntk_json_u64(json, value->sizes[i]);
    }
    ntk_json_array_end(json);
    snprintf(key, sizeof key, "%s_steps", side);
    ntk_json_key_array_begin(json, key);
    for (uint32_t i = 0; i < value->dim_count; i++) {
        ntk_json_i64(json, value->steps[i]);
    }
    ntk_json_array_end(json);
}

static void put_transfer(struct ntk_json *json, const struct build_subgraph *subgraph,
                         const struct build_group *group)
{
    const struct ntk_neff_build_transfer *transfer = &group->transfer;

    ntk_json_object_begin(json);
    if (transfer->source_count > 1) {
        ntk_json_key_array_begin(json, "from_arr");
        for (uint32_t i = 0; i < transfer->source_count; i++) {
            ntk_json_object_begin(json);
            put_side(json, subgraph, "from", &group->from[i]);
            if (group->scales) {
                ntk_json_key_double(json, "scale", (double)group->scales[i]);
            }
            ntk_json_object_end(json);
        }
        ntk_json_array_end(json);
    } else {
        put_side(json, subgraph, "from", &group->from[0]);
    }
    ntk_json_key_u64(json, "num_tiling_dimensions", 1);
    ntk_json_key_text(json, "op", transfer_ops[transfer->op]);
    if (transfer->op == NTK_NEFF_TRANSFER_FMA) {
        if (group->scales && transfer->source_count == 1) {
            ntk_json_key_double(json, "scale", (double)group->scales[0]);
        }
        ntk_json_key_text(json, "scale_dtype", "float32");
    }
    if (transfer->has_constant) {
        ntk_json_key_double(json, "constant", transfer->constant);
        ntk_json_key_text(json, "constant_dtype", ntk_dtype_name(transfer->constant_dtype));
    }
    if (transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
        ntk_json_key_array_begin(json, "transpose_shape");
        for (int i = 0; i < 4; i++) {
            ntk_json_u64(json, transfer->transpose_shape[i]);
        }
        ntk_json_array_end(json);
        ntk_json_key_u64(json, "transpose_element_size", transfer->transpose_element_bytes);
        ntk_json_key_text(json, "transpose_op",
                          group->transpose_order ? group->transpose_order : "");
    }
    put_side(json, subgraph, "to", &transfer->to);
    ntk_json_object_end(json);
}

static void put_groups(struct ntk_json *json, const struct build_subgraph *subgraph, int engine)
{
    ntk_json_key_array_begin(json, "dma");
    ntk_vec_each(struct build_group, group, &subgraph->groups) {
        const struct build_queue *queue = ntk_vec_at(&subgraph->queues, group->queue);

        if ((int)queue->owner != engine) {
            continue;
        }
        ntk_json_object_begin(json);
        ntk_json_key_array_begin(json, "desc");
        put_transfer(json, subgraph, group);
        ntk_json_array_end(json);
        ntk_json_key_u64(json, "id", group->id);
        ntk_json_key_text(json, "queue", queue->name);
        if (group->semaphore != NTK_ISA_NO_SEMAPHORE) {
            ntk_json_key_u64(json, "semaphore", group->semaphore);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}

static void make_engine(struct ntk_neff_build *build, struct build_subgraph *subgraph, int engine)
{
    struct build_engine *source = &subgraph->engines[engine];
    struct ntk_buf code = { 0 };
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char name[64];
    char file[64];

    ntk_vec_each(struct build_instr, item, &source->program) {
        size_t before = code.bytes_count;

        put_with_syncs(build, &code, engine, item);
        item->slot_count = (uint32_t)((code.bytes_count - before) / NTK_ISA_SLOT_BYTES);
    }
    snprintf(name, sizeof name, "sg%02u/%s.bin", subgraph->index, engine_files[engine]);
    neff_build_finish_member(build, name, &code);

    begin_json(&json, &buf);
    snprintf(file, sizeof file, "%s.json", engine_files[engine]);
    ntk_json_key_text(&json, "name", file);
    snprintf(file, sizeof file, "%s.bin", engine_files[engine]);
    ntk_json_key_text(&json, "instr", file);
    ntk_json_key_object_begin(&json, "nsx");
    ntk_json_key_u64(&json, "version", NTK_ISA_VERSION);
    ntk_json_key_array_begin(&json, "names");
    for (size_t i = 0; i < source->names.count; i++) {
        ntk_json_text(&json, *(char **)ntk_vec_at(&source->names, i));
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    if (engine == NTK_ISA_ENGINE_ACT) {
        ntk_json_key_array_begin(&json, "activation_function_sets");
        ntk_json_array_end(&json);
    }
    put_groups(&json, subgraph, engine);
    ntk_json_object_end(&json);
    snprintf(name, sizeof name, "sg%02u/%s.json", subgraph->index, engine_files[engine]);
    neff_build_finish_member(build, name, &buf);
}

/* ---- def.json, tensor_map.json ---- */

static void put_queues(struct ntk_json *json, const struct build_subgraph *subgraph)
{
    ntk_json_key_object_begin(json, "dma_queue");
    ntk_vec_each(struct build_queue, queue, &subgraph->queues) {
        ntk_json_key_object_begin(json, queue->name);
        ntk_json_key_text(json, "fabric_path", "main");
        ntk_json_key_u64(json, "num_queues", queue->queue_count);
        ntk_json_key_text(json, "owner", engine_keys[queue->owner]);
        if (queue->is_pinned) {
            ntk_json_key_bool(json, "pinned", true);
        }
        ntk_json_key_array_begin(json, "semaphore_set");
        for (int c = 0; c < NTK_ISA_ENGINE_COUNT; c++) {
            if (queue->semaphore_to[c] != NTK_ISA_NO_SEMAPHORE) {
                ntk_json_u64(json, queue->semaphore_to[c]);
            }
        }
        ntk_json_array_end(json);
        ntk_json_key_text(json, "type", queue_types[queue->type]);
        ntk_json_object_end(json);
    }
    ntk_json_object_end(json);
}

static void put_vars(struct ntk_json *json, const struct build_subgraph *subgraph)
{
    uint64_t id = 0;

    ntk_json_key_object_begin(json, "var");
    ntk_vec_each(struct build_var, var, &subgraph->vars) {
        ntk_json_key_object_begin(json, var->name);
        ntk_json_key_text(json, "type", var_types[var->type]);
        ntk_json_key_u64(json, "var_id", id++);
        if (var->type != NTK_NEFF_VAR_STATE_BUFFER && var->type != NTK_NEFF_VAR_DGE_TABLE) {
            ntk_json_key_u64(json, "size", var->bytes_count);
        }
        if (var->type == NTK_NEFF_VAR_POINTER) {
            ntk_json_key_u64(json, "referenced_var_id", var->referenced_var_id);
        }
        if (var->type == NTK_NEFF_VAR_DGE_TABLE) {
            ntk_json_key_array_begin(json, "list");
            for (uint32_t i = 0; i < var->list_count; i++) {
                ntk_json_u64(json, var->list[i]);
            }
            ntk_json_array_end(json);
        }
        if (var->type == NTK_NEFF_VAR_VIRTUAL) {
            ntk_json_key_u64(json, "backing_variable_off", var->backing_offset);
        }
        if (var->file_name) {
            ntk_json_key_text(json, "file_name", var->file_name);
        }
        ntk_json_key_array_begin(json, "ops");
        ntk_json_array_end(json);
        ntk_json_object_end(json);
    }
    ntk_json_object_end(json);
}

static void make_def(struct ntk_neff_build *build, const struct build_subgraph *subgraph)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char text[64];

    begin_json(&json, &buf);
    ntk_json_key_text(&json, "version", "0.6");
    ntk_json_key_text(&json, "name", "definition");
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        snprintf(text, sizeof text, "%s.json", engine_files[e]);
        ntk_json_key_text(&json, engine_keys[e], text);
    }
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        char key[32];

        snprintf(key, sizeof key, "%s_instr", engine_keys[e]);
        snprintf(text, sizeof text, "%s.bin", engine_files[e]);
        ntk_json_key_text(&json, key, text);
    }
    put_queues(&json, subgraph);
    put_vars(&json, subgraph);
    ntk_json_key_object_begin(&json, "cc_streams");
    ntk_json_key_u64(&json, "num_streams", 0);
    ntk_json_object_end(&json);
    ntk_json_key_array_begin(&json, "neff_features");
    if (build->options.lnc == 2) {
        ntk_json_text(&json, "neff_feature_vnc");
    }
    ntk_json_array_end(&json);
    ntk_json_key_u64(&json, "runtime_event_count", 0);
    ntk_json_key_u64(&json, "runtime_semaphore_count", NTK_ISA_SEMAPHORES_RESERVED);
    ntk_json_object_end(&json);
    snprintf(text, sizeof text, "sg%02u/def.json", subgraph->index);
    neff_build_finish_member(build, text, &buf);
}

static void put_dims(struct ntk_json *json, const struct build_tensor *tensor)
{
    ntk_json_array_begin(json);
    for (uint32_t i = 0; i < tensor->dim_count; i++) {
        ntk_json_u64(json, tensor->dims[i]);
    }
    ntk_json_array_end(json);
}

static void put_mapped(struct ntk_json *json, const struct ntk_vec *tensors, const char *kind)
{
    ntk_vec_each(struct build_tensor, tensor, tensors) {
        static const char *const formats[] = { "", "C", "NC", "NHC", "NHWC" };

        ntk_json_key_object_begin(json, tensor->name);
        ntk_json_key_text(json, "dtype", ntk_dtype_name(tensor->dtype));
        ntk_json_key_bool(json, "is_const", false);
        ntk_json_key_text(json, "kind", kind);
        ntk_json_key_text(json, "layer_name", tensor->name);
        ntk_json_key_text(json, "sim_format",
                          tensor->dim_count <= 4 ? formats[tensor->dim_count] : "");
        ntk_json_key(json, "sim_shape");
        put_dims(json, tensor);
        ntk_json_object_end(json);
    }
}

static void make_tensor_map(struct ntk_neff_build *build, const struct build_node *node,
                            const struct build_subgraph *subgraph)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char name[64];

    begin_json(&json, &buf);
    put_mapped(&json, &node->inputs, "input");
    put_mapped(&json, &node->outputs, "output");
    ntk_json_object_end(&json);
    snprintf(name, sizeof name, "sg%02u/tensor_map.json", subgraph->index);
    neff_build_finish_member(build, name, &buf);
}

static void make_subgraph(struct ntk_neff_build *build, const struct build_node *node,
                          struct build_subgraph *subgraph, struct ntk_json *json)
{
    char text[64];

    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        make_engine(build, subgraph, e);
    }
    make_def(build, subgraph);
    make_tensor_map(build, node, subgraph);
    ntk_json_object_begin(json);
    snprintf(text, sizeof text, "sg%02u/def.json", subgraph->index);
    ntk_json_key_text(json, "definition", text);
    snprintf(text, sizeof text, "sg%02u", subgraph->index);
    ntk_json_key_text(json, "name", text);
    ntk_json_object_end(json);
}

static void make_kernel(struct ntk_neff_build *build, const struct graph_node *graph,
                        struct build_node *const *nodes, uint32_t kelf_index)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char text[64];

    begin_json(&json, &buf);
    ntk_json_key_array_begin(&json, "graphs");
    for (size_t stage = 0; stage < graph->stage_count; stage++) {
        for (uint32_t s = 0; s < build->options.lnc; s++) {
            make_subgraph(build, nodes[stage], &nodes[stage]->kernel.subgraphs[s], &json);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_key_text(&json, "version", "0.5");
    ntk_json_key_text(&json, "target", build->target);
    ntk_json_object_end(&json);
    snprintf(text, sizeof text, "kelf-%u.json", kelf_index);
    neff_build_finish_member(build, text, &buf);
}

/* ---- neff.json ---- */

struct produced { /* a tensor and where it comes from */
    const struct build_tensor *tensor;
    uint32_t node; /* in neff.json */
    uint32_t output;
    bool taken;    /* some node takes it */
    bool is_input; /* of the network */
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

/* Network inputs first, then each node's outputs; lists which node feeds which. */
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

/* Core nodes of an LNC 2 file list their outputs once per subgraph. */
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
        put_dims(json, tensor);
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
            put_dims(json, p->tensor);
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
    begin_json(&json, &buf);
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

    begin_json(&json, &buf);
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

/* info.json, then everything by name, neff.json last: the order compilers use. */
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
    size_t first = 0; /* in build->nodes */

    make_info(build, tpb_count);
    ntk_vec_each(struct graph_node, node, &build->graph) {
        if (node->node->is_kernel) {
            make_kernel(build, node, ntk_vec_at(&build->nodes, first), kelf++);
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
