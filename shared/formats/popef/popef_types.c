/* SPDX-License-Identifier: MIT */
/* popef_types - data types and shapes: sizes, extended shapes, elements per call. */
#include <string.h>

#include "shared/formats/popef/popef.h"

static const struct {
    const char *name;
    size_t size;
} types[POPEF_DATA_TYPE_COUNT] = {
    [POPEF_BOOL] = { "BOOL", 1 }, [POPEF_F8] = { "F8", 1 },       [POPEF_F16] = { "F16", 2 },
    [POPEF_F32] = { "F32", 4 },   [POPEF_F64] = { "F64", 8 },     [POPEF_S8] = { "S8", 1 },
    [POPEF_U8] = { "U8", 1 },     [POPEF_S16] = { "S16", 2 },     [POPEF_U16] = { "U16", 2 },
    [POPEF_S32] = { "S32", 4 },   [POPEF_U32] = { "U32", 4 },     [POPEF_S64] = { "S64", 8 },
    [POPEF_U64] = { "U64", 8 },   [POPEF_F8143] = { "F8143", 1 }, [POPEF_F8152] = { "F8152", 1 },
};

const char *popef_data_type_name(enum popef_data_type type)
{
    return (unsigned)type < POPEF_DATA_TYPE_COUNT ? types[type].name : NULL;
}

size_t popef_data_type_size(enum popef_data_type type)
{
    return (unsigned)type < POPEF_DATA_TYPE_COUNT ? types[type].size : 0;
}

int popef_data_type_find(const char *name, enum popef_data_type *out_type)
{
    for (unsigned i = 0; i < POPEF_DATA_TYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out_type = (enum popef_data_type)i;
            return 0;
        }
    }
    return -POPEF_ERROR_ARGUMENT;
}

int64_t popef_tensor_info_size_in_bytes(const struct popef_tensor_info *info)
{
    int64_t bytes = (int64_t)popef_data_type_size(info->data_type);
    bool is_empty = false;

    if (bytes == 0 || info->rank > POPEF_RANK_MAX) {
        return -1;
    }
    for (uint32_t i = 0; i < info->rank; i++) {
        if (info->shape[i] < 0) {
            return -1;
        }
        is_empty = is_empty || info->shape[i] == 0;
    }
    /* A dimension of 0 means no elements, for any other dimensions. */
    for (uint32_t i = 0; i < info->rank && !is_empty; i++) {
        if (__builtin_mul_overflow(bytes, info->shape[i], &bytes)) {
            return -1;
        }
    }
    return is_empty ? 0 : bytes;
}

bool popef_tensor_info_equal(const struct popef_tensor_info *a, const struct popef_tensor_info *b)
{
    return a->data_type == b->data_type && a->rank == b->rank && a->rank <= POPEF_RANK_MAX &&
           memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

/* The number of dimensions before the shape of one tensor. */
static uint32_t dimensions_before(int64_t replication_factor, bool is_per_replica,
                                  bool use_remote_buffers, int64_t repeats, int64_t out[2])
{
    uint32_t count = 0;

    if (is_per_replica && replication_factor > 1) {
        out[count++] = replication_factor;
    }
    if (use_remote_buffers && repeats > 1) {
        out[count++] = repeats;
    }
    return count;
}

int popef_tensor_info_extend(const struct popef_tensor_info *info, int64_t replication_factor,
                             bool is_per_replica, bool use_remote_buffers, int64_t repeats,
                             struct popef_tensor_info *out_info)
{
    struct popef_tensor_info extended = { .data_type = info->data_type };
    int64_t before[2] = { 0 };
    uint32_t count =
        dimensions_before(replication_factor, is_per_replica, use_remote_buffers, repeats, before);

    if (info->rank > POPEF_RANK_MAX || info->rank + count > POPEF_RANK_MAX) {
        return -POPEF_ERROR_ARGUMENT;
    }
    extended.rank = info->rank + count;
    memcpy(extended.shape, before, count * sizeof *before);
    memcpy(extended.shape + count, info->shape, info->rank * sizeof *info->shape);
    *out_info = extended;
    return 0;
}

int popef_anchor_unextended(const struct popef_anchor *anchor, int64_t replication_factor,
                            struct popef_tensor_info *out_info)
{
    const struct popef_tensor_info *info = &anchor->tensor_info;
    struct popef_tensor_info plain = { .data_type = info->data_type };
    int64_t before[2] = { 0 };
    uint32_t count = dimensions_before(replication_factor, anchor->is_per_replica,
                                       anchor->use_remote_buffers, anchor->repeats, before);

    if (info->rank > POPEF_RANK_MAX || info->rank < count ||
        memcmp(info->shape, before, count * sizeof *before) != 0) {
        return -POPEF_ERROR_ARGUMENT;
    }
    plain.rank = info->rank - count;
    memcpy(plain.shape, info->shape + count, plain.rank * sizeof *plain.shape);
    *out_info = plain;
    return 0;
}

int64_t popef_anchor_batch_size(const struct popef_anchor *anchor, int64_t replication_factor)
{
    struct popef_tensor_info plain;

    if (popef_anchor_unextended(anchor, replication_factor, &plain) < 0) {
        return -1;
    }
    return plain.rank > 0 ? plain.shape[0] : 1;
}

int64_t popef_anchor_elements_per_call(const struct popef_anchor *anchor,
                                       const struct popef_metadata *metadata,
                                       int64_t gradient_accumulation)
{
    int64_t elements = popef_anchor_batch_size(anchor, metadata->replication_factor);
    int64_t accumulation = metadata->is_inference ? 1 : gradient_accumulation;

    if (elements < 0 || metadata->device_iterations < 0 || metadata->replication_factor < 0 ||
        accumulation < 0 ||
        __builtin_mul_overflow(elements, metadata->device_iterations, &elements) ||
        __builtin_mul_overflow(elements, metadata->replication_factor, &elements) ||
        __builtin_mul_overflow(elements, accumulation, &elements)) {
        return -1;
    }
    return elements;
}
