/* SPDX-License-Identifier: MIT */
/* opef1_write - writes structs as OPEF 1: headers, info sections, and checks before writing. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/order.h"
#include "shared/formats/popef/popef_layout.h"
#include "shared/formats/popef/popef_private.h"

void ntk_opef1_header(uint8_t *to, uint32_t type, bool is_compressed, uint64_t info_bytes,
                      uint64_t data_bytes, uint64_t full_bytes)
{
    uint32_t version_bytes = (uint32_t)strlen(NTK_OPEF_VERSION);
    struct ntk_opef_header header = {
        .format = htole16(NTK_OPEF_FORMAT),
        .flags = htole16(is_compressed ? NTK_OPEF_FLAG_COMPRESSED : 0),
        .type = htole32(type),
        .version_bytes = htole32(version_bytes),
        .size = htole64(NTK_OPEF_HEADER_BYTES + ntk_opef_pad8(version_bytes) +
                        ntk_opef_pad8(info_bytes) + data_bytes),
        .info_bytes = htole64(info_bytes),
        .data_bytes = htole64(data_bytes),
        .full_bytes = htole64(full_bytes),
    };

    memcpy(header.magic, NTK_OPEF_MAGIC, sizeof header.magic);
    memcpy(to, &header, sizeof header);
}

static void put_text(struct ntk_buf *buf, const char *text)
{
    size_t bytes_count = text ? strlen(text) : 0;

    ntk_buf_put_u32(buf, (uint32_t)bytes_count);
    ntk_buf_add(buf, text ? text : "", bytes_count);
}

static void put_tensor_info(struct ntk_buf *buf, const struct popef_tensor_info *info)
{
    ntk_buf_put_u8(buf, (uint8_t)info->data_type);
    ntk_buf_put_u32(buf, info->rank);
    for (uint32_t i = 0; i < info->rank; i++) {
        ntk_buf_put_u64(buf, (uint64_t)info->shape[i]);
    }
}

static void put_programs(struct ntk_buf *buf, const struct popef_programs *programs)
{
    ntk_buf_put_u32(buf, (uint32_t)programs->count);
    for (size_t i = 0; i < programs->count; i++) {
        ntk_buf_put_u32(buf, programs->indices[i]);
    }
}

static void put_options(struct ntk_buf *buf, const struct popef_option *options, size_t count)
{
    ntk_buf_put_u32(buf, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_text(buf, options[i].name);
        put_text(buf, options[i].value);
    }
}

NTK_ORDER_POINTERS(by_index, struct popef_program_name, NTK_UP(index));

/* The list in sorted order, as an array of pointers that the caller frees; NULL if out of
 * memory. */
static const struct popef_program_name **map_sorted(const struct popef_metadata *metadata)
{
    const struct popef_program_name **sorted =
        malloc((metadata->programs_map_count + 1) * sizeof *sorted);

    for (size_t i = 0; sorted && i < metadata->programs_map_count; i++) {
        sorted[i] = &metadata->programs_map[i];
    }
    if (sorted) {
        qsort(sorted, metadata->programs_map_count, sizeof *sorted, by_index);
    }
    return sorted;
}

static void put_metadata(struct ntk_buf *buf, const struct popef_metadata *metadata)
{
    const struct popef_program_name **map = map_sorted(metadata);

    put_text(buf, metadata->executable);
    ntk_buf_put_u64(buf, (uint64_t)metadata->replication_factor);
    ntk_buf_put_u64(buf, (uint64_t)metadata->num_ipus);
    ntk_buf_put_u64(buf, (uint64_t)metadata->ipu_version);
    ntk_buf_put_u8(buf, metadata->is_inference);
    ntk_buf_put_u8(buf, metadata->is_pod);
    ntk_buf_put_u64(buf, (uint64_t)metadata->num_processes);
    ntk_buf_put_u64(buf, (uint64_t)metadata->device_iterations);
    put_text(buf, metadata->seed_handle);
    put_options(buf, metadata->engine_options, metadata->engine_option_count);
    put_options(buf, metadata->device_options, metadata->device_option_count);
    put_programs(buf, &metadata->program_flow.load);
    put_programs(buf, &metadata->program_flow.main);
    put_programs(buf, &metadata->program_flow.save);
    ntk_buf_put_u32(buf, (uint32_t)metadata->programs_map_count);
    for (size_t i = 0; i < metadata->programs_map_count && map; i++) {
        ntk_buf_put_u32(buf, map[i]->index);
        put_text(buf, map[i]->name);
    }
    buf->failed = buf->failed || !map;
    ntk_buf_put_u32(buf, (uint32_t)metadata->anchor_count);
    for (size_t i = 0; i < metadata->anchor_count; i++) {
        const struct popef_anchor *anchor = &metadata->anchors[i];

        put_text(buf, anchor->name);
        put_text(buf, anchor->handle);
        ntk_buf_put_u8(buf, (uint8_t)anchor->type);
        ntk_buf_put_u8(buf, anchor->is_per_replica);
        ntk_buf_put_u8(buf, anchor->use_remote_buffers);
        ntk_buf_put_u64(buf, (uint64_t)anchor->repeats);
        put_tensor_info(buf, &anchor->tensor_info);
        put_programs(buf, &anchor->programs);
    }
    free(map);
}

static void pad(struct ntk_buf *buf, uint64_t bytes_count)
{
    ntk_buf_add_fill(buf, '\0', (size_t)(ntk_opef_pad8(bytes_count) - bytes_count));
}

void ntk_opef1_put_info(struct ntk_buf *buf, uint32_t type, const struct ntk_popef_info *info,
                        uint64_t *out_info_bytes)
{
    ntk_buf_add_text(buf, NTK_OPEF_VERSION);
    pad(buf, strlen(NTK_OPEF_VERSION));

    size_t start = buf->bytes_count;
    if (type == POPEF_BLOB_METADATA) {
        put_metadata(buf, info->metadata);
    } else {
        put_text(buf, info->name);
    }
    if (type == POPEF_BLOB_TENSOR || type == POPEF_BLOB_FEED) {
        put_tensor_info(buf, &info->tensor_info);
    }
    if (type == POPEF_BLOB_FEED) {
        ntk_buf_put_u64(buf, info->num_tensors);
    }
    if (type == POPEF_BLOB_OPAQUE) {
        put_text(buf, info->executable);
    }
    *out_info_bytes = buf->bytes_count - start;
    pad(buf, *out_info_bytes);
}

/* ---- checks before writing ---- */

static int refuse(struct popef_error *err, const char *what, const char *why)
{
    return ntk_popef_fail(err, POPEF_ERROR_ARGUMENT, POPEF_NO_OFFSET, "%s: %s", what, why);
}

static int check_text(const char *what, const char *text, struct popef_error *err)
{
    return !text || strlen(text) <= POPEF_TEXT_BYTES_MAX
               ? 0
               : refuse(err, what, "string longer than 64 KiB");
}

static int check_tensor_info(const char *what, const struct popef_tensor_info *info,
                             struct popef_error *err)
{
    if (info->rank > POPEF_RANK_MAX) {
        return refuse(err, what, "more than 16 dimensions");
    }
    if (popef_tensor_info_size_in_bytes(info) < 0) {
        return refuse(err, what, "invalid shape or missing data type");
    }
    return 0;
}

static int check_metadata(const struct popef_metadata *metadata, struct popef_error *err)
{
    const struct {
        const struct popef_option *options;
        size_t count;
    } lists[] = {
        { metadata->engine_options, metadata->engine_option_count },
        { metadata->device_options, metadata->device_option_count },
    };
    const struct popef_program_flow *flow = &metadata->program_flow;
    int ret = check_text("metadata", metadata->executable, err);

    if (ret == 0) {
        ret = check_text("metadata", metadata->seed_handle, err);
    }
    if (ret == 0 &&
        (lists[0].count > POPEF_LIST_MAX || lists[1].count > POPEF_LIST_MAX ||
         flow->load.count > POPEF_LIST_MAX || flow->main.count > POPEF_LIST_MAX ||
         flow->save.count > POPEF_LIST_MAX || metadata->programs_map_count > POPEF_LIST_MAX ||
         metadata->anchor_count > POPEF_LIST_MAX)) {
        ret = refuse(err, "metadata", "list longer than 65536 items");
    }
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l].count && ret == 0; i++) {
            ret = check_text("option", lists[l].options[i].name, err);
            if (ret == 0) {
                ret = check_text(lists[l].options[i].name, lists[l].options[i].value, err);
            }
        }
    }
    for (size_t i = 0; i < metadata->programs_map_count && ret == 0; i++) {
        ret = check_text("program", metadata->programs_map[i].name, err);
    }
    for (size_t i = 0; i < metadata->anchor_count && ret == 0; i++) {
        const struct popef_anchor *anchor = &metadata->anchors[i];

        ret = check_text("anchor", anchor->name, err);
        if (ret == 0) {
            ret = check_text("anchor", anchor->handle, err);
        }
        if (ret == 0) {
            ret = check_tensor_info(anchor->name ? anchor->name : "anchor", &anchor->tensor_info,
                                    err);
        }
        if (ret == 0 && anchor->programs.count > POPEF_LIST_MAX) {
            ret = refuse(err, "anchor", "list longer than 65536 programs");
        }
        if (ret == 0 && (unsigned)anchor->type > POPEF_TENSOR_OUTPUT) {
            ret = refuse(err, "anchor", "invalid tensor type");
        }
        if (ret == 0 && anchor->repeats < 0) {
            ret = refuse(err, "anchor", "a negative number of repeats");
        }
    }
    const struct popef_program_name **map = ret == 0 ? map_sorted(metadata) : NULL;
    if (ret == 0 && !map) {
        ret = ntk_popef_no_memory(err);
    }
    for (size_t i = 1; i < metadata->programs_map_count && ret == 0; i++) {
        if (map[i]->index == map[i - 1]->index) {
            ret = refuse(err, "metadata", "two names for one program");
        }
    }
    free(map);
    return ret;
}

int ntk_opef1_check(uint32_t type, const struct ntk_popef_info *info, struct popef_error *err)
{
    int ret = type == POPEF_BLOB_METADATA ? check_metadata(info->metadata, err)
                                          : check_text(ntk_popef_kind(type), info->name, err);

    if (ret == 0 && type == POPEF_BLOB_OPAQUE) {
        ret = check_text(info->name, info->executable, err);
    }
    if (ret == 0 && (type == POPEF_BLOB_TENSOR || type == POPEF_BLOB_FEED)) {
        ret = check_tensor_info(info->name, &info->tensor_info, err);
    }
    return ret;
}
