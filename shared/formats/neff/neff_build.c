/* SPDX-License-Identifier: MIT */
/* Collects programs; neff_build_json.c turns what is collected into members. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"

/* ---- errors that stick, copies ---- */

int neff_build_fail(struct ntk_neff_build *build, int code, const char *format, ...)
{
    va_list args;
    char text[NTK_ERR_TEXT_BYTES];

    if (build->err.code == 0) {
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        ntk_err_set(&build->err, code, NTK_ERR_NO_OFFSET, "%s", text);
    }
    return code;
}

void ntk_neff_build_fail(struct ntk_neff_build *build, const char *sentence)
{
    neff_build_fail(build, -EINVAL, "%s", sentence);
}

static bool failed(const struct ntk_neff_build *build)
{
    return build->err.code != 0;
}

static void no_memory(struct ntk_neff_build *build)
{
    neff_build_fail(build, -ENOMEM, "out of memory");
}

static void *add(struct ntk_neff_build *build, struct ntk_vec *vec)
{
    void *item = ntk_vec_add(vec);

    if (!item) {
        no_memory(build);
    }
    return item;
}

static char *copy_text(struct ntk_neff_build *build, const char *text)
{
    char *copy = strdup(text);

    if (!copy) {
        no_memory(build);
    }
    return copy;
}

/* ---- create and destroy ---- */

struct ntk_neff_build *ntk_neff_build_create(const struct ntk_neff_build_options *options)
{
    struct ntk_neff_build *build = calloc(1, sizeof *build);

    if (!build) {
        return NULL;
    }
    if (options) {
        build->options = *options;
    }
    build->name = strdup(build->options.name ? build->options.name : "model");
    build->target = strdup(build->options.target ? build->options.target : "*");
    build->tool_version =
        strdup(build->options.tool_version ? build->options.tool_version : NTK_VERSION);
    ntk_vec_init(&build->nodes, sizeof(struct build_node *));
    ntk_vec_init(&build->members, sizeof(struct build_member));
    ntk_vec_init(&build->heads, sizeof(char *));
    ntk_vec_init(&build->packed, sizeof(struct ntk_neff_pack_member));
    if (!build->name || !build->target || !build->tool_version) {
        ntk_neff_build_destroy(build);
        return NULL;
    }
    if (build->options.lnc == 0) {
        build->options.lnc = 1;
    }
    if (build->options.lnc > SUBGRAPHS_MAX) {
        neff_build_fail(build, -EINVAL, "LNC %u is not possible", build->options.lnc);
        build->options.lnc = 1;
    }
    return build;
}

static void free_texts(struct ntk_vec *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(*(char **)ntk_vec_at(texts, i));
    }
    ntk_vec_fini(texts);
}

static void free_tensors(struct ntk_vec *tensors)
{
    ntk_vec_each(struct build_tensor, tensor, tensors) {
        free(tensor->name);
    }
    ntk_vec_fini(tensors);
}

static void free_subgraph(struct build_subgraph *subgraph)
{
    ntk_vec_each(struct build_var, var, &subgraph->vars) {
        free(var->name);
        free(var->file_name);
        free(var->list);
    }
    ntk_vec_fini(&subgraph->vars);
    ntk_vec_each(struct build_queue, queue, &subgraph->queues) {
        free(queue->name);
    }
    ntk_vec_fini(&subgraph->queues);
    ntk_vec_each(struct build_group, group, &subgraph->groups) {
        free(group->from);
        free(group->scales);
        free(group->transpose_order);
    }
    ntk_vec_fini(&subgraph->groups);
    ntk_vec_fini(&subgraph->tokens);
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        ntk_vec_each(struct build_instr, instr, &subgraph->engines[e].program) {
            ntk_vec_fini(&instr->waits);
            ntk_vec_fini(&instr->signals);
        }
        ntk_vec_fini(&subgraph->engines[e].program);
        free_texts(&subgraph->engines[e].names);
    }
}

void ntk_neff_build_destroy(struct ntk_neff_build *build)
{
    if (!build) {
        return;
    }
    for (size_t i = 0; i < build->nodes.count; i++) {
        struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        for (uint32_t s = 0; s < SUBGRAPHS_MAX; s++) {
            free_subgraph(&node->kernel.subgraphs[s]);
        }
        free_tensors(&node->inputs);
        free_tensors(&node->outputs);
        free(node->kernel.layer);
        free(node->name);
        free(node->function);
        free(node->library);
        free(node);
    }
    ntk_vec_fini(&build->nodes);
    ntk_vec_each(struct build_member, member, &build->members) {
        free(member->name);
        free(member->bytes);
    }
    ntk_vec_fini(&build->members);
    free_texts(&build->heads);
    ntk_vec_fini(&build->packed);
    free(build->name);
    free(build->target);
    free(build->tool_version);
    free(build);
}

void neff_build_member_take(struct ntk_neff_build *build, const char *name, void *bytes,
                            size_t bytes_count)
{
    struct build_member *member;

    if (failed(build)) {
        free(bytes);
        return;
    }
    member = add(build, &build->members);
    if (!member) {
        free(bytes);
        return;
    }
    member->bytes = bytes;
    member->bytes_count = bytes_count;
    member->name = copy_text(build, name);
}

void ntk_neff_build_member(struct ntk_neff_build *build, const char *name, const void *bytes,
                           size_t bytes_count)
{
    void *copy = malloc(bytes_count + 1);

    if (!copy) {
        no_memory(build);
        return;
    }
    memcpy(copy, bytes, bytes_count);
    neff_build_member_take(build, name, copy, bytes_count);
}

/* ---- nodes ---- */

static struct build_node *add_node(struct ntk_neff_build *build, const char *name)
{
    struct build_node *node = calloc(1, sizeof *node);

    if (!node || ntk_vec_push(&build->nodes, &node) < 0) {
        free(node);
        no_memory(build);
        return NULL;
    }
    node->name = copy_text(build, name);
    ntk_vec_init(&node->inputs, sizeof(struct build_tensor));
    ntk_vec_init(&node->outputs, sizeof(struct build_tensor));
    return node;
}

static void add_tensor(struct ntk_neff_build *build, struct ntk_vec *tensors, const char *name,
                       enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims)
{
    struct build_tensor *tensor;
    uint64_t bytes = ntk_dtype_bytes((unsigned)dtype);

    if (failed(build)) {
        return;
    }
    if (bytes == 0 || dim_count > NTK_NEFF_DIMS_MAX) {
        neff_build_fail(build, -EINVAL, "tensor %s: unknown dtype or too many dimensions", name);
        return;
    }
    tensor = add(build, tensors);
    if (!tensor) {
        return;
    }
    tensor->dtype = dtype;
    tensor->dim_count = dim_count;
    for (uint32_t i = 0; i < dim_count; i++) {
        tensor->dims[i] = dims[i];
        bytes *= dims[i];
    }
    tensor->bytes_count = bytes;
    tensor->name = copy_text(build, name);
}

void ntk_neff_build_cpu_node(struct ntk_neff_build *build, const char *node_name,
                             const char *function, const char *library,
                             const struct ntk_neff_build_tensor *inputs, size_t input_count,
                             const struct ntk_neff_build_tensor *outputs, size_t output_count)
{
    struct build_node *node;

    if (failed(build)) {
        return;
    }
    node = add_node(build, node_name);
    if (!node) {
        return;
    }
    node->function = copy_text(build, function);
    node->library = library ? copy_text(build, library) : NULL;
    for (size_t i = 0; i < input_count; i++) {
        add_tensor(build, &node->inputs, inputs[i].name, inputs[i].dtype, inputs[i].dim_count,
                   inputs[i].dims);
    }
    for (size_t i = 0; i < output_count; i++) {
        add_tensor(build, &node->outputs, outputs[i].name, outputs[i].dtype, outputs[i].dim_count,
                   outputs[i].dims);
    }
}

void ntk_neff_build_head(struct ntk_neff_build *build, const char *tensor_name)
{
    char *copy;

    if (failed(build)) {
        return;
    }
    copy = copy_text(build, tensor_name);
    if (copy && ntk_vec_push(&build->heads, &copy) < 0) {
        free(copy);
        no_memory(build);
    }
}

/* ---- kernels and variables ---- */

static uint32_t add_var(struct ntk_neff_kernel *kernel, uint32_t index, const char *name,
                        enum ntk_neff_var_type type, uint64_t bytes_count)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[index];
    struct ntk_neff_build *build = kernel->build;
    struct build_var *var;

    if (failed(build)) {
        return 0;
    }
    ntk_vec_each(struct build_var, other, &subgraph->vars) {
        if (strcmp(other->name, name) == 0) {
            neff_build_fail(build, -EEXIST, "two variables are called %s", name);
            return 0;
        }
    }
    var = add(build, &subgraph->vars);
    if (!var) {
        return 0;
    }
    var->type = type;
    var->bytes_count = bytes_count;
    var->name = copy_text(build, name);
    return (uint32_t)subgraph->vars.count - 1;
}

static struct build_var *last_var(struct ntk_neff_kernel *kernel)
{
    struct ntk_vec *vars = &kernel->subgraphs[kernel->current].vars;

    return ntk_vec_at(vars, vars->count - 1);
}

/* What callers get for a node that could not be made: every call on it does nothing. */
static struct ntk_neff_kernel *dead_kernel(struct ntk_neff_build *build)
{
    build->dead.build = build;
    return &build->dead;
}

struct ntk_neff_kernel *ntk_neff_build_kernel(struct ntk_neff_build *build, const char *node_name)
{
    struct build_node *node;

    if (failed(build)) {
        return dead_kernel(build);
    }
    node = add_node(build, node_name);
    if (!node) {
        return dead_kernel(build);
    }
    node->is_kernel = true;
    node->kernel.build = build;
    node->kernel.node = node;
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

void ntk_neff_kernel_subgraph(struct ntk_neff_kernel *kernel, uint32_t index)
{
    if (index >= kernel->build->options.lnc) {
        neff_build_fail(kernel->build, -EINVAL, "there is no subgraph %u", index);
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

    if (failed(build)) {
        return 0;
    }
    tensors = is_output ? &kernel->node->outputs : &kernel->node->inputs;
    add_tensor(build, tensors, name, dtype, dim_count, dims);
    if (failed(build)) {
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

    if (failed(build)) {
        free(bytes);
        return 0;
    }
    snprintf(path, sizeof path, "sg%02u/value_%s%s", subgraph->index, name, suffix);
    last_var(kernel)->file_name = copy_text(build, strchr(path, '/') + 1);
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
        return "|V1"; /* the fp8 kinds */
    }
}

uint32_t ntk_neff_kernel_constant(struct ntk_neff_kernel *kernel, const char *name,
                                  enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims,
                                  const void *data)
{
    struct ntk_buf file = { 0 };
    struct ntk_buf text = { 0 };
    uint64_t bytes = ntk_dtype_bytes((unsigned)dtype);
    size_t file_bytes;
    char *taken;

    if (failed(kernel->build)) {
        return 0;
    }
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
        no_memory(kernel->build);
        return 0;
    }
    taken = ntk_buf_take(&file, &file_bytes);
    return add_constant(kernel, name, ".npy", taken, file_bytes, bytes);
}

uint32_t ntk_neff_kernel_raw_constant(struct ntk_neff_kernel *kernel, const char *name,
                                      const void *data, size_t bytes_count)
{
    void *copy = malloc(bytes_count + 1);

    if (!copy) {
        no_memory(kernel->build);
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

    if (!failed(kernel->build)) {
        last_var(kernel)->backing_offset = backing_offset;
    }
    return id;
}

uint32_t ntk_neff_kernel_pointer(struct ntk_neff_kernel *kernel, const char *name,
                                 uint32_t referenced_var_id)
{
    size_t var_count = kernel->subgraphs[kernel->current].vars.count;
    uint32_t id = add_var(kernel, kernel->current, name, NTK_NEFF_VAR_POINTER, 8);

    if (!failed(kernel->build)) {
        if (referenced_var_id >= var_count) {
            neff_build_fail(kernel->build, -EINVAL, "pointer %s refers to no variable", name);
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

    if (failed(kernel->build)) {
        return id;
    }
    table = last_var(kernel);
    table->list = calloc((size_t)count + 1, sizeof *table->list);
    if (!table->list) {
        no_memory(kernel->build);
        return id;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (var_ids[i] >= var_count) {
            neff_build_fail(kernel->build, -EINVAL, "table %s lists no variable", name);
        }
        table->list[i] = var_ids[i];
    }
    table->list_count = count;
    return id;
}

uint32_t ntk_neff_kernel_var(struct ntk_neff_kernel *kernel, const char *name)
{
    const struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];

    if (failed(kernel->build)) {
        return 0;
    }
    for (size_t i = 0; i < subgraph->vars.count; i++) {
        if (strcmp(((struct build_var *)ntk_vec_at(&subgraph->vars, i))->name, name) == 0) {
            return (uint32_t)i;
        }
    }
    neff_build_fail(kernel->build, -ENOENT, "there is no variable %s", name);
    return 0;
}

/* ---- queues, semaphores, names ---- */

uint32_t ntk_neff_kernel_queue(struct ntk_neff_kernel *kernel, const char *name,
                               enum ntk_isa_engine owner, enum ntk_neff_queue_type type,
                               uint32_t queue_count)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_queue *queue;

    if (failed(kernel->build)) {
        return 0;
    }
    if (queue_count < 1 || queue_count > NTK_NEFF_QUEUES_MAX ||
        (unsigned)owner >= NTK_ISA_ENGINE_COUNT) {
        neff_build_fail(kernel->build, -EINVAL, "queue set %s: %u queues", name, queue_count);
        return 0;
    }
    queue = add(kernel->build, &subgraph->queues);
    if (!queue) {
        return 0;
    }
    queue->owner = owner;
    queue->type = type;
    queue->queue_count = queue_count;
    for (int c = 0; c < NTK_ISA_ENGINE_COUNT; c++) {
        queue->semaphore_to[c] = NTK_ISA_NO_SEMAPHORE;
    }
    queue->name = copy_text(kernel->build, name);
    return (uint32_t)subgraph->queues.count - 1;
}

uint16_t ntk_neff_kernel_semaphore(struct ntk_neff_kernel *kernel)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];

    if (failed(kernel->build)) {
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

    if (failed(kernel->build)) {
        return 0;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(*(char **)ntk_vec_at(names, i), name) == 0) {
            return (uint32_t)i + 1;
        }
    }
    copy = copy_text(kernel->build, name);
    if (!copy || ntk_vec_push(names, &copy) < 0) {
        free(copy);
        no_memory(kernel->build);
        return 0;
    }
    return (uint32_t)names->count;
}

void ntk_neff_kernel_layer(struct ntk_neff_kernel *kernel, const char *name)
{
    free(kernel->layer);
    kernel->layer = name && !failed(kernel->build) ? copy_text(kernel->build, name) : NULL;
}

/* ---- tokens: who waits for what ---- */

static struct build_instr *instr_at(struct build_subgraph *subgraph, int engine, size_t index)
{
    return ntk_vec_at(&subgraph->engines[engine].program, index);
}

static ntk_neff_token add_token(struct ntk_neff_build *build, struct build_subgraph *subgraph,
                                const struct build_token *token)
{
    if (ntk_vec_push(&subgraph->tokens, token) < 0) {
        no_memory(build);
        return 0;
    }
    return (ntk_neff_token)subgraph->tokens.count;
}

static void add_sync(struct ntk_neff_build *build, struct ntk_vec *list, uint16_t semaphore,
                     uint16_t value)
{
    struct build_sync *sync = add(build, list);

    if (sync) {
        sync->semaphore = semaphore;
        sync->value = value;
    }
}

/* The instruction that comes next on `engine` waits for the end of instruction `index` of `other`. */
static void wait_for_instr(struct ntk_neff_kernel *kernel, int engine, struct ntk_vec *waits,
                           int other, size_t index)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_engine *source = &subgraph->engines[other];

    if (other == engine || source->waited_by[engine] > index) {
        return;
    }
    if (source->semaphore_to[engine] == NTK_ISA_NO_SEMAPHORE) {
        source->semaphore_to[engine] = ntk_neff_kernel_semaphore(kernel);
    }
    source->waited_by[engine] = index + 1;
    add_sync(kernel->build, &instr_at(subgraph, other, index)->signals,
             source->semaphore_to[engine], 1);
    add_sync(kernel->build, waits, source->semaphore_to[engine], 1);
}

/* Makes a transfer signal `engine`; a group is bound once for all its starts. */
static void bind_transfer(struct ntk_neff_kernel *kernel, struct build_token *token, int engine)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_queue *queue = ntk_vec_at(&subgraph->queues, token->queue);

    if (queue->semaphore_to[engine] == NTK_ISA_NO_SEMAPHORE) {
        queue->semaphore_to[engine] = ntk_neff_kernel_semaphore(kernel);
    }
    if (token->group == NO_GROUP) {
        struct build_instr *instr = instr_at(subgraph, token->engine, token->index);

        instr->instr.done_semaphore = queue->semaphore_to[engine];
        instr->instr.done_value = 1;
        token->amount = 1;
    } else {
        struct build_group *group = ntk_vec_at(&subgraph->groups, token->group);

        group->semaphore = queue->semaphore_to[engine];
        group->bound_to = engine;
        token->amount = (uint16_t)queue->queue_count;
    }
    token->bound_to = engine;
}

static void wait_for_transfer(struct ntk_neff_kernel *kernel, int engine, struct ntk_vec *waits,
                              size_t token_index, size_t next_index)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct build_token *token = ntk_vec_at(&subgraph->tokens, token_index);
    struct build_queue *queue = ntk_vec_at(&subgraph->queues, token->queue);
    uint32_t amount = 0;

    if (token->waited) {
        wait_for_instr(kernel, engine, waits, token->bound_to, token->waited_at);
        return;
    }
    if (token->bound_to == UNBOUND && queue->waited_by[engine] > token_index) {
        return; /* a later transfer of the queue set has been waited for, and they end in order */
    }
    if (token->bound_to == UNBOUND) {
        bind_transfer(kernel, token, engine);
    }
    if (token->bound_to != engine) {
        neff_build_fail(kernel->build, -EINVAL,
                        "a transfer that is started again must be waited for by the engine that "
                        "waited for it first");
        return;
    }
    /* Every earlier transfer that signals the same semaphore is consumed along with this one. */
    for (size_t i = subgraph->first_open; i <= token_index; i++) {
        struct build_token *other = ntk_vec_at(&subgraph->tokens, i);

        if (other->is_transfer && other->queue == token->queue && other->bound_to == engine &&
            !other->waited) {
            other->waited = true;
            other->waited_at = next_index;
            amount += other->amount;
        }
    }
    if (queue->waited_by[engine] < token_index + 1) {
        queue->waited_by[engine] = token_index + 1;
    }
    while (amount > 0) {
        uint16_t part = amount > 0x8000 ? 0x8000 : (uint16_t)amount;

        add_sync(kernel->build, waits, queue->semaphore_to[engine], part);
        amount -= part;
    }
    while (subgraph->first_open < subgraph->tokens.count) {
        const struct build_token *first = ntk_vec_at(&subgraph->tokens, subgraph->first_open);

        if (first->is_transfer && !first->waited) {
            break;
        }
        subgraph->first_open++;
    }
}

static void wait_for(struct ntk_neff_kernel *kernel, int engine, struct ntk_vec *waits,
                     struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    size_t next_index = subgraph->engines[engine].program.count;

    for (size_t i = 0; i < after.count && !failed(kernel->build); i++) {
        const struct build_token *token;

        if (after.tokens[i] == 0) {
            continue;
        }
        if (after.tokens[i] > subgraph->tokens.count) {
            neff_build_fail(kernel->build, -EINVAL, "a token of another subgraph or kernel");
            return;
        }
        token = ntk_vec_at(&subgraph->tokens, after.tokens[i] - 1);
        if (token->is_transfer) {
            wait_for_transfer(kernel, engine, waits, after.tokens[i] - 1, next_index);
        } else {
            wait_for_instr(kernel, engine, waits, token->engine, token->index);
        }
    }
}

ntk_neff_token ntk_neff_kernel_emit(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                                    const struct ntk_isa_instr *instr, struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct ntk_neff_build *build = kernel->build;
    struct build_token token = { .engine = engine, .bound_to = UNBOUND, .group = NO_GROUP };
    struct ntk_vec waits = NTK_VEC_INIT(struct build_sync);
    struct build_instr *added;
    struct ntk_err err = { 0 };

    if (failed(build)) {
        return 0;
    }
    if (ntk_isa_check(instr, engine, &err) < 0) {
        neff_build_fail(build, err.code, "%s", err.text);
        return 0;
    }
    for (int i = 0; i < NTK_ISA_OPERAND_COUNT; i++) {
        if (instr->operand[i].space == NTK_ISA_SPACE_VAR &&
            instr->operand[i].var_id >= subgraph->vars.count) {
            neff_build_fail(build, -EINVAL, "%s: there is no variable %u",
                            ntk_isa_op_info_get((unsigned)instr->op)->name,
                            instr->operand[i].var_id);
            return 0;
        }
    }
    wait_for(kernel, engine, &waits, after);
    if (failed(build)) {
        ntk_vec_fini(&waits);
        return 0;
    }
    added = add(build, &subgraph->engines[engine].program);
    if (!added) {
        ntk_vec_fini(&waits);
        return 0;
    }
    added->instr = *instr;
    if (kernel->layer && !instr->name_id) {
        added->instr.name_id = ntk_neff_kernel_name(kernel, engine, kernel->layer);
    }
    added->waits = waits;
    ntk_vec_init(&added->signals, sizeof(struct build_sync));
    token.index = subgraph->engines[engine].program.count - 1;
    if (ntk_isa_ends_later(instr->op)) {
        if (instr->queue >= subgraph->queues.count) {
            neff_build_fail(build, -EINVAL, "there is no queue set %u", instr->queue);
            return 0;
        }
        /* One with a semaphore of its own is the caller's business. */
        token.is_transfer = instr->done_semaphore == NTK_ISA_NO_SEMAPHORE;
        token.queue = instr->queue;
    }
    return add_token(build, subgraph, &token);
}

/* ---- transfers ---- */

static ntk_neff_token trigger(struct ntk_neff_kernel *kernel, uint32_t group_index,
                              struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    const struct build_group *group = ntk_vec_at(&subgraph->groups, group_index);
    const struct build_queue *queue = ntk_vec_at(&subgraph->queues, group->queue);
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct build_token *token;
    ntk_neff_token result;

    instr.queue = (uint16_t)group->queue;
    instr.group_id = group->id;
    result = ntk_neff_kernel_emit(kernel, queue->owner, &instr, after);
    if (result == 0) {
        return 0;
    }
    token = ntk_vec_at(&subgraph->tokens, result - 1);
    token->is_transfer = true;
    token->queue = group->queue;
    token->group = group_index;
    token->bound_to = group->bound_to;
    token->amount = (uint16_t)queue->queue_count;
    return result;
}

static bool side_is_sound(const struct build_subgraph *subgraph,
                          const struct ntk_neff_build_side *side)
{
    return side->var_id < subgraph->vars.count && side->dim_count >= 1 &&
           side->dim_count <= NTK_NEFF_TRANSFER_DIMS_MAX;
}

ntk_neff_token ntk_neff_kernel_dma(struct ntk_neff_kernel *kernel, uint32_t queue_index,
                                   const struct ntk_neff_build_transfer *transfer,
                                   struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct ntk_neff_build *build = kernel->build;
    struct build_queue *queue;
    struct build_group *group;
    bool sound;

    if (failed(build)) {
        return 0;
    }
    sound = queue_index < subgraph->queues.count && transfer->source_count >= 1 &&
            transfer->source_count <= NTK_NEFF_TRANSFER_SOURCES_MAX &&
            side_is_sound(subgraph, &transfer->to);
    for (uint32_t i = 0; sound && i < transfer->source_count; i++) {
        sound = side_is_sound(subgraph, &transfer->from[i]);
    }
    if (!sound) {
        neff_build_fail(build, -EINVAL, "a transfer without a queue set, a variable or dimensions");
        return 0;
    }
    group = add(build, &subgraph->groups);
    if (!group) {
        return 0;
    }
    queue = ntk_vec_at(&subgraph->queues, queue_index);
    group->queue = queue_index;
    group->id = queue->group_count++;
    group->semaphore = NTK_ISA_NO_SEMAPHORE;
    group->bound_to = UNBOUND;
    group->transfer = *transfer;
    group->from = malloc(transfer->source_count * sizeof *group->from);
    if (transfer->scales) {
        group->scales = malloc(transfer->source_count * sizeof *group->scales);
    }
    if (transfer->transpose_order) {
        group->transpose_order = copy_text(build, transfer->transpose_order);
    }
    if (!group->from || (transfer->scales && !group->scales)) {
        no_memory(build);
        return 0;
    }
    memcpy(group->from, transfer->from, transfer->source_count * sizeof *group->from);
    if (transfer->scales) {
        memcpy(group->scales, transfer->scales, transfer->source_count * sizeof *group->scales);
    }
    return trigger(kernel, (uint32_t)subgraph->groups.count - 1, after);
}

ntk_neff_token ntk_neff_kernel_dma_again(struct ntk_neff_kernel *kernel, ntk_neff_token first,
                                         struct ntk_neff_after after)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    const struct build_token *token;

    if (failed(kernel->build)) {
        return 0;
    }
    token = first > 0 && first <= subgraph->tokens.count ? ntk_vec_at(&subgraph->tokens, first - 1)
                                                         : NULL;
    if (!token || token->group == NO_GROUP) {
        neff_build_fail(kernel->build, -EINVAL,
                        "only a transfer of ntk_neff_kernel_dma can be "
                        "started again");
        return 0;
    }
    return trigger(kernel, token->group, after);
}

static struct ntk_neff_build_side rows_side(uint32_t var_id, uint64_t offset, uint64_t row_step,
                                            uint32_t rows, uint64_t row_bytes)
{
    return (struct ntk_neff_build_side){ .var_id = var_id,
                                         .offset = offset,
                                         .dim_count = 2,
                                         .steps = { 1, (int64_t)row_step },
                                         .sizes = { row_bytes, rows } };
}

ntk_neff_token ntk_neff_kernel_load(struct ntk_neff_kernel *kernel, uint32_t queue, uint32_t var_id,
                                    uint64_t var_offset, uint64_t row_step, uint32_t rows,
                                    uint64_t sbuf_offset, uint64_t row_bytes,
                                    struct ntk_neff_after after)
{
    struct ntk_neff_build_side from = rows_side(var_id, var_offset, row_step, rows, row_bytes);
    struct ntk_neff_build_transfer transfer = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = rows_side(NTK_NEFF_VAR_ID_SBUF, sbuf_offset, NTK_NEFF_SBUF_PARTITION_STEP, rows,
                        row_bytes),
        .from = &from,
        .source_count = 1,
    };

    return ntk_neff_kernel_dma(kernel, queue, &transfer, after);
}

ntk_neff_token ntk_neff_kernel_store(struct ntk_neff_kernel *kernel, uint32_t queue,
                                     uint32_t var_id, uint64_t var_offset, uint64_t row_step,
                                     uint32_t rows, uint64_t sbuf_offset, uint64_t row_bytes,
                                     struct ntk_neff_after after)
{
    struct ntk_neff_build_side from =
        rows_side(NTK_NEFF_VAR_ID_SBUF, sbuf_offset, NTK_NEFF_SBUF_PARTITION_STEP, rows, row_bytes);
    struct ntk_neff_build_transfer transfer = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = rows_side(var_id, var_offset, row_step, rows, row_bytes),
        .from = &from,
        .source_count = 1,
    };

    return ntk_neff_kernel_dma(kernel, queue, &transfer, after);
}

/* ---- finishing ---- */

/* Each engine waits for the transfers of its queues that nobody waited for, and says that it is at its
 * end; the tensor engine's end is the program's. */
static void finish_subgraph(struct ntk_neff_kernel *kernel)
{
    struct build_subgraph *subgraph = &kernel->subgraphs[kernel->current];
    struct ntk_isa_instr notify = ntk_isa_instr_make(NTK_ISA_OP_NOTIFY);

    ntk_neff_kernel_layer(kernel, NULL);
    notify.imm[0] = 1;
    for (int step = 0; step < NTK_ISA_ENGINE_COUNT; step++) {
        int e = (step + 1) % NTK_ISA_ENGINE_COUNT; /* PE is last */
        struct ntk_isa_instr end = notify;
        ntk_neff_token last[NTK_AFTER_MAX];
        size_t last_count = 0;

        for (uint32_t q = 0; q < subgraph->queues.count; q++) {
            const struct build_queue *queue = ntk_vec_at(&subgraph->queues, q);
            size_t highest = 0;

            for (size_t i = subgraph->first_open; i < subgraph->tokens.count; i++) {
                const struct build_token *token = ntk_vec_at(&subgraph->tokens, i);

                if (token->is_transfer && token->queue == q && !token->waited) {
                    /* One that is bound elsewhere has that engine's turn. */
                    if (token->bound_to == e ||
                        (token->bound_to == UNBOUND && (int)queue->owner == e)) {
                        highest = i + 1;
                    }
                }
            }
            if (highest > 0 && last_count < NTK_AFTER_MAX) {
                last[last_count++] = (ntk_neff_token)highest;
            }
        }
        if (e == NTK_ISA_ENGINE_PE) {
            end.wait_semaphore = NTK_ISA_SEMAPHORE_END;
            end.wait_value = NTK_ISA_ENGINE_COUNT - 1;
            end.flags = NTK_ISA_FLAG_WAIT_CONSUME;
        } else {
            end.signal_semaphore = NTK_ISA_SEMAPHORE_END;
            end.signal_value = 1;
        }
        ntk_neff_kernel_emit(kernel, (enum ntk_isa_engine)e, &end,
                             (struct ntk_neff_after){ last, last_count });
    }
}

int ntk_neff_build_bytes(struct ntk_neff_build *build, uint8_t **out_bytes, size_t *out_count,
                         struct ntk_err *err)
{
    struct ntk_neff_header header = { 0 };
    uint32_t kernels = 0;

    for (size_t i = 0; i < build->nodes.count && !failed(build); i++) {
        struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        for (uint32_t s = 0; node->is_kernel && s < build->options.lnc; s++) {
            node->kernel.current = s;
            finish_subgraph(&node->kernel);
        }
        if (node->is_kernel && kernels < sizeof header.tpb_per_node) {
            header.tpb_per_node[kernels++] = 1;
        }
    }
    if (!failed(build) && build->nodes.count == 0) {
        neff_build_fail(build, -EINVAL, "a NEFF needs a node");
    }
    if (!failed(build)) {
        neff_build_json(build);
    }
    if (failed(build)) {
        return ntk_err_set(err, build->err.code, NTK_ERR_NO_OFFSET, "%s", build->err.text);
    }
    header.pkg_version = build->options.pkg_version ? build->options.pkg_version : 2;
    header.version_major = 2;
    header.num_tpb = 1;
    header.requested_tpb_count = 1;
    header.feature_bits = build->options.feature_bits;
    header.lnc_size = build->options.lnc;
    if (build->options.lnc == 2) {
        header.feature_bits |= NTK_NEFF_FEATURES_LNC2;
    }
    memcpy(header.uuid, build->options.uuid, sizeof header.uuid);
    snprintf(header.name, sizeof header.name, "%s", build->name);
    return ntk_neff_pack(&header, (const struct ntk_neff_pack_member *)build->packed.items,
                         build->packed.count, !build->options.uncompressed, out_bytes, out_count,
                         err);
}

int ntk_neff_build_write(struct ntk_neff_build *build, const char *path, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_neff_build_bytes(build, &bytes, &count, err);

    if (ret == 0) {
        ret = ntk_fs_write(path, bytes, count, err);
    }
    free(bytes);
    return ret;
}
