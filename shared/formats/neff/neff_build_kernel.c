/* SPDX-License-Identifier: MIT */
/* neff_build_kernel - declares the parts of a program: variables, constants, queues, semaphores,
 * names. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels and variables ---- */

static uint32_t add_var(struct ntk_neff_kernel *kernel, uint32_t index, const char *name,
                        enum ntk_neff_var_type type, uint64_t bytes_count)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[index];
    struct ntk_neff_build *build = kernel->build;
    struct build_var *var;

    if (neff_build_failed(build)) {
        return 0;
    }
    ntk_vec_each(struct build_var, other, &subgraph->vars) {
        if (strcmp(other->name, name) == 0) {
            neff_build_fail(build, -EEXIST, "duplicate variable '%s'", name);
            return 0;
        }
    }
    var = neff_build_add(build, &subgraph->vars);
    if (!var) {
        return 0;
    }
    var->type = type;
    var->bytes_count = bytes_count;
    var->name = neff_build_copy_text(build, name);
    return (uint32_t)subgraph->vars.count - 1;
}

static struct build_var *last_var(struct ntk_neff_kernel *kernel)
{
    struct ntk_vec *vars = &kernel->subgraphs[kernel->current].vars;

    return ntk_vec_at(vars, vars->count - 1);
}

/* A kernel that stands for a node that could not be created: every call on it does nothing. */
static struct ntk_neff_kernel *dead_kernel(struct ntk_neff_build *build)
{
    build->dead.build = build;
    return &build->dead;
}

struct ntk_neff_kernel *ntk_neff_build_kernel(struct ntk_neff_build *build, const char *node_name)
{
    struct build_node *node;

    if (neff_build_failed(build)) {
        return dead_kernel(build);
    }
    node = neff_build_node_add(build, node_name);
    if (!node) {
        return dead_kernel(build);
    }
    node->is_kernel = true;
    node->kernel.build = build;
    node->kernel.node = node;
    ntk_vec_init(&node->kernel.places, sizeof(struct build_place));
    for (uint32_t s = 0; s < build->options.lnc; s++) {
        struct build_subgraph *subgraph = &node->kernel.subgraphs[s];

        ntk_vec_init(&subgraph->vars, sizeof(struct build_var));
        ntk_vec_init(&subgraph->queues, sizeof(struct build_queue));
        ntk_vec_init(&subgraph->groups, sizeof(struct build_group));
        ntk_vec_init(&subgraph->tokens, sizeof(struct build_token));
        subgraph->next_semaphore = NTK_ISA_SEMAPHORES_RESERVED;
        subgraph->index = build->subgraph_count++;
        for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
            struct ntk_isa_instr notify = ntk_isa_instr_make(NTK_ISA_OP_NOTIFY);

            ntk_vec_init(&subgraph->engines[e].program, sizeof(struct build_instr));
            ntk_vec_init(&subgraph->engines[e].names, sizeof(char *));
            for (int c = 0; c < NTK_ISA_ENGINE_COUNT; c++) {
                subgraph->engines[e].semaphore_to[c] = NTK_ISA_NO_SEMAPHORE;
            }
            node->kernel.current = s;
            ntk_neff_kernel_emit(&node->kernel, (enum ntk_isa_engine)e, &notify, NTK_AFTER_NONE);
        }
        add_var(&node->kernel, s, "SB", NTK_NEFF_VAR_STATE_BUFFER, 0);
    }
    node->kernel.current = 0;
    return &node->kernel;
}

struct ntk_neff_kernel *ntk_neff_build_stage(struct ntk_neff_build *build,
                                             const struct ntk_neff_kernel *before)
{
    const struct ntk_vec *nodes = &build->nodes;
    struct ntk_neff_kernel *kernel;

    if (neff_build_failed(build)) {
        return dead_kernel(build);
    }
    if (build->options.lnc != 1 ||
        before->node != *(struct build_node **)ntk_vec_at(nodes, nodes->count - 1)) {
        neff_build_fail(build, -EINVAL,
                        "node '%s' cannot have another subgraph: subgraphs run one after another, "
                        "and a logical core is one physical core",
                        before->node->name);
        return dead_kernel(build);
    }
    kernel = ntk_neff_build_kernel(build, before->node->name);
    if (!neff_build_failed(build)) {
        kernel->node->is_stage = true;
    }
    return kernel;
}

void ntk_neff_kernel_subgraph(struct ntk_neff_kernel *kernel, uint32_t index)
{
    if (index >= kernel->build->options.lnc) {
        neff_build_fail(kernel->build, -EINVAL, "unknown subgraph %u", index);
        return;
    }
    kernel->current = index;
}

static uint32_t add_io(struct ntk_neff_kernel *kernel, const char *name, enum ntk_dtype dtype,
                       uint32_t dim_count, const uint64_t *dims, bool is_output)
{
    struct ntk_neff_build *build = kernel->build;
    struct ntk_vec *tensors;
    const struct build_tensor *tensor;
    uint32_t id = 0;

    if (neff_build_failed(build)) {
        return 0;
    }
    tensors = is_output ? &kernel->node->outputs : &kernel->node->inputs;
    neff_build_add_tensor(build, tensors, name, dtype, dim_count, dims);
    if (neff_build_failed(build)) {
        return 0;
    }
    tensor = ntk_vec_at(tensors, tensors->count - 1);
    for (uint32_t s = 0; s < build->options.lnc; s++) {
        uint32_t added =
            add_var(kernel, s, name, is_output ? NTK_NEFF_VAR_OUTPUT : NTK_NEFF_VAR_INPUT,
                    tensor->bytes_count);

        if (s == kernel->current) {
            id = added;
        }
    }
    return id;
}

uint32_t ntk_neff_kernel_input(struct ntk_neff_kernel *kernel, const char *name,
                               enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims)
{
    return add_io(kernel, name, dtype, dim_count, dims, false);
}

uint32_t ntk_neff_kernel_output(struct ntk_neff_kernel *kernel, const char *name,
                                enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims)
{
    return add_io(kernel, name, dtype, dim_count, dims, true);
}

static uint32_t add_constant(struct ntk_neff_kernel *kernel, const char *name, const char *suffix,
                             void *bytes, size_t bytes_count, uint64_t var_bytes)
{
    struct ntk_neff_build *build = kernel->build;
    char path[NTK_NEFF_MEMBER_NAME_MAX];
    uint32_t id = add_var(kernel, kernel->current, name, NTK_NEFF_VAR_FILE, var_bytes);
    const struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];

    if (neff_build_failed(build)) {
        free(bytes);
        return 0;
    }
    snprintf(path, sizeof path, "sg%02u/value_%s%s", subgraph->index, name, suffix);
    last_var(kernel)->file_name = neff_build_copy_text(build, strchr(path, '/') + 1);
    neff_build_member_take(build, path, bytes, bytes_count);
    return id;
}

static const char *npy_descr(enum ntk_dtype dtype)
{
    switch (dtype) {
    case NTK_DTYPE_FLOAT32:
    case NTK_DTYPE_FLOAT32R:
        return "<f4";
    case NTK_DTYPE_FLOAT16:
        return "<f2";
    case NTK_DTYPE_BFLOAT16:
        return "<V2";
    case NTK_DTYPE_INT8:
        return "|i1";
    case NTK_DTYPE_INT16:
        return "<i2";
    case NTK_DTYPE_INT32:
        return "<i4";
    case NTK_DTYPE_INT64:
        return "<i8";
    case NTK_DTYPE_UINT8:
        return "|u1";
    case NTK_DTYPE_UINT16:
        return "<u2";
    case NTK_DTYPE_UINT32:
        return "<u4";
    case NTK_DTYPE_UINT64:
        return "<u8";
    default:
        return "|V1"; /* fp8 types */
    }
}

void *neff_build_npy(struct ntk_neff_build *build, enum ntk_dtype dtype, uint32_t dim_count,
                     const uint64_t *dims, const void *data, size_t *out_file_bytes,
                     uint64_t *out_array_bytes)
{
    struct ntk_buf file = { 0 };
    struct ntk_buf text = { 0 };
    uint64_t bytes = ntk_dtype_bytes((unsigned)dtype);

    ntk_buf_add_format(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                       npy_descr(dtype));
    for (uint32_t i = 0; i < dim_count; i++) {
        bytes *= dims[i];
        ntk_buf_add_format(&text, "%s%llu", i > 0 ? ", " : "", (unsigned long long)dims[i]);
    }
    ntk_buf_add_text(&text, dim_count == 1 ? ",), }" : "), }");
    while ((10 + text.bytes_count + 1) % 64 != 0) {
        ntk_buf_add_char(&text, ' ');
    }
    ntk_buf_add_char(&text, '\n');
    ntk_buf_add(&file, "\x93NUMPY\x01", 7);
    ntk_buf_put_u8(&file, 0);
    ntk_buf_put_u16(&file, (uint16_t)text.bytes_count);
    ntk_buf_add(&file, ntk_buf_text_get(&text), text.bytes_count);
    ntk_buf_add(&file, data, (size_t)bytes);
    ntk_buf_fini(&text);
    if (!ntk_buf_ok(&file)) {
        ntk_buf_fini(&file);
        neff_build_no_memory(build);
        return NULL;
    }
    *out_array_bytes = bytes;
    return ntk_buf_take(&file, out_file_bytes);
}

uint32_t ntk_neff_kernel_constant(struct ntk_neff_kernel *kernel, const char *name,
                                  enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims,
                                  const void *data)
{
    uint64_t bytes = 0;
    size_t file_bytes = 0;
    void *file;

    if (neff_build_failed(kernel->build)) {
        return 0;
    }
    file = neff_build_npy(kernel->build, dtype, dim_count, dims, data, &file_bytes, &bytes);
    return file ? add_constant(kernel, name, ".npy", file, file_bytes, bytes) : 0;
}

uint32_t ntk_neff_kernel_raw_constant(struct ntk_neff_kernel *kernel, const char *name,
                                      const void *data, size_t bytes_count)
{
    void *copy = malloc(bytes_count + 1);

    if (!copy) {
        neff_build_no_memory(kernel->build);
        return 0;
    }
    memcpy(copy, data, bytes_count);
    return add_constant(kernel, name, ".bin", copy, bytes_count, bytes_count);
}

uint32_t ntk_neff_kernel_tmp(struct ntk_neff_kernel *kernel, const char *name, uint64_t bytes_count)
{
    return add_var(kernel, kernel->current, name, NTK_NEFF_VAR_TMP_BUF, bytes_count);
}

uint32_t ntk_neff_kernel_virtual(struct ntk_neff_kernel *kernel, const char *name,
                                 uint64_t backing_offset, uint64_t bytes_count)
{
    uint32_t id = add_var(kernel, kernel->current, name, NTK_NEFF_VAR_VIRTUAL, bytes_count);

    if (!neff_build_failed(kernel->build)) {
        last_var(kernel)->backing_offset = backing_offset;
    }
    return id;
}

uint32_t ntk_neff_kernel_pointer(struct ntk_neff_kernel *kernel, const char *name,
                                 uint32_t referenced_var_id)
{
    size_t var_count = kernel->subgraphs[kernel->current].vars.count;
    uint32_t id = add_var(kernel, kernel->current, name, NTK_NEFF_VAR_POINTER, 8);

    if (!neff_build_failed(kernel->build)) {
        if (referenced_var_id >= var_count) {
            neff_build_fail(kernel->build, -EINVAL, "pointer '%s' refers to an unknown variable",
                            name);
        }
        last_var(kernel)->referenced_var_id = referenced_var_id;
    }
    return id;
}

uint32_t ntk_neff_kernel_table(struct ntk_neff_kernel *kernel, const char *name,
                               const uint32_t *var_ids, uint32_t count)
{
    size_t var_count = kernel->subgraphs[kernel->current].vars.count;
    uint32_t id = add_var(kernel, kernel->current, name, NTK_NEFF_VAR_DGE_TABLE, 0);
    struct build_var *table;

    if (neff_build_failed(kernel->build)) {
        return id;
    }
    table = last_var(kernel);
    table->list = calloc((size_t)count + 1, sizeof *table->list);
    if (!table->list) {
        neff_build_no_memory(kernel->build);
        return id;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (var_ids[i] >= var_count) {
            neff_build_fail(kernel->build, -EINVAL, "table %s lists an unknown variable", name);
        }
        table->list[i] = var_ids[i];
    }
    table->list_count = count;
    return id;
}

uint32_t ntk_neff_kernel_var(struct ntk_neff_kernel *kernel, const char *name)
{
    const struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];

    if (neff_build_failed(kernel->build)) {
        return 0;
    }
    for (size_t i = 0; i < subgraph->vars.count; i++) {
        if (strcmp(((struct build_var *)ntk_vec_at(&subgraph->vars, i))->name, name) == 0) {
            return (uint32_t)i;
        }
    }
    neff_build_fail(kernel->build, -ENOENT, "unknown variable '%s'", name);
    return 0;
}

/* ---- queues, semaphores, names ---- */

uint32_t ntk_neff_kernel_queue(struct ntk_neff_kernel *kernel, const char *name,
                               enum ntk_isa_engine owner, enum ntk_neff_queue_type type,
                               uint32_t queue_count)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_queue *queue;

    if (neff_build_failed(kernel->build)) {
        return 0;
    }
    if (queue_count < 1 || queue_count > NTK_NEFF_QUEUES_MAX ||
        (unsigned)owner >= NTK_ISA_ENGINE_COUNT) {
        neff_build_fail(kernel->build, -EINVAL,
                        "queue set '%s': invalid engine or number of queues (%u)", name,
                        queue_count);
        return 0;
    }
    queue = neff_build_add(kernel->build, &subgraph->queues);
    if (!queue) {
        return 0;
    }
    queue->owner = owner;
    queue->type = type;
    queue->queue_count = queue_count;
    for (int c = 0; c < NTK_ISA_ENGINE_COUNT; c++) {
        queue->semaphore_to[c] = NTK_ISA_NO_SEMAPHORE;
    }
    queue->name = neff_build_copy_text(kernel->build, name);
    return (uint32_t)subgraph->queues.count - 1;
}

void ntk_neff_kernel_queue_pin(struct ntk_neff_kernel *kernel, uint32_t queue)
{
    struct ntk_vec *queues = &kernel->subgraphs[kernel->current].queues;

    if (!neff_build_failed(kernel->build) && queue < queues->count) {
        ((struct build_queue *)ntk_vec_at(queues, queue))->is_pinned = true;
    }
}

uint16_t ntk_neff_kernel_semaphore(struct ntk_neff_kernel *kernel)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];

    if (neff_build_failed(kernel->build)) {
        return 0;
    }
    if (subgraph->next_semaphore >= NTK_ISA_SEMAPHORES) {
        neff_build_fail(kernel->build, -ENOSPC, "all %d semaphores are in use", NTK_ISA_SEMAPHORES);
        return 0;
    }
    return subgraph->next_semaphore++;
}

uint32_t ntk_neff_kernel_name(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                              const char *name)
{
    struct ntk_vec *names = &kernel->subgraphs[kernel->current].engines[engine].names;
    char *copy;

    if (neff_build_failed(kernel->build)) {
        return 0;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(*(char **)ntk_vec_at(names, i), name) == 0) {
            return (uint32_t)i + 1;
        }
    }
    copy = neff_build_copy_text(kernel->build, name);
    if (!copy || ntk_vec_push(names, &copy) < 0) {
        free(copy);
        neff_build_no_memory(kernel->build);
        return 0;
    }
    return (uint32_t)names->count;
}

void ntk_neff_kernel_layer(struct ntk_neff_kernel *kernel, const char *name)
{
    free(kernel->layer);
    kernel->layer = name && !neff_build_failed(kernel->build)
                        ? neff_build_copy_text(kernel->build, name)
                        : NULL;
}
