/* SPDX-License-Identifier: MIT */
/* neff_read_dma - reads descriptor groups and their transfers; checks every pattern against its
 * variable. */
#include "shared/formats/neff/neff_read_private.h"

#include <stdio.h>
#include <string.h>

static const char *const transfer_op_names[] = {
    [NTK_NEFF_TRANSFER_COPY] = "copy",
    [NTK_NEFF_TRANSFER_CAST] = "cast",
    [NTK_NEFF_TRANSFER_ADD] = "add",
    [NTK_NEFF_TRANSFER_MIN] = "min",
    [NTK_NEFF_TRANSFER_MAX] = "max",
    [NTK_NEFF_TRANSFER_FMA] = "fma",
    [NTK_NEFF_TRANSFER_TRANSPOSE] = "transpose",
};

const char *ntk_neff_transfer_op_name(enum ntk_neff_transfer_op op)
{
    return transfer_op_names[op];
}

static int dtype_of(struct reader *r, const json_t *json, const char *what, const char *key,
                    enum ntk_dtype fallback, enum ntk_dtype *out)
{
    const json_t *value = json_object_get(json, key);

    if (!value || json_is_null(value)) {
        *out = fallback;
        return 0;
    }
    *out = json_is_string(value) ? ntk_dtype_find(json_string_value(value)) : NTK_DTYPE_NONE;
    return *out != NTK_DTYPE_NONE ? 0 : BAD(r, "%s: unknown dtype in %s", what, key);
}

/* Finds the first and one past the last byte of a pattern; false if it is unreasonably large. */
static bool pattern_extent(const struct ntk_neff_pattern *pattern, int64_t *out_low,
                           int64_t *out_high)
{
    int64_t low = (int64_t)pattern->offset;
    int64_t high = (int64_t)pattern->offset;

    for (uint32_t i = 0; i < pattern->dim_count; i++) {
        uint64_t count = pattern->sizes[i];
        int64_t reach;

        if (i == 0) {
            uint64_t element = pattern->steps[0] == 1 ? 1 : ntk_dtype_bytes(pattern->dtype);

            if (count % element != 0) {
                return false;
            }
            count /= element;
            high += (int64_t)element;
        }
        if (count == 0 || __builtin_mul_overflow(pattern->steps[i], (int64_t)(count - 1), &reach) ||
            reach > (int64_t)(VALUE_MAX * 16) || reach < -(int64_t)(VALUE_MAX * 16)) {
            return false;
        }
        if (reach < 0) {
            low += reach;
        } else {
            high += reach;
        }
    }
    *out_low = low;
    *out_high = high;
    return true;
}

static bool pattern_bytes(const struct ntk_neff_pattern *pattern, uint64_t *out_bytes)
{
    uint64_t bytes = 1;

    for (uint32_t i = 0; i < pattern->dim_count; i++) {
        if (__builtin_mul_overflow(bytes, pattern->sizes[i], &bytes) || bytes > VALUE_MAX) {
            return false;
        }
    }
    *out_bytes = bytes;
    return true;
}

static int bad_transfer(const struct group_reader *g, const char *text)
{
    return BAD(g->r, "%s: group %u: %s", g->where, g->group, text);
}

static int check_pattern(const struct group_reader *g, const struct ntk_neff_pattern *pattern)
{
    const struct ntk_neff_var *var = &g->subgraph->vars[pattern->var];
    uint64_t limit = var->bytes_count;
    int64_t low;
    int64_t high;

    if (!pattern_extent(pattern, &low, &high)) {
        return bad_transfer(g, "excessive steps or sizes");
    }
    if (var->type == NTK_NEFF_VAR_STATE_BUFFER) {
        limit = NTK_NEFF_SBUF_PARTITION_STEP * NTK_ISA_PARTITIONS;
    } else if (var->type == NTK_NEFF_VAR_DGE_TABLE) {
        return bad_transfer(g, "a table cannot be moved");
    }
    if (low < 0 || (uint64_t)high > limit) {
        return BAD(g->r, "%s: group %u exceeds variable '%s': bytes %lld to %lld of %llu", g->where,
                   g->group, var->name, (long long)low, (long long)high, (unsigned long long)limit);
    }
    return 0;
}

static bool computes(enum ntk_neff_transfer_op op)
{
    return op == NTK_NEFF_TRANSFER_ADD || op == NTK_NEFF_TRANSFER_MIN ||
           op == NTK_NEFF_TRANSFER_MAX || op == NTK_NEFF_TRANSFER_FMA;
}

/* side is "from" or "to". */
static int read_pattern(const struct group_reader *g, const json_t *json, const char *side,
                        struct ntk_neff_pattern *pattern)
{
    char key[32];
    const json_t *steps;
    const json_t *sizes;
    const struct ntk_neff_var *var;
    uint32_t size_count;
    const char *name;
    int ret;

    ret = neff_get_text(g->r, json, g->where, side, NULL, &name);
    if (ret < 0) {
        return ret;
    }
    var = name ? ntk_map_get(g->vars, name) : NULL;
    if (!var) {
        return BAD(g->r, "%s: group %u moves %s an undeclared variable: %s", g->where, g->group,
                   side, name ? name : "no name");
    }
    pattern->var = (uint32_t)(var - g->subgraph->vars);
    snprintf(key, sizeof key, "%s_off", side);
    ret = neff_get_u64(g->r, json, g->where, key, VALUE_MAX, 0, &pattern->offset);
    if (ret < 0) {
        return ret;
    }
    snprintf(key, sizeof key, "%s_dtype", side);
    ret = dtype_of(g->r, json, g->where, key, NTK_DTYPE_UINT8, &pattern->dtype);
    if (ret < 0) {
        return ret;
    }
    snprintf(key, sizeof key, "%s_steps", side);
    ret = neff_get_array(g->r, json, g->where, key, true, NTK_NEFF_TRANSFER_DIMS_MAX, &steps,
                         &pattern->dim_count);
    if (ret < 0) {
        return ret;
    }
    snprintf(key, sizeof key, "%s_sizes", side);
    ret = neff_get_array(g->r, json, g->where, key, true, NTK_NEFF_TRANSFER_DIMS_MAX, &sizes,
                         &size_count);
    if (ret < 0) {
        return ret;
    }
    if (size_count != pattern->dim_count || size_count == 0) {
        return bad_transfer(g, "the numbers of steps and sizes differ");
    }
    for (uint32_t i = 0; i < size_count; i++) {
        int64_t step;
        int64_t size;

        if (!neff_number_of(json_array_get(steps, i), &step) ||
            !neff_number_of(json_array_get(sizes, i), &size) || size < 1 ||
            (uint64_t)size > VALUE_MAX || step > (int64_t)VALUE_MAX || step < -(int64_t)VALUE_MAX) {
            return bad_transfer(g, "invalid step or size");
        }
        pattern->steps[i] = step;
        pattern->sizes[i] = (uint64_t)size;
    }
    return check_pattern(g, pattern);
}

/* Reads the scale of one source of an fma: the source or the transfer must have a dtype. */
static int read_scale(const struct group_reader *g, const json_t *json, const json_t *source,
                      const json_t *scale, float *out)
{
    const char *const key = "scale_dtype";
    enum ntk_dtype dtype;
    int ret = dtype_of(g->r, json_object_get(source, key) ? source : json, g->where, key,
                       NTK_DTYPE_NONE, &dtype);

    if (ret < 0) {
        return ret;
    }
    if (dtype != NTK_DTYPE_FLOAT32) {
        return bad_transfer(g, "scale_dtype of an fma must be float32");
    }
    if (scale && !json_is_number(scale)) {
        return bad_transfer(g, "scale must be a number");
    }
    if (scale) {
        *out = (float)json_number_value(scale);
    }
    return 0;
}

static int read_sources(const struct group_reader *g, const json_t *json,
                        struct ntk_neff_transfer *transfer)
{
    const json_t *list;
    uint32_t count;
    int ret = neff_get_array(g->r, json, g->where, "from_arr", false, NTK_NEFF_TRANSFER_SOURCES_MAX,
                             &list, &count);

    if (ret < 0) {
        return ret;
    }
    transfer->has_source_array = list != NULL;
    if (list && count == 0) {
        return bad_transfer(g, "from_arr is empty");
    }
    if (list && !computes(transfer->op)) {
        return bad_transfer(g, "from_arr is only allowed for computations");
    }
    if (list && json_object_get(json, "from")) {
        return bad_transfer(g, "expected from_arr or from, not both");
    }
    transfer->source_count = list ? count : 1;
    transfer->from = neff_keep(g->r, transfer->source_count, sizeof *transfer->from);
    transfer->scales = neff_keep(g->r, transfer->source_count, sizeof *transfer->scales);
    if (!transfer->from || !transfer->scales) {
        return NO_MEMORY(g->r);
    }
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        const json_t *source = list ? json_array_get(list, i) : json;
        const json_t *scale = json_object_get(source, "scale");

        ret = read_pattern(g, source, "from", &transfer->from[i]);
        if (ret < 0) {
            return ret;
        }
        if (!scale) {
            scale = json_object_get(json, "scale");
        }
        transfer->scales[i] = 1;
        if (transfer->op == NTK_NEFF_TRANSFER_FMA) {
            ret = read_scale(g, json, source, scale, &transfer->scales[i]);
            if (ret < 0) {
                return ret;
            }
        }
    }
    return 0;
}

static int read_constant(const struct group_reader *g, const json_t *json,
                         struct ntk_neff_transfer *transfer)
{
    const json_t *value = json_object_get(json, "constant");
    int ret;

    if (!json_object_get(json, "constant_dtype")) {
        return 0; /* a constant without a dtype is ignored */
    }
    ret = dtype_of(g->r, json, g->where, "constant_dtype", NTK_DTYPE_FLOAT32,
                   &transfer->constant_dtype);
    if (ret < 0) {
        return ret;
    }
    if (transfer->constant_dtype != NTK_DTYPE_FLOAT32 &&
        transfer->constant_dtype != NTK_DTYPE_INT32 &&
        transfer->constant_dtype != NTK_DTYPE_UINT32) {
        return bad_transfer(g, "constant_dtype must be float32, int32 or uint32");
    }
    if (!json_is_number(value)) {
        return bad_transfer(g, "constant must be a number if constant_dtype is set");
    }
    transfer->has_constant = true;
    transfer->constant = json_number_value(value);
    return 0;
}

/* The tile size of a transpose without a shape: the elements that its source moves at once; the
 * innermost dimension is the last of the shape. 0 if that is not a whole number. */
static int64_t tile_size(const struct ntk_neff_transfer *transfer, uint32_t dim)
{
    const struct ntk_neff_pattern *from = &transfer->from[0];
    uint32_t element = transfer->transpose_element_bytes;
    uint32_t tiled = transfer->tiling_dim_count > 0 ? transfer->tiling_dim_count : 2;

    if (dim >= from->dim_count || dim >= NTK_NEFF_TRANSFER_DIMS_MAX || dim >= tiled) {
        return 1;
    }
    if (dim > 0) {
        return (int64_t)from->sizes[dim];
    }
    return element > 0 && from->sizes[0] % element == 0 ? (int64_t)(from->sizes[0] / element) : 0;
}

static int read_transpose(const struct group_reader *g, const json_t *json,
                          struct ntk_neff_transfer *transfer)
{
    const json_t *shape;
    const char *order;
    uint64_t bytes;
    uint32_t count;
    int ret = neff_get_array(g->r, json, g->where, "transpose_shape", false, 4, &shape, &count);

    if (ret < 0) {
        return ret;
    }
    if (shape && count != 4) {
        return bad_transfer(g, "transpose_shape must have four numbers");
    }
    ret = neff_get_u32(g->r, json, g->where, "transpose_element_size", 8,
                       (uint32_t)ntk_dtype_bytes(transfer->from[0].dtype),
                       &transfer->transpose_element_bytes);
    if (ret == 0) {
        ret = neff_get_text(g->r, json, g->where, "transpose_op", "", &order);
    }
    if (ret < 0) {
        return ret;
    }
    bytes = transfer->transpose_element_bytes;
    for (uint32_t i = 0; i < 4; i++) {
        int64_t number;

        if (!shape) {
            number = tile_size(transfer, 3 - i);
        } else if (!neff_number_of(json_array_get(shape, i), &number)) {
            number = 0;
        }
        if (number < 1 || number > (1 << 24) ||
            __builtin_mul_overflow(bytes, (uint64_t)number, &bytes) || bytes > VALUE_MAX) {
            return bad_transfer(g, "invalid transpose_shape");
        }
        transfer->transpose_shape[i] = (uint32_t)number;
    }
    /* Each of the four letters must occur once. */
    if (strlen(order) != 4 || !strchr(order, 'W') || !strchr(order, 'X') || !strchr(order, 'Y') ||
        !strchr(order, 'Z')) {
        return bad_transfer(g, "transpose_op must be a permutation of W, X, Y and Z");
    }
    memcpy(transfer->transpose_order, order, 5);
    return bytes > 0 ? 0 : bad_transfer(g, "transpose_element_size is 0");
}

static int check_transfer_sizes(const struct group_reader *g,
                                const struct ntk_neff_transfer *transfer)
{
    uint64_t to_bytes;
    uint64_t to_size = ntk_dtype_bytes(transfer->to.dtype);

    if (!pattern_bytes(&transfer->to, &to_bytes)) {
        return bad_transfer(g, "moves too many bytes");
    }
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        const struct ntk_neff_pattern *from = &transfer->from[i];
        uint64_t from_size = ntk_dtype_bytes(from->dtype);
        uint64_t from_bytes;

        if (!pattern_bytes(from, &from_bytes)) {
            return bad_transfer(g, "moves too many bytes");
        }
        if (transfer->op == NTK_NEFF_TRANSFER_COPY || transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
            if (from_bytes != to_bytes) {
                return BAD(g->r, "%s: group %u copies %llu bytes to %llu", g->where, g->group,
                           (unsigned long long)from_bytes, (unsigned long long)to_bytes);
            }
        } else if (from_bytes % from_size != 0 || to_bytes % to_size != 0 ||
                   from->sizes[0] % from_size != 0 || transfer->to.sizes[0] % to_size != 0 ||
                   from_bytes / from_size != to_bytes / to_size) {
            return bad_transfer(g, "source and destination have different numbers of elements");
        }
    }
    if (transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
        uint64_t bytes = transfer->transpose_element_bytes;

        for (int i = 0; i < 4; i++) {
            bytes *= transfer->transpose_shape[i];
        }
        /* The shape is one tile; the transfer may move several of them, one after the other. */
        if (to_bytes % bytes != 0) {
            return bad_transfer(
                g, "the data size is not a multiple of the tile size of transpose_shape");
        }
    }
    return 0;
}

static int read_transfer(const struct group_reader *g, const json_t *json,
                         struct ntk_neff_transfer *transfer)
{
    const char *op;
    int index;
    int ret;

    if (!json_is_object(json)) {
        return bad_transfer(g, "a transfer is not an object");
    }
    ret = neff_get_text(g->r, json, g->where, "op",
                        json_object_get(json, "transpose_op") ? "transpose" : "copy", &op);
    if (ret < 0) {
        return ret;
    }
    index = neff_lookup(op, transfer_op_names, COUNT_OF(transfer_op_names));
    if (index < 0) {
        return BAD(g->r, "%s: group %u: unknown op '%s'", g->where, g->group, op);
    }
    transfer->op = (enum ntk_neff_transfer_op)index;
    if (transfer->op == NTK_NEFF_TRANSFER_COPY && json_object_get(json, "transpose_op")) {
        transfer->op = NTK_NEFF_TRANSFER_TRANSPOSE;
    }
    if ((ret = read_pattern(g, json, "to", &transfer->to)) < 0 ||
        (ret = read_sources(g, json, transfer)) < 0 ||
        (ret = neff_get_u32(g->r, json, g->where, "num_tiling_dimensions",
                            NTK_NEFF_TRANSFER_DIMS_MAX, 0, &transfer->tiling_dim_count)) < 0 ||
        (ret = read_constant(g, json, transfer)) < 0) {
        return ret;
    }
    if (transfer->op == NTK_NEFF_TRANSFER_TRANSPOSE) {
        ret = read_transpose(g, json, transfer);
        if (ret < 0) {
            return ret;
        }
    }
    return check_transfer_sizes(g, transfer);
}

/* Finds the queue set of a group by its name, or by the name of one of its instances. */
static int find_queue_set(const struct group_reader *g, const json_t *json,
                          struct ntk_neff_dma_group *group)
{
    const struct ntk_neff_subgraph *subgraph = g->subgraph;
    const char *queue;
    int ret = neff_get_text(g->r, json, g->where, "queue", NULL, &queue);

    if (ret == 0) {
        ret = neff_get_text(g->r, json, g->where, "instance_name", NULL, &group->instance);
    }
    if (ret < 0) {
        return ret;
    }
    for (uint32_t i = 0; i < subgraph->queue_set_count; i++) {
        const struct ntk_neff_queue_set *set = &subgraph->queue_sets[i];

        if (group->instance) {
            for (uint32_t k = 0; k < set->instance_count; k++) {
                if (strcmp(set->instances[k], group->instance) == 0) {
                    group->queue_set = i;
                    return 0;
                }
            }
        } else if (queue && strcmp(set->name, queue) == 0) {
            group->queue_set = i;
            return 0;
        }
    }
    return BAD(g->r, "%s: group %u uses an undeclared queue: %s", g->where, g->group,
               group->instance ? group->instance
               : queue         ? queue
                               : "no name");
}

static int read_remote_semaphores(const struct group_reader *g, const json_t *json,
                                  struct ntk_neff_dma_group *group)
{
    const json_t *list;
    uint32_t count;
    int ret = neff_get_array(g->r, json, g->where, "remote_semaphores", false, NTK_ISA_SEMAPHORES,
                             &list, &count);

    if (ret < 0 || count == 0) {
        return ret;
    }
    group->remote_semaphores = neff_keep(g->r, count, sizeof *group->remote_semaphores);
    if (!group->remote_semaphores) {
        return NO_MEMORY(g->r);
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;

        if (!neff_number_of(json_array_get(list, i), &number) || number < 0 ||
            number >= NTK_ISA_SEMAPHORES) {
            return bad_transfer(g, "unknown remote semaphore");
        }
        group->remote_semaphores[i] = (uint16_t)number;
    }
    group->remote_semaphore_count = count;
    return 0;
}

static int read_transfers(const struct group_reader *g, struct ntk_json_list *list,
                          struct ntk_neff_dma_group *group)
{
    size_t count = ntk_json_list_count(list);
    const char *text;
    size_t bytes;

    if (count > ARRAY_MAX) {
        return BAD(g->r, "%s: desc has %zu elements (at most %d)", g->where, count, ARRAY_MAX);
    }
    group->transfers = neff_keep(g->r, count, sizeof *group->transfers);
    if (!group->transfers) {
        return NO_MEMORY(g->r);
    }
    group->transfer_count = (uint32_t)count;
    for (size_t i = 0; ntk_json_list_next(list, &text, &bytes); i++) {
        json_t *json = NULL;
        int ret = neff_parse_text(g->r, g->where, text, bytes, &json);

        if (ret == 0) {
            ret = read_transfer(g, json, &group->transfers[i]);
        }
        neff_json_drop(g->r, json);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int read_group(struct group_reader *g, const json_t *json, struct ntk_json_list *transfers,
                      struct ntk_neff_dma_group *group)
{
    int ret;

    if (!json_object_get(json, "id")) {
        return BAD(g->r, "%s: a descriptor group has no id", g->where);
    }
    ret = neff_get_u32(g->r, json, g->where, "id", UINT32_MAX - 1, 0, &group->id);
    if (ret < 0) {
        return ret;
    }
    g->group = group->id;
    if ((ret = find_queue_set(g, json, group)) < 0 ||
        (ret = neff_get_u32(g->r, json, g->where, "semaphore", NTK_ISA_SEMAPHORES - 1,
                            NTK_NEFF_NONE, &group->semaphore)) < 0 ||
        (ret = neff_get_u32(g->r, json, g->where, "event", NTK_ISA_EVENTS - 1, NTK_NEFF_NONE,
                            &group->event)) < 0 ||
        (ret = read_remote_semaphores(g, json, group)) < 0 ||
        (ret = neff_get_text(g->r, json, g->where, "function_start", "", &group->function_start)) <
            0 ||
        (ret = neff_get_text(g->r, json, g->where, "#comment", "", &group->comment)) < 0) {
        return ret;
    }
    if (!transfers->text) {
        return BAD(g->r, "%s: desc must be a list", g->where);
    }
    group->section_start = neff_is_true(json_object_get(json, "section_start_desc"));
    return read_transfers(g, transfers, group);
}

int neff_read_group(struct group_reader *g, const char *text, size_t bytes_count,
                    struct ntk_neff_dma_group *group)
{
    struct ntk_json_list transfers;
    json_t *json = NULL;
    int ret = neff_parse_apart(g->r, g->where, text, bytes_count, "desc", &json, &transfers);

    if (ret == 0) {
        ret = read_group(g, json, &transfers, group);
    }
    neff_json_drop(g->r, json);
    return ret;
}
