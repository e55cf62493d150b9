/* SPDX-License-Identifier: MIT */
/* neff_build_program - writes the members of one program: JSON and engine binaries. */
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
    if (!bytes) { /* out of memory */
        bytes = calloc(1, 1);
    }
    if (!bytes) {
        neff_build_fail(build, -ENOMEM, "out of memory");
        return;
    }
    neff_build_member_take(build, name, bytes, count);
}

void neff_build_begin_json(struct ntk_json *json, struct ntk_buf *buf)
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

/* Encodes an instruction with one wait and one signal; further waits precede it, further signals
 * follow it. */
static void put_with_syncs(struct ntk_neff_build *build, struct ntk_buf *code, int engine,
                           const struct build_instr *item)
{
    struct ntk_isa_instr instr = item->instr;
    size_t extra_waits = item->waits.count;
    size_t first_extra_signal = 0;

    if (instr.wait_semaphore == NTK_ISA_NO_SEMAPHORE && extra_waits > 0) {
        const struct build_sync *own = ntk_vec_at(&item->waits, --extra_waits);

        instr.wait_semaphore = own->semaphore;
        instr.wait_value = own->value;
        instr.flags |= NTK_ISA_FLAG_WAIT_CONSUME;
    }
    if (instr.signal_semaphore == NTK_ISA_NO_SEMAPHORE && item->signals.count > 0) {
        const struct build_sync *own = ntk_vec_at(&item->signals, first_extra_signal++);

        instr.signal_semaphore = own->semaphore;
        instr.signal_value = own->value;
    }
    for (size_t i = 0; i < extra_waits; i++) {
        struct ntk_isa_instr wait = wait_instr(ntk_vec_at(&item->waits, i));

        wait.name_id = instr.name_id;
        put_instr(build, code, engine, &wait);
    }
    put_instr(build, code, engine, &instr);
    for (size_t i = first_extra_signal; i < item->signals.count; i++) {
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

    neff_build_begin_json(&json, &buf);
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

    neff_build_begin_json(&json, &buf);
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

void neff_build_put_dims(struct ntk_json *json, const struct build_tensor *tensor)
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
        neff_build_put_dims(json, tensor);
        ntk_json_object_end(json);
    }
}

static void make_tensor_map(struct ntk_neff_build *build, const struct build_node *node,
                            const struct build_subgraph *subgraph)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char name[64];

    neff_build_begin_json(&json, &buf);
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

void neff_build_program(struct ntk_neff_build *build, const struct graph_node *graph,
                        struct build_node *const *nodes, uint32_t kelf_index)
{
    struct ntk_buf buf = { 0 };
    struct ntk_json json;
    char text[64];

    neff_build_begin_json(&json, &buf);
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
