/* SPDX-License-Identifier: MIT */
/* neff_build - a NEFF under construction: nodes, members, errors, and the finished bytes.
 * neff_build_kernel.c declares the parts of a program, neff_build_order.c puts instructions and
 * transfers in order, neff_build_json.c writes members. */
#include "shared/formats/neff/neff_build_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"

/* ---- errors, copies ---- */

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

bool neff_build_failed(const struct ntk_neff_build *build)
{
    return build->err.code != 0;
}

void neff_build_no_memory(struct ntk_neff_build *build)
{
    neff_build_fail(build, -ENOMEM, "out of memory");
}

void *neff_build_add(struct ntk_neff_build *build, struct ntk_vec *vec)
{
    void *item = ntk_vec_add(vec);

    if (!item) {
        neff_build_no_memory(build);
    }
    return item;
}

char *neff_build_copy_text(struct ntk_neff_build *build, const char *text)
{
    char *copy = strdup(text);

    if (!copy) {
        neff_build_no_memory(build);
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
    ntk_neff_build_place(NULL);
    if (options) {
        build->options = *options;
    }
    build->name = strdup(build->options.name ? build->options.name : "model");
    build->target = strdup(build->options.target ? build->options.target : "*");
    build->tool_version =
        strdup(build->options.tool_version ? build->options.tool_version : NTK_VERSION);
    ntk_vec_init(&build->nodes, sizeof(struct build_node *));
    ntk_vec_init(&build->graph, sizeof(struct graph_node));
    ntk_vec_init(&build->members, sizeof(struct build_member));
    ntk_vec_init(&build->heads, sizeof(char *));
    ntk_vec_init(&build->params, sizeof(char *));
    ntk_vec_init(&build->packed, sizeof(struct ntk_neff_pack_member));
    if (!build->name || !build->target || !build->tool_version) {
        ntk_neff_build_destroy(build);
        return NULL;
    }
    if (build->options.lnc == 0) {
        build->options.lnc = 1;
    }
    if (build->options.lnc > SUBGRAPHS_MAX) {
        neff_build_fail(build, -EINVAL, "unsupported LNC %u", build->options.lnc);
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
        ntk_vec_fini(&node->kernel.places);
        free(node->name);
        free(node->function);
        free(node->library);
        free(node);
    }
    ntk_vec_fini(&build->nodes);
    ntk_vec_each(struct graph_node, node, &build->graph) {
        ntk_vec_fini(&node->inputs);
        ntk_vec_fini(&node->outputs);
    }
    ntk_vec_fini(&build->graph);
    ntk_vec_each(struct build_member, member, &build->members) {
        free(member->name);
        free(member->bytes);
    }
    ntk_vec_fini(&build->members);
    free_texts(&build->heads);
    free_texts(&build->params);
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

    if (neff_build_failed(build)) {
        free(bytes);
        return;
    }
    member = neff_build_add(build, &build->members);
    if (!member) {
        free(bytes);
        return;
    }
    member->bytes = bytes;
    member->bytes_count = bytes_count;
    member->name = neff_build_copy_text(build, name);
}

void ntk_neff_build_member(struct ntk_neff_build *build, const char *name, const void *bytes,
                           size_t bytes_count)
{
    void *copy = malloc(bytes_count + 1);

    if (!copy) {
        neff_build_no_memory(build);
        return;
    }
    if (bytes_count > 0) { /* bytes may be NULL for an empty member */
        memcpy(copy, bytes, bytes_count);
    }
    neff_build_member_take(build, name, copy, bytes_count);
}

/* ---- nodes ---- */

struct build_node *neff_build_node_add(struct ntk_neff_build *build, const char *name)
{
    struct build_node *node = calloc(1, sizeof *node);

    if (!node || ntk_vec_push(&build->nodes, &node) < 0) {
        free(node);
        neff_build_no_memory(build);
        return NULL;
    }
    node->name = neff_build_copy_text(build, name);
    ntk_vec_init(&node->inputs, sizeof(struct build_tensor));
    ntk_vec_init(&node->outputs, sizeof(struct build_tensor));
    return node;
}

void neff_build_add_tensor(struct ntk_neff_build *build, struct ntk_vec *tensors, const char *name,
                           enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims)
{
    struct build_tensor *tensor;
    uint64_t bytes = ntk_dtype_bytes((unsigned)dtype);

    if (neff_build_failed(build)) {
        return;
    }
    if (bytes == 0 || dim_count > NTK_NEFF_DIMS_MAX) {
        neff_build_fail(build, -EINVAL, "tensor '%s': unknown dtype or too many dimensions", name);
        return;
    }
    tensor = neff_build_add(build, tensors);
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
    tensor->name = neff_build_copy_text(build, name);
}

void ntk_neff_build_cpu_node(struct ntk_neff_build *build, const char *node_name,
                             const char *function, const char *library,
                             const struct ntk_neff_build_tensor *inputs, size_t input_count,
                             const struct ntk_neff_build_tensor *outputs, size_t output_count)
{
    struct build_node *node;

    if (neff_build_failed(build)) {
        return;
    }
    node = neff_build_node_add(build, node_name);
    if (!node) {
        return;
    }
    node->function = neff_build_copy_text(build, function);
    node->library = library ? neff_build_copy_text(build, library) : NULL;
    for (size_t i = 0; i < input_count; i++) {
        neff_build_add_tensor(build, &node->inputs, inputs[i].name, inputs[i].dtype,
                              inputs[i].dim_count, inputs[i].dims);
    }
    for (size_t i = 0; i < output_count; i++) {
        neff_build_add_tensor(build, &node->outputs, outputs[i].name, outputs[i].dtype,
                              outputs[i].dim_count, outputs[i].dims);
    }
}

void ntk_neff_build_head(struct ntk_neff_build *build, const char *tensor_name)
{
    char *copy;

    if (neff_build_failed(build)) {
        return;
    }
    copy = neff_build_copy_text(build, tensor_name);
    if (copy && ntk_vec_push(&build->heads, &copy) < 0) {
        free(copy);
        neff_build_no_memory(build);
    }
}

void neff_build_param_path(char *path, const char *tensor_name)
{
    snprintf(path, NTK_NEFF_MEMBER_NAME_MAX, "param_%s.npy", tensor_name);
}

void ntk_neff_build_param(struct ntk_neff_build *build, const char *tensor_name,
                          enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims,
                          const void *data)
{
    char path[NTK_NEFF_MEMBER_NAME_MAX];
    size_t file_bytes = 0;
    uint64_t array_bytes = 0;
    void *file;
    char *copy;

    if (neff_build_failed(build)) {
        return;
    }
    file = neff_build_npy(build, dtype, dim_count, dims, data, &file_bytes, &array_bytes);
    if (!file) {
        return;
    }
    neff_build_param_path(path, tensor_name);
    neff_build_member_take(build, path, file, file_bytes);
    copy = neff_build_copy_text(build, tensor_name);
    if (copy && ntk_vec_push(&build->params, &copy) < 0) {
        free(copy);
        neff_build_no_memory(build);
    }
}

/* ---- finishing ---- */

int ntk_neff_build_bytes(struct ntk_neff_build *build, uint8_t **out_bytes, size_t *out_count,
                         struct ntk_err *err)
{
    struct ntk_neff_header header = { 0 };
    uint32_t kernels = 0;

    for (size_t i = 0; i < build->nodes.count && !neff_build_failed(build); i++) {
        struct build_node *node = *(struct build_node **)ntk_vec_at(&build->nodes, i);

        for (uint32_t s = 0; node->is_kernel && s < build->options.lnc; s++) {
            node->kernel.current = s;
            neff_build_finish(&node->kernel);
        }
    }
    if (!neff_build_failed(build) && build->nodes.count == 0) {
        neff_build_fail(build, -EINVAL, "a NEFF must have at least one node");
    }
    neff_build_graph(build);
    ntk_vec_each(struct graph_node, node, &build->graph) {
        if (node->node->is_kernel && kernels < sizeof header.tpb_per_node) {
            header.tpb_per_node[kernels++] = (uint8_t)node->stage_count;
        }
        header.num_tpb += node->node->is_kernel ? (uint32_t)node->stage_count : 0;
    }
    header.num_tpb = header.num_tpb > 0 ? header.num_tpb : 1;
    header.requested_tpb_count = header.num_tpb;
    if (!neff_build_failed(build)) {
        neff_build_json(build, header.num_tpb);
    }
    if (neff_build_failed(build)) {
        return ntk_err_set(err, build->err.code, NTK_ERR_NO_OFFSET, "%s", build->err.text);
    }
    header.pkg_version = build->options.pkg_version ? build->options.pkg_version : 2;
    header.version_major = 2;
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
