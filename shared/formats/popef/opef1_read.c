/* SPDX-License-Identifier: MIT */
/* opef1_read - parses OPEF 1 into structs: headers, and info sections, which must be consumed
 * completely. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/cursor.h"
#include "shared/formats/popef/popef_layout.h"
#include "shared/formats/popef/popef_private.h"

static bool opef1_recognise(const uint8_t *start, size_t bytes_count)
{
    return bytes_count >= 4 && memcmp(start, NTK_OPEF_MAGIC, 4) == 0;
}

const char *ntk_popef_kind(uint32_t type)
{
    static const char *const kinds[] = {
        [POPEF_BLOB_EXECUTABLE] = "executable", [POPEF_BLOB_METADATA] = "metadata",
        [POPEF_BLOB_TENSOR] = "tensor",         [POPEF_BLOB_FEED] = "feed",
        [POPEF_BLOB_OPAQUE] = "opaque",
    };

    return type <= POPEF_BLOB_OPAQUE ? kinds[type] : "unknown";
}

/* ---- headers ---- */

static int truncated(const struct ntk_popef_file *file, uint64_t offset, struct popef_error *err)
{
    return ntk_popef_fail(err, POPEF_ERROR_TRUNCATED, offset, "%s: truncated blob at offset %llu",
                          file->name, (unsigned long long)offset);
}

static int bad_info(const struct ntk_popef_file *file, uint32_t type, uint64_t offset,
                    struct popef_error *err)
{
    return ntk_popef_fail(err, POPEF_ERROR_INFO, offset, "%s: invalid %s info at offset %llu",
                          file->name, ntk_popef_kind(type), (unsigned long long)offset);
}

/* Returns true if the sizes in a header add up. Every reader needs this to find the next blob. */
static bool parts_add_up(const struct ntk_opef_header *header)
{
    uint64_t sum = NTK_OPEF_HEADER_BYTES + ntk_opef_pad8(header->version_bytes);

    return header->info_bytes <= INT64_MAX - 8 &&
           !__builtin_add_overflow(sum, ntk_opef_pad8(header->info_bytes), &sum) &&
           !__builtin_add_overflow(sum, header->data_bytes, &sum) && sum == header->size;
}

static int opef1_read_head(const struct ntk_popef_file *file, uint64_t offset,
                           struct ntk_popef_head *out_head, struct popef_error *err)
{
    struct ntk_opef_header header;
    struct popef_blob *blob = &out_head->blob;
    uint64_t left = file->size - offset;
    size_t start_bytes = left < sizeof header ? (size_t)left : sizeof header;
    int ret = ntk_popef_file_read(file, offset, &header, start_bytes, err);

    if (ret < 0) {
        return ret;
    }
    /* Fewer than four bytes are not a magic number at the start of a file, and only a part of one
     * after a blob. */
    if (memcmp(header.magic, NTK_OPEF_MAGIC, start_bytes < 4 ? start_bytes : 4) != 0 ||
        (start_bytes < 4 && offset == 0)) {
        return ntk_popef_fail(err, POPEF_ERROR_MAGIC, offset,
                              "%s: not an OPEF file (Graphcore's own encoding is not supported)",
                              file->name);
    }
    if (start_bytes < sizeof header) {
        return truncated(file, offset, err);
    }
    header.format = le16toh(header.format);
    header.flags = le16toh(header.flags);
    header.type = le32toh(header.type);
    header.version_bytes = le32toh(header.version_bytes);
    header.size = le64toh(header.size);
    header.info_bytes = le64toh(header.info_bytes);
    header.data_bytes = le64toh(header.data_bytes);
    header.full_bytes = le64toh(header.full_bytes);

    bool is_compressed = header.flags & NTK_OPEF_FLAG_COMPRESSED;
    if (header.format != NTK_OPEF_FORMAT || header.flags & ~NTK_OPEF_FLAGS_KNOWN ||
        (is_compressed && header.type >= POPEF_BLOB_METADATA && header.type <= POPEF_BLOB_OPAQUE)) {
        return ntk_popef_fail(err, POPEF_ERROR_FORMAT, offset,
                              "%s: unsupported blob format %u at offset %llu", file->name,
                              header.format, (unsigned long long)offset);
    }
    if (!parts_add_up(&header) || header.size > left) {
        return truncated(file, offset, err);
    }
    if (header.version_bytes > POPEF_VERSION_BYTES_MAX ||
        header.info_bytes > POPEF_INFO_BYTES_MAX) {
        return bad_info(file, header.type, offset, err);
    }
    ret = ntk_popef_file_read(file, offset + NTK_OPEF_HEADER_BYTES, out_head->version,
                              header.version_bytes, err);
    if (ret < 0) {
        return ret;
    }
    out_head->version[header.version_bytes] = '\0';
    *blob = (struct popef_blob){
        .type = header.type,
        .offset = offset,
        .size = header.size,
        .name = "",
        .version = out_head->version,
        .is_compressed = is_compressed,
        .available_read_size = header.data_bytes,
        .data_size = header.full_bytes,
    };
    out_head->info_offset = offset + NTK_OPEF_HEADER_BYTES + ntk_opef_pad8(header.version_bytes);
    out_head->info_bytes = header.info_bytes;
    return 0;
}

/* ---- info sections ---- */

/* A cursor over the fields of an info section; an error or lack of memory persists. */
struct fields {
    struct ntk_cursor cursor;
    struct ntk_popef_arena *arena;
    bool is_bad;
    bool is_memory_out;
};

static bool fields_ok(const struct fields *fields)
{
    return ntk_cursor_ok(&fields->cursor) && !fields->is_bad && !fields->is_memory_out;
}

static void *field_memory(struct fields *fields, size_t bytes)
{
    void *memory = ntk_popef_arena_take(fields->arena, bytes);

    fields->is_memory_out = fields->is_memory_out || !memory;
    return memory;
}

/* Reads a text; "" after a failure. A NUL inside is an error, because it would hide the rest from
 * every user of the text. */
static const char *field_text(struct fields *fields)
{
    uint32_t bytes_count = ntk_cursor_u32(&fields->cursor);

    if (!fields_ok(fields) || bytes_count > POPEF_TEXT_BYTES_MAX) {
        fields->is_bad = true;
        return "";
    }
    const uint8_t *bytes = ntk_cursor_take(&fields->cursor, bytes_count);
    if (!bytes || memchr(bytes, 0, bytes_count)) {
        fields->is_bad = true;
        return "";
    }
    char *text = field_memory(fields, (size_t)bytes_count + 1);
    if (!text) {
        return "";
    }
    memcpy(text, bytes, bytes_count);
    return text;
}

static bool field_bool(struct fields *fields)
{
    uint8_t value = ntk_cursor_u8(&fields->cursor);

    fields->is_bad = fields->is_bad || value > 1;
    return value == 1;
}

static int64_t field_i64(struct fields *fields)
{
    return (int64_t)ntk_cursor_u64(&fields->cursor);
}

/* Reads the number of items that follow, each of at least this many bytes; 0 after a failure. */
static size_t field_count(struct fields *fields, size_t item_bytes_min)
{
    uint32_t count = ntk_cursor_u32(&fields->cursor);

    if (!fields_ok(fields) || count > POPEF_LIST_MAX ||
        count > ntk_cursor_left(&fields->cursor) / item_bytes_min) {
        fields->is_bad = true;
        return 0;
    }
    return count;
}

static struct popef_tensor_info field_tensor_info(struct fields *fields)
{
    struct popef_tensor_info info = { 0 };
    uint8_t type = ntk_cursor_u8(&fields->cursor);
    uint32_t rank = ntk_cursor_u32(&fields->cursor);

    if (type >= POPEF_DATA_TYPE_COUNT || rank > POPEF_RANK_MAX) {
        fields->is_bad = true;
        return info;
    }
    info.data_type = (enum popef_data_type)type;
    info.rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        info.shape[i] = field_i64(fields);
    }
    fields->is_bad = fields->is_bad || popef_tensor_info_size_in_bytes(&info) < 0;
    return info;
}

static struct popef_programs field_programs(struct fields *fields)
{
    size_t count = field_count(fields, sizeof(uint32_t));
    uint32_t *indices = count > 0 ? field_memory(fields, count * sizeof *indices) : NULL;

    for (size_t i = 0; indices && i < count; i++) {
        indices[i] = ntk_cursor_u32(&fields->cursor);
    }
    return (struct popef_programs){ indices, indices ? count : 0 };
}

static const struct popef_option *field_options(struct fields *fields, size_t *out_count)
{
    size_t count = field_count(fields, 8);
    struct popef_option *options = count > 0 ? field_memory(fields, count * sizeof *options) : NULL;

    for (size_t i = 0; options && i < count; i++) {
        options[i].name = field_text(fields);
        options[i].value = field_text(fields);
    }
    *out_count = options ? count : 0;
    return options;
}

static const struct popef_program_name *field_programs_map(struct fields *fields, size_t *out_count)
{
    size_t count = field_count(fields, 8);
    struct popef_program_name *map = count > 0 ? field_memory(fields, count * sizeof *map) : NULL;

    for (size_t i = 0; map && i < count; i++) {
        map[i].index = ntk_cursor_u32(&fields->cursor);
        map[i].name = field_text(fields);
        fields->is_bad = fields->is_bad || (i > 0 && map[i].index <= map[i - 1].index);
    }
    *out_count = map ? count : 0;
    return map;
}

/* Minimum: two texts, three bytes, repeats, a scalar's TensorInfo, an empty list. */
#define ANCHOR_BYTES_MIN (4 + 4 + 3 + 8 + 5 + 4)

static const struct popef_anchor *field_anchors(struct fields *fields, size_t *out_count)
{
    size_t count = field_count(fields, ANCHOR_BYTES_MIN);
    struct popef_anchor *anchors = count > 0 ? field_memory(fields, count * sizeof *anchors) : NULL;

    for (size_t i = 0; anchors && i < count && fields_ok(fields); i++) {
        struct popef_anchor *anchor = &anchors[i];

        anchor->name = field_text(fields);
        anchor->handle = field_text(fields);
        uint8_t type = ntk_cursor_u8(&fields->cursor);
        fields->is_bad = fields->is_bad || type > POPEF_TENSOR_OUTPUT;
        anchor->type = (enum popef_tensor_type)type;
        anchor->is_per_replica = field_bool(fields);
        anchor->use_remote_buffers = field_bool(fields);
        anchor->repeats = field_i64(fields);
        fields->is_bad = fields->is_bad || anchor->repeats < 0;
        anchor->tensor_info = field_tensor_info(fields);
        anchor->programs = field_programs(fields);
    }
    *out_count = anchors ? count : 0;
    return anchors;
}

static struct popef_metadata *field_metadata(struct fields *fields)
{
    struct popef_metadata *metadata = field_memory(fields, sizeof *metadata);

    if (!metadata) {
        return NULL;
    }
    metadata->executable = field_text(fields);
    metadata->replication_factor = field_i64(fields);
    metadata->num_ipus = field_i64(fields);
    metadata->ipu_version = field_i64(fields);
    metadata->is_inference = field_bool(fields);
    metadata->is_pod = field_bool(fields);
    metadata->num_processes = field_i64(fields);
    metadata->device_iterations = field_i64(fields);
    metadata->seed_handle = field_text(fields);
    metadata->engine_options = field_options(fields, &metadata->engine_option_count);
    metadata->device_options = field_options(fields, &metadata->device_option_count);
    metadata->program_flow.load = field_programs(fields);
    metadata->program_flow.main = field_programs(fields);
    metadata->program_flow.save = field_programs(fields);
    metadata->programs_map = field_programs_map(fields, &metadata->programs_map_count);
    metadata->anchors = field_anchors(fields, &metadata->anchor_count);
    return metadata;
}

/* Checks the rules for a blob's data, after its info is known. */
static int check_data(const struct ntk_popef_file *file, const struct ntk_popef_head *head,
                      const struct ntk_popef_info *info, struct popef_error *err)
{
    const struct popef_blob *blob = &head->blob;
    const char *name = blob->type == POPEF_BLOB_METADATA ? "metadata" : info->name;
    bool has_rule = true;
    uint64_t expected = 0;

    if (blob->type == POPEF_BLOB_TENSOR) {
        expected = (uint64_t)popef_tensor_info_size_in_bytes(&info->tensor_info);
    } else if (blob->type == POPEF_BLOB_FEED) {
        if (__builtin_mul_overflow((uint64_t)popef_tensor_info_size_in_bytes(&info->tensor_info),
                                   info->num_tensors, &expected)) {
            return bad_info(file, blob->type, blob->offset, err);
        }
    } else {
        has_rule = blob->type == POPEF_BLOB_METADATA;
    }
    /* Compare the stored size, then the declared one. */
    uint64_t actual = blob->available_read_size;
    if (!has_rule || actual == expected) {
        if (blob->is_compressed || blob->data_size == actual) {
            return 0;
        }
        expected = actual;
        actual = blob->data_size;
    }
    return ntk_popef_fail(err, POPEF_ERROR_DATA_SIZE, blob->offset,
                          "%s: %s: data size %llu, expected %llu", file->name, name,
                          (unsigned long long)actual, (unsigned long long)expected);
}

static int opef1_read_info(const struct ntk_popef_file *file, const struct ntk_popef_head *head,
                           struct ntk_popef_arena *arena, struct ntk_popef_info *out_info,
                           struct popef_error *err)
{
    size_t bytes_count = (size_t)head->info_bytes;
    uint8_t *bytes = malloc(bytes_count + 1);
    struct fields fields = { .arena = arena };
    struct ntk_popef_info info = { 0 };
    uint32_t type = head->blob.type;
    int ret;

    if (!bytes) {
        return ntk_popef_no_memory(err);
    }
    ret = ntk_popef_file_read(file, head->info_offset, bytes, bytes_count, err);
    if (ret < 0) {
        goto out;
    }
    ntk_cursor_init(&fields.cursor, bytes, bytes_count);
    if (type == POPEF_BLOB_METADATA) {
        info.metadata = field_metadata(&fields);
    } else {
        info.name = field_text(&fields);
    }
    if (type == POPEF_BLOB_TENSOR || type == POPEF_BLOB_FEED) {
        info.tensor_info = field_tensor_info(&fields);
    }
    if (type == POPEF_BLOB_FEED) {
        info.num_tensors = ntk_cursor_u64(&fields.cursor);
    }
    if (type == POPEF_BLOB_OPAQUE) {
        info.executable = field_text(&fields);
    }
    if (fields.is_memory_out) {
        ret = ntk_popef_no_memory(err);
    } else if (!fields_ok(&fields) || ntk_cursor_left(&fields.cursor) > 0) {
        ret = bad_info(file, type, head->blob.offset, err);
    } else if (type == POPEF_BLOB_EXECUTABLE && info.name[0] == '\0') {
        ret = ntk_popef_fail(err, POPEF_ERROR_NO_NAME, head->blob.offset,
                             "%s: executable without a name", file->name);
    } else if ((ret = check_data(file, head, &info, err)) == 0) {
        *out_info = info;
    }

out:
    free(bytes);
    return ret;
}

const struct ntk_popef_encoding ntk_popef_opef1 = {
    .name = "OPEF 1",
    .recognise = opef1_recognise,
    .read_head = opef1_read_head,
    .read_info = opef1_read_info,
};
