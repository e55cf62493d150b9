/* SPDX-License-Identifier: MIT */
/*
 * popef - files that carry executables, tensors and feeds: the Poplar Exchange Format's data model
 * as a C library.
 *
 * A file is a sequence of independent blobs, each with a header and content. This library reads and
 * writes them in its own declared encoding, OPEF 1 (docs/formats/popef.md); the vendor's own bytes
 * are not public and are not read. Names follow the vendor's C++ classes: Reader, Writer,
 * BlobWriter, Model.
 *
 *   struct popef_reader *reader = NULL;
 *   struct popef_error err = { 0 };
 *   if (popef_reader_open(&reader, &err) < 0 ||
 *       popef_reader_parse_file(reader, "executable.popef", &err) < 0) {
 *       fprintf(stderr, "%s\n", err.text);
 *   }
 *   for (size_t i = 0; i < popef_reader_tensor_count(reader); i++) {
 *       puts(popef_reader_tensor(reader, i)->info.name);
 *   }
 *   popef_reader_close(reader);
 *
 * Results: 0 or more is success, a negative number is -(enum popef_error_code) and err, where not
 *          NULL, holds the message. Output parameters are set only on success.
 * Owner:   _close() frees the results of _open() and accepts NULL. Results of a reader are borrowed
 *          from it and live as long as the reader.
 * Threads: one at a time per object. Streams of one reader may be used by
 *          different threads, and outlive the reader.
 */
#ifndef POPEF_H
#define POPEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POPEF_VERSION_MAJOR 1
#define POPEF_VERSION_MINOR 0

#if defined(__GNUC__)
#define POPEF_API __attribute__((visibility("default")))
#else
#define POPEF_API
#endif

/* ---- errors ---- */

/* Codes 1 to 13 belong to the encoding's description; the others concern the calls. */
enum popef_error_code {
    POPEF_ERROR_NONE = 0,
    POPEF_ERROR_OPEN = 1,                 /* the file cannot be opened */
    POPEF_ERROR_MAGIC = 2,                /* not an OPEF file */
    POPEF_ERROR_TRUNCATED = 3,            /* a header or a blob extends beyond the end */
    POPEF_ERROR_FORMAT = 4,               /* unknown header format or flags */
    POPEF_ERROR_INFO = 5,                 /* a malformed info section */
    POPEF_ERROR_DATA_SIZE = 6,            /* size differs from the description */
    POPEF_ERROR_NO_NAME = 7,              /* an executable without a name */
    POPEF_ERROR_DUPLICATE_EXECUTABLE = 8, /* two executables have the same name */
    POPEF_ERROR_ABSENT_EXECUTABLE = 9, /* metadata or an opaque blob names an absent executable */
    POPEF_ERROR_INACTIVE = 10,    /* the blob writer is inactive because another one was created */
    POPEF_ERROR_COMPRESSION = 11, /* compressed data is damaged, or has a wrong length */
    POPEF_ERROR_ANCHOR = 12,      /* a tensor or feed does not match its anchor */
    POPEF_ERROR_DUPLICATE_TENSOR = 13, /* two tensors, or two feeds, have the same name */
    POPEF_ERROR_IO = 100,              /* reading or writing failed */
    POPEF_ERROR_MEMORY = 101,          /* not enough memory */
    POPEF_ERROR_ARGUMENT = 102,        /* an invalid call */
    POPEF_ERROR_MODEL = 103,           /* no model can be built: none or several candidates */
};

#define POPEF_ERROR_TEXT_BYTES 512
#define POPEF_NO_OFFSET UINT64_MAX

struct popef_error {
    int code;                          /* enum popef_error_code */
    uint64_t offset;                   /* position in the file, or POPEF_NO_OFFSET */
    char text[POPEF_ERROR_TEXT_BYTES]; /* message that is safe to print */
};

/* ---- the data model ---- */

enum popef_blob_type {
    POPEF_BLOB_EXECUTABLE = 0,
    POPEF_BLOB_METADATA = 1,
    POPEF_BLOB_TENSOR = 2,
    POPEF_BLOB_FEED = 3,
    POPEF_BLOB_OPAQUE = 4,
};

enum popef_data_type {
    POPEF_BOOL = 0,
    POPEF_F8 = 1,
    POPEF_F16 = 2,
    POPEF_F32 = 3,
    POPEF_F64 = 4,
    POPEF_S8 = 5,
    POPEF_U8 = 6,
    POPEF_S16 = 7,
    POPEF_U16 = 8,
    POPEF_S32 = 9,
    POPEF_U32 = 10,
    POPEF_S64 = 11,
    POPEF_U64 = 12,
    POPEF_F8143 = 13,
    POPEF_F8152 = 14,
};
#define POPEF_DATA_TYPE_COUNT 15

enum popef_tensor_type {
    POPEF_TENSOR_UNKNOWN = 0,
    POPEF_TENSOR_INPUT = 1,
    POPEF_TENSOR_OUTPUT = 2,
};

/* Limits for reading and writing. */
#define POPEF_RANK_MAX 16
#define POPEF_TEXT_BYTES_MAX (64u << 10)
#define POPEF_LIST_MAX 65536u
#define POPEF_INFO_BYTES_MAX (16u << 20)
#define POPEF_VERSION_BYTES_MAX 255u

/* A name such as "F32"; NULL if it is not a type. Static. */
POPEF_API const char *popef_data_type_name(enum popef_data_type type);
/* Bytes per element; 0 if it is not a type. */
POPEF_API size_t popef_data_type_size(enum popef_data_type type);
/* Finds a type by name; -POPEF_ERROR_ARGUMENT if there is none. */
POPEF_API int popef_data_type_find(const char *name, enum popef_data_type *out_type);

struct popef_tensor_info {
    enum popef_data_type data_type;
    uint32_t rank; /* 0: a scalar with one element */
    int64_t shape[POPEF_RANK_MAX];
};

/* The product of the shape and the type's size; -1 for a negative dimension or if int64_t
 * overflows. */
POPEF_API int64_t popef_tensor_info_size_in_bytes(const struct popef_tensor_info *info);
POPEF_API bool popef_tensor_info_equal(const struct popef_tensor_info *a,
                                       const struct popef_tensor_info *b);

struct popef_option {
    const char *name;
    const char *value;
};

struct popef_programs {
    const uint32_t *indices;
    size_t count;
};

struct popef_program_flow {
    struct popef_programs load; /* run once at the start */
    struct popef_programs main; /* run for each input */
    struct popef_programs save; /* run once at the end */
};

struct popef_program_name {
    uint32_t index;
    const char *name;
};

struct popef_anchor {
    const char *name;                     /* name of its tensor or feed blob, if it has one */
    const char *handle;                   /* name that the executable uses for it */
    struct popef_tensor_info tensor_info; /* has the extended shape, see below */
    bool is_per_replica;
    enum popef_tensor_type type;
    struct popef_programs programs; /* programs that move the data */
    bool use_remote_buffers;
    int64_t repeats; /* not negative */
};

struct popef_metadata {
    const char *executable;
    int64_t replication_factor;
    int64_t num_ipus;
    int64_t ipu_version;
    int64_t num_processes;
    int64_t device_iterations;
    bool is_inference;
    bool is_pod;
    const char *seed_handle;
    const struct popef_option *engine_options;
    size_t engine_option_count;
    const struct popef_option *device_options;
    size_t device_option_count;
    struct popef_program_flow program_flow;
    const struct popef_program_name *programs_map; /* sorted by index, ascending */
    size_t programs_map_count;
    const struct popef_anchor *anchors;
    size_t anchor_count;
};

struct popef_tensor_data_info {
    const char *name;
    struct popef_tensor_info tensor_info;
};

struct popef_feed_data_info {
    const char *name;
    struct popef_tensor_info tensor_info; /* describes one tensor */
    uint64_t num_tensors;
};

/* ---- shapes (a per-replica tensor and a remote buffer contain more than one tensor) ---- */

/* Extends a shape: [replication_factor if per replica and above 1] ++ [repeats if remote and above
 * 1] ++ shape. Returns -POPEF_ERROR_ARGUMENT if that has more than POPEF_RANK_MAX dimensions. */
POPEF_API int popef_tensor_info_extend(const struct popef_tensor_info *info,
                                       int64_t replication_factor, bool is_per_replica,
                                       bool use_remote_buffers, int64_t repeats,
                                       struct popef_tensor_info *out_info);
/* The tensor_info of an anchor without the added dimensions; -POPEF_ERROR_ARGUMENT if it lacks
 * them. */
POPEF_API int popef_anchor_unextended(const struct popef_anchor *anchor, int64_t replication_factor,
                                      struct popef_tensor_info *out_info);
/* The outermost dimension of the unextended shape; 1 for a scalar; -1 if the shape does not match
 * the anchor. */
POPEF_API int64_t popef_anchor_batch_size(const struct popef_anchor *anchor,
                                          int64_t replication_factor);
/* device_iterations * replication_factor * batch size, multiplied by gradient_accumulation for
 * training; -1 on overflow or if the shape does not match the anchor. */
POPEF_API int64_t popef_anchor_elements_per_call(const struct popef_anchor *anchor,
                                                 const struct popef_metadata *metadata,
                                                 int64_t gradient_accumulation);

/* ---- reading ---- */

struct popef_reader; /* opaque */
struct popef_stream; /* opaque */

/* The common part of all blobs. */
struct popef_blob {
    uint32_t type;    /* enum popef_blob_type, or an unknown number */
    size_t file;      /* index of the file in parsing order */
    uint64_t offset;  /* position of its header in the file */
    uint64_t size;    /* header and content; the next blob begins after them */
    const char *name; /* "" for metadata and unknown blobs */
    const char *version;
    bool is_compressed;
    uint64_t available_read_size; /* stored bytes */
    uint64_t data_size;           /* bytes that a stream returns */
};

struct popef_executable {
    struct popef_blob blob;
};

struct popef_metadata_blob {
    struct popef_blob blob;
    struct popef_metadata metadata;
};

struct popef_tensor {
    struct popef_blob blob;
    struct popef_tensor_data_info info;
};

struct popef_feed {
    struct popef_blob blob;
    struct popef_feed_data_info info;
};

struct popef_opaque {
    struct popef_blob blob;
    const char *executable;
};

POPEF_API int popef_reader_open(struct popef_reader **out_reader, struct popef_error *err);
POPEF_API void popef_reader_close(struct popef_reader *reader);

/* Parse one file and add its blobs to the existing ones; a file with an error adds nothing. Data is
 * not read; the file stays open until the reader and its streams are closed. */
POPEF_API int popef_reader_parse_file(struct popef_reader *reader, const char *path,
                                      struct popef_error *err);
/* Parses a file that is open for reading and seekable; the reader duplicates the descriptor. name
 * is used in error messages. */
POPEF_API int popef_reader_parse_fd(struct popef_reader *reader, int fd, const char *name,
                                    struct popef_error *err);
/* Parses bytes in memory, borrowed until the reader and all of its streams are closed. */
POPEF_API int popef_reader_parse_bytes(struct popef_reader *reader, const void *bytes,
                                       size_t bytes_count, const char *name,
                                       struct popef_error *err);

POPEF_API size_t popef_reader_file_count(const struct popef_reader *reader);
POPEF_API const char *popef_reader_file_name(const struct popef_reader *reader, size_t index);

/* Blobs by kind, in file order; NULL for an index that is too large. */
POPEF_API size_t popef_reader_executable_count(const struct popef_reader *reader);
POPEF_API const struct popef_executable *popef_reader_executable(const struct popef_reader *reader,
                                                                 size_t index);
POPEF_API size_t popef_reader_metadata_count(const struct popef_reader *reader);
POPEF_API const struct popef_metadata_blob *popef_reader_metadata(const struct popef_reader *reader,
                                                                  size_t index);
POPEF_API size_t popef_reader_tensor_count(const struct popef_reader *reader);
POPEF_API const struct popef_tensor *popef_reader_tensor(const struct popef_reader *reader,
                                                         size_t index);
POPEF_API size_t popef_reader_feed_count(const struct popef_reader *reader);
POPEF_API const struct popef_feed *popef_reader_feed(const struct popef_reader *reader,
                                                     size_t index);
POPEF_API size_t popef_reader_opaque_count(const struct popef_reader *reader);
POPEF_API const struct popef_opaque *popef_reader_opaque(const struct popef_reader *reader,
                                                         size_t index);
/* Blobs of a type that this library does not support. */
POPEF_API size_t popef_reader_unknown_count(const struct popef_reader *reader);
POPEF_API const struct popef_blob *popef_reader_unknown(const struct popef_reader *reader,
                                                        size_t index);

/* Find a blob by name; NULL if there is none. */
POPEF_API const struct popef_executable *
popef_reader_find_executable(const struct popef_reader *reader, const char *name);
POPEF_API const struct popef_tensor *popef_reader_find_tensor(const struct popef_reader *reader,
                                                              const char *name);
POPEF_API const struct popef_feed *popef_reader_find_feed(const struct popef_reader *reader,
                                                          const char *name);

/* Opens a separate stream over a blob's data, from its beginning; compressed data is inflated while
 * reading, in constant memory. */
POPEF_API int popef_reader_open_stream(const struct popef_reader *reader,
                                       const struct popef_blob *blob,
                                       struct popef_stream **out_stream, struct popef_error *err);
/* Returns the number of bytes read: fewer than requested only if the data ends, 0 at the end.
 * Returns -POPEF_ERROR_COMPRESSION if compressed data is damaged or its length differs from the
 * announced one; no byte beyond that length is returned. */
POPEF_API int64_t popef_stream_read(struct popef_stream *stream, void *to, size_t bytes_count,
                                    struct popef_error *err);
/* Moves to a byte position from the beginning; not possible for compressed data. */
POPEF_API int popef_stream_seek(struct popef_stream *stream, uint64_t position,
                                struct popef_error *err);
/* The number of bytes in total, and of those left. */
POPEF_API uint64_t popef_stream_size(const struct popef_stream *stream);
POPEF_API uint64_t popef_stream_left(const struct popef_stream *stream);
POPEF_API void popef_stream_close(struct popef_stream *stream);

/* Reads a file's headers, in constant memory for any number of blobs: calls visit for each blob,
 * without its name and valid during the call. A negative number from visit stops the walk and is
 * the result. Info sections and data are not checked. */
POPEF_API int popef_walk_file(const char *path,
                              int (*visit)(const struct popef_blob *blob, void *ctx), void *ctx,
                              struct popef_error *err);

/* ---- models: the parts of one executable ---- */

struct popef_model; /* opaque */

/* An anchor and the blob with its data; without a blob, the caller provides the data. */
struct popef_model_anchor {
    const struct popef_anchor *anchor;
    const struct popef_tensor *tensor; /* NULL if there is none */
    const struct popef_feed *feed;     /* NULL if there is none */
};

/* executable is a name, or NULL if the reader has exactly one. Fails when metadata or an opaque
 * blob of the reader names an executable that is absent, when the executable has no metadata or
 * several, and when a tensor or feed has another shape or type than its anchor (a feed may have the
 * unextended one). The model borrows from the reader. */
POPEF_API int popef_model_open(const struct popef_reader *reader, const char *executable,
                               struct popef_model **out_model, struct popef_error *err);
POPEF_API void popef_model_close(struct popef_model *model);
POPEF_API const struct popef_executable *popef_model_executable(const struct popef_model *model);
POPEF_API const struct popef_metadata *popef_model_metadata(const struct popef_model *model);
POPEF_API size_t popef_model_anchor_count(const struct popef_model *model);
POPEF_API const struct popef_model_anchor *popef_model_anchor(const struct popef_model *model,
                                                              size_t index);

/* ---- writing ---- */

struct popef_writer;      /* opaque */
struct popef_blob_writer; /* opaque */

enum popef_writer_mode {
    POPEF_WRITER_CREATE, /* a new file, which appears or replaces the old one when closed */
    POPEF_WRITER_APPEND, /* adds blobs to a valid file, or to a new one */
};

POPEF_API int popef_writer_open(const char *path, enum popef_writer_mode mode,
                                struct popef_writer **out_writer, struct popef_error *err);
/* Writes into a regular file that is open for reading and writing, after its content; the caller
 * keeps the descriptor. name is used in error messages. */
POPEF_API int popef_writer_open_fd(int fd, const char *name, struct popef_writer **out_writer,
                                   struct popef_error *err);
/* Begin a blob; its data is written with the blob writer. Only one blob writer is active: the next
 * blob finishes the previous one. A blob that cannot be finished (a tensor of a different size from
 * its description) is removed, and the call that should have finished it fails. */
POPEF_API int popef_writer_create_executable(struct popef_writer *writer, const char *name,
                                             bool compress, struct popef_blob_writer **out_blob,
                                             struct popef_error *err);
POPEF_API int popef_writer_create_opaque_blob(struct popef_writer *writer, const char *name,
                                              const char *executable,
                                              struct popef_blob_writer **out_blob,
                                              struct popef_error *err);
POPEF_API int popef_writer_create_tensor_data(struct popef_writer *writer,
                                              const struct popef_tensor_data_info *info,
                                              struct popef_blob_writer **out_blob,
                                              struct popef_error *err);
POPEF_API int popef_writer_create_feed_data(struct popef_writer *writer,
                                            const struct popef_feed_data_info *info,
                                            struct popef_blob_writer **out_blob,
                                            struct popef_error *err);
/* Writes a complete blob; the list of programs may be in any order. */
POPEF_API int popef_writer_write_metadata(struct popef_writer *writer,
                                          const struct popef_metadata *metadata,
                                          struct popef_error *err);
/* Finishes the last blob and the file. Always frees the writer. */
POPEF_API int popef_writer_close(struct popef_writer *writer, struct popef_error *err);
/* Frees the writer; a new file is removed, and an appended one is restored. */
POPEF_API void popef_writer_abort(struct popef_writer *writer);

POPEF_API int popef_blob_writer_write(struct popef_blob_writer *blob, const void *bytes,
                                      size_t bytes_count, struct popef_error *err);
/* Finishes the blob if it is the active one, and frees the blob writer; blob writers that are never
 * closed are freed with the writer. */
POPEF_API int popef_blob_writer_close(struct popef_blob_writer *blob, struct popef_error *err);

/* ---- the library's log ---- */

/* POPEF_LOG_LEVEL (OFF ERR WARN INFO DEBUG TRACE; default WARN) and POPEF_LOG_DEST (stdout, stderr
 * or a file; default stderr) control what is logged and where. This function overrides the
 * level. */
enum popef_log_level {
    POPEF_LOG_OFF,
    POPEF_LOG_ERR,
    POPEF_LOG_WARN,
    POPEF_LOG_INFO,
    POPEF_LOG_DEBUG,
    POPEF_LOG_TRACE,
};
POPEF_API void popef_log_set_level(enum popef_log_level level);

#ifdef __cplusplus
}
#endif
#endif
