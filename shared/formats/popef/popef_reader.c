/* SPDX-License-Identifier: MIT */
/* popef_reader - the blobs of any number of files as one set of lists. */
#include <stdlib.h>
#include <string.h>

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/vec.h"
#include "shared/formats/popef/popef_private.h"

/* Tried in order; a new encoding is one more row. */
static const struct ntk_popef_encoding *const encodings[] = { &ntk_popef_opef1 };

/* Indices of a part's lists; unknown blobs come last. */
enum list { LIST_UNKNOWN = POPEF_BLOB_OPAQUE + 1, LIST_COUNT };

/* Data from one file. Records and texts are in an arena, so pointers to them stay valid. */
struct part {
    struct ntk_popef_file *file;
    struct ntk_popef_arena arena;
    struct ntk_vec lists[LIST_COUNT]; /* elements are pointers to records, by type */
    struct ntk_map names[LIST_COUNT]; /* names of executables, tensors and feeds */
};

struct popef_reader {
    struct ntk_vec parts; /* elements are pointers to struct part */
    size_t bytes;         /* total size of the parts' arenas */
};

/* Amount of the machine's memory that parsing leaves free, and the interval of checks. */
#define MEMORY_BYTES_LEFT ((uint64_t)128 << 20)
#define MEMORY_BYTES_STEP ((size_t)32 << 20)

const struct ntk_popef_encoding *ntk_popef_encoding_of(const struct ntk_popef_file *file,
                                                       struct popef_error *err)
{
    uint8_t start[64];
    size_t count = file->size < sizeof start ? (size_t)file->size : sizeof start;

    if (count == 0) {
        return encodings[0];
    }
    if (ntk_popef_file_read(file, 0, start, count, err) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        if (encodings[i]->recognise(start, count)) {
            return encodings[i];
        }
    }
    (void)ntk_popef_fail(err, POPEF_ERROR_MAGIC, 0,
                         "%s: not an OPEF file (Graphcore's own encoding is not supported)",
                         file->name);
    return NULL;
}

static void part_destroy(struct part *part)
{
    if (part) {
        for (size_t i = 0; i < LIST_COUNT; i++) {
            ntk_vec_fini(&part->lists[i]);
            ntk_map_fini(&part->names[i]);
        }
        ntk_popef_arena_fini(&part->arena);
        ntk_popef_file_release(part->file);
        free(part);
    }
}

static struct part *part_create(struct ntk_popef_file *file)
{
    struct part *part = calloc(1, sizeof *part);

    for (size_t i = 0; part && i < LIST_COUNT; i++) {
        ntk_vec_init(&part->lists[i], sizeof(void *));
    }
    if (part) {
        part->file = file;
    } else {
        ntk_popef_file_release(file);
    }
    return part;
}

static void *find(const struct popef_reader *reader, enum popef_blob_type type, const char *name)
{
    ntk_vec_each(struct part *, part, &reader->parts) {
        void *found = ntk_map_get(&(*part)->names[type], name);

        if (found) {
            return found;
        }
    }
    return NULL;
}

static void *at(const struct popef_reader *reader, size_t list, size_t index)
{
    ntk_vec_each(struct part *, part, &reader->parts) {
        const struct ntk_vec *records = &(*part)->lists[list];

        if (index < records->count) {
            return *(void **)ntk_vec_at(records, index);
        }
        index -= records->count;
    }
    return NULL;
}

static size_t count(const struct popef_reader *reader, size_t list)
{
    size_t sum = 0;

    ntk_vec_each(struct part *, part, &reader->parts) {
        sum += (*part)->lists[list].count;
    }
    return sum;
}

/* Adds a name that must be unique across all files. */
static int add_name(const struct popef_reader *reader, struct part *part, enum popef_blob_type type,
                    const char *name, void *record, uint64_t offset, struct popef_error *err)
{
    if (find(reader, type, name) || ntk_map_get(&part->names[type], name)) {
        return ntk_popef_fail(err,
                              type == POPEF_BLOB_EXECUTABLE ? POPEF_ERROR_DUPLICATE_EXECUTABLE
                                                            : POPEF_ERROR_DUPLICATE_TENSOR,
                              offset, "duplicate %s '%s'", ntk_popef_kind(type), name);
    }
    return ntk_map_put(&part->names[type], name, record) < 0 ? ntk_popef_no_memory(err) : 0;
}

static const size_t record_bytes[LIST_COUNT] = {
    [POPEF_BLOB_EXECUTABLE] = sizeof(struct popef_executable),
    [POPEF_BLOB_METADATA] = sizeof(struct popef_metadata_blob),
    [POPEF_BLOB_TENSOR] = sizeof(struct popef_tensor),
    [POPEF_BLOB_FEED] = sizeof(struct popef_feed),
    [POPEF_BLOB_OPAQUE] = sizeof(struct popef_opaque),
    [LIST_UNKNOWN] = sizeof(struct popef_blob),
};

static void record_fill(void *record, const struct ntk_popef_head *head,
                        const struct ntk_popef_info *info)
{
    struct popef_blob *blob = record; /* the first member of each record */

    *blob = head->blob;
    blob->name = info->name ? info->name : "";
    switch (head->blob.type) {
    case POPEF_BLOB_METADATA:
        ((struct popef_metadata_blob *)record)->metadata = *info->metadata;
        break;
    case POPEF_BLOB_TENSOR:
        ((struct popef_tensor *)record)->info =
            (struct popef_tensor_data_info){ info->name, info->tensor_info };
        break;
    case POPEF_BLOB_FEED:
        ((struct popef_feed *)record)->info =
            (struct popef_feed_data_info){ info->name, info->tensor_info, info->num_tensors };
        break;
    case POPEF_BLOB_OPAQUE:
        ((struct popef_opaque *)record)->executable = info->executable;
        break;
    default:
        break;
    }
}

static int parse_blob(const struct popef_reader *reader, struct part *part,
                      const struct ntk_popef_encoding *encoding, struct ntk_popef_head *head,
                      struct popef_error *err)
{
    bool is_known = head->blob.type <= POPEF_BLOB_OPAQUE;
    size_t list = is_known ? head->blob.type : LIST_UNKNOWN;
    struct ntk_popef_info info = { 0 };
    size_t version_bytes = strlen(head->version) + 1;
    void *record = ntk_popef_arena_take(&part->arena, record_bytes[list]);
    char *version = ntk_popef_arena_take(&part->arena, version_bytes);
    int ret = record && version ? 0 : ntk_popef_no_memory(err);

    if (ret == 0 && is_known) {
        ret = encoding->read_info(part->file, head, &part->arena, &info, err);
    }
    if (ret < 0 || !record || !version) {
        return ret;
    }
    memcpy(version, head->version, version_bytes);
    head->blob.version = version;
    head->blob.file = reader->parts.count;
    record_fill(record, head, &info);
    if (list == POPEF_BLOB_EXECUTABLE || list == POPEF_BLOB_TENSOR || list == POPEF_BLOB_FEED) {
        ret = add_name(reader, part, (enum popef_blob_type)list, info.name, record,
                       head->blob.offset, err);
    }
    if (ret == 0 && ntk_vec_push(&part->lists[list], &record) < 0) {
        ret = ntk_popef_no_memory(err);
    }
    ntk_popef_log(is_known ? POPEF_LOG_TRACE : POPEF_LOG_INFO,
                  "%s: %s blob of type %u, %llu bytes at offset %llu", part->file->name,
                  ntk_popef_kind(head->blob.type), head->blob.type,
                  (unsigned long long)head->blob.size, (unsigned long long)head->blob.offset);
    return ret;
}

/* Takes ownership of the file, even on failure. */
static int parse(struct popef_reader *reader, struct ntk_popef_file *file, struct popef_error *err)
{
    struct part *part = part_create(file);
    struct ntk_popef_head head;
    size_t next_look = MEMORY_BYTES_STEP;
    int ret = 0;

    if (!part) {
        return ntk_popef_no_memory(err);
    }
    const struct ntk_popef_encoding *encoding = ntk_popef_encoding_of(file, err);
    if (!encoding) {
        part_destroy(part);
        return err && err->code > 0 ? -err->code : -POPEF_ERROR_MAGIC;
    }
    for (uint64_t offset = 0; offset < file->size && ret == 0; offset += head.blob.size) {
        ret = encoding->read_head(file, offset, &head, err);
        if (ret == 0) {
            ret = parse_blob(reader, part, encoding, &head, err);
        }
        if (ret == 0 && part->arena.bytes > next_look) {
            next_look = part->arena.bytes + MEMORY_BYTES_STEP;
            if (ntk_memory_available() < MEMORY_BYTES_LEFT) {
                ret = ntk_popef_fail(err, POPEF_ERROR_MEMORY, offset,
                                     "%s: the blob descriptions do not fit in memory", file->name);
            }
        }
    }
    if (ret == 0 && ntk_vec_push(&reader->parts, &part) < 0) {
        ret = ntk_popef_no_memory(err);
    }
    if (ret < 0) {
        part_destroy(part);
        return ret;
    }
    ntk_popef_log(POPEF_LOG_DEBUG,
                  "%s: %s, %llu bytes: %zu executables, %zu metadata, %zu tensors, %zu feeds, %zu "
                  "opaque and %zu unknown blobs",
                  file->name, encoding->name, (unsigned long long)file->size,
                  part->lists[POPEF_BLOB_EXECUTABLE].count, part->lists[POPEF_BLOB_METADATA].count,
                  part->lists[POPEF_BLOB_TENSOR].count, part->lists[POPEF_BLOB_FEED].count,
                  part->lists[POPEF_BLOB_OPAQUE].count, part->lists[LIST_UNKNOWN].count);
    return 0;
}

int popef_reader_open(struct popef_reader **out_reader, struct popef_error *err)
{
    struct popef_reader *reader = calloc(1, sizeof *reader);

    if (!reader) {
        return ntk_popef_no_memory(err);
    }
    ntk_vec_init(&reader->parts, sizeof(struct part *));
    *out_reader = reader;
    return 0;
}

void popef_reader_close(struct popef_reader *reader)
{
    if (reader) {
        ntk_vec_each(struct part *, part, &reader->parts) {
            part_destroy(*part);
        }
        ntk_vec_fini(&reader->parts);
        free(reader);
    }
}

int popef_reader_parse_file(struct popef_reader *reader, const char *path, struct popef_error *err)
{
    struct popef_error own = { 0 };
    struct ntk_popef_file *file = NULL;
    int ret = ntk_popef_file_open(path, &file, err ? err : &own);

    return ret < 0 ? ret : parse(reader, file, err ? err : &own);
}

int popef_reader_parse_fd(struct popef_reader *reader, int fd, const char *name,
                          struct popef_error *err)
{
    struct popef_error own = { 0 };
    struct ntk_popef_file *file = NULL;
    int ret = ntk_popef_file_open_fd(fd, name, &file, err ? err : &own);

    return ret < 0 ? ret : parse(reader, file, err ? err : &own);
}

int popef_reader_parse_bytes(struct popef_reader *reader, const void *bytes, size_t bytes_count,
                             const char *name, struct popef_error *err)
{
    struct popef_error own = { 0 };
    struct ntk_popef_file *file = NULL;
    int ret = ntk_popef_file_open_bytes(bytes, bytes_count, name, &file, err ? err : &own);

    return ret < 0 ? ret : parse(reader, file, err ? err : &own);
}

size_t popef_reader_file_count(const struct popef_reader *reader)
{
    return reader->parts.count;
}

const char *popef_reader_file_name(const struct popef_reader *reader, size_t index)
{
    return index < reader->parts.count
               ? (*(struct part **)ntk_vec_at(&reader->parts, index))->file->name
               : NULL;
}

/* For each list: its length, and the record at an index. */
#define LIST(name, type, list)                                                          \
    size_t popef_reader_##name##_count(const struct popef_reader *reader)               \
    {                                                                                   \
        return count(reader, list);                                                     \
    }                                                                                   \
    const struct type *popef_reader_##name(const struct popef_reader *reader, size_t i) \
    {                                                                                   \
        return at(reader, list, i);                                                     \
    }

LIST(executable, popef_executable, POPEF_BLOB_EXECUTABLE)
LIST(metadata, popef_metadata_blob, POPEF_BLOB_METADATA)
LIST(tensor, popef_tensor, POPEF_BLOB_TENSOR)
LIST(feed, popef_feed, POPEF_BLOB_FEED)
LIST(opaque, popef_opaque, POPEF_BLOB_OPAQUE)
LIST(unknown, popef_blob, LIST_UNKNOWN)

const struct popef_executable *popef_reader_find_executable(const struct popef_reader *reader,
                                                            const char *name)
{
    return find(reader, POPEF_BLOB_EXECUTABLE, name);
}

const struct popef_tensor *popef_reader_find_tensor(const struct popef_reader *reader,
                                                    const char *name)
{
    return find(reader, POPEF_BLOB_TENSOR, name);
}

const struct popef_feed *popef_reader_find_feed(const struct popef_reader *reader, const char *name)
{
    return find(reader, POPEF_BLOB_FEED, name);
}

int popef_reader_open_stream(const struct popef_reader *reader, const struct popef_blob *blob,
                             struct popef_stream **out_stream, struct popef_error *err)
{
    if (blob->file >= reader->parts.count) {
        return ntk_popef_fail(err, POPEF_ERROR_ARGUMENT, POPEF_NO_OFFSET,
                              "the blob belongs to another reader");
    }
    struct part *part = *(struct part **)ntk_vec_at(&reader->parts, blob->file);
    return ntk_popef_stream_open(part->file, blob, out_stream, err);
}

int popef_walk_file(const char *path, int (*visit)(const struct popef_blob *blob, void *ctx),
                    void *ctx, struct popef_error *err)
{
    struct popef_error own = { 0 };
    struct ntk_popef_file *file = NULL;
    struct ntk_popef_head head;

    err = err ? err : &own;
    int ret = ntk_popef_file_open(path, &file, err);
    if (ret < 0) {
        return ret;
    }
    const struct ntk_popef_encoding *encoding = ntk_popef_encoding_of(file, err);
    if (!encoding) {
        ntk_popef_file_release(file);
        return -err->code;
    }
    for (uint64_t offset = 0; ret >= 0 && offset < file->size; offset += head.blob.size) {
        ret = encoding->read_head(file, offset, &head, err);
        if (ret == 0) {
            ret = visit(&head.blob, ctx);
        }
    }
    ntk_popef_file_release(file);
    return ret < 0 ? ret : 0;
}
