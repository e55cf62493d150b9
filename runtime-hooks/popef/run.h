/* SPDX-License-Identifier: MIT */
/*
 * run - runs a model of PopEF files on NeuronCores: the programs of its executable, the device,
 * sources and destinations of data, and the flow from load to save.
 *
 * Owner:   the caller provides the storage; each _open or _read has a _close or _fini, which
 *          accepts zeroed structs.
 * Threads: one; run_device_execute() runs the replicas in parallel.
 */
#ifndef NTK_RUNTIME_HOOKS_POPEF_RUN_H
#define NTK_RUNTIME_HOOKS_POPEF_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/nrt/nrt_io.h"
#include "shared/base/fs.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/popef/popef.h"

#define RUN_REPLICAS_MAX 256

/* ---- programs of an executable ---- */

enum run_kind { RUN_COPY_IN, RUN_COPY_OUT, RUN_NEFF };

struct run_program {
    uint32_t index;
    enum run_kind kind;
    const uint8_t *neff; /* bytes in the archive */
    size_t neff_bytes;
    uint32_t core_count; /* number of cores that its header requires */
};

struct run_programs {
    struct ntk_tar archive;
    struct ntk_vec list; /* elements are struct run_program */
};

/* Reads and decompresses the executable's archive; rejects an archive with any other content. */
int run_programs_read(const struct popef_reader *reader, const struct popef_blob *executable,
                      struct run_programs *out, struct ntk_err *err);
const struct run_program *run_programs_find(const struct run_programs *programs, uint32_t index);
void run_programs_fini(struct run_programs *programs);

/* ---- anchors ---- */

/* Finds an anchor of this type by its handle; NULL if unknown. */
const struct popef_model_anchor *run_anchor_find(const struct popef_model *model,
                                                 const char *handle, enum popef_tensor_type type);
bool run_anchor_lists(const struct popef_anchor *anchor, uint32_t program);
/* Returns its bytes on one replica, including repeats; 0 if the shape does not match the size. */
uint64_t run_anchor_replica_bytes(const struct popef_anchor *anchor,
                                  const struct popef_metadata *metadata, uint64_t *out_one_bytes);

/* ---- the device ---- */

/* The memory of a handle on one replica. Repeats that a program uses one by one are separate
 * parts. */
struct run_buffer {
    char *handle;
    size_t part_bytes;
    uint32_t part_count;
    nrt_tensor_t **parts;
    bool is_paired;
};

struct run_model {
    const struct run_program *program;
    nrt_model_t *model;
    struct ntk_nrt_io io;        /* tensors are the parts of buffers */
    struct run_buffer **buffers; /* buffers by index of the info */
};

/* A weight that a program reads by one handle and writes by another: the next execution reads the
 * written value, which stays on the device. */
struct run_pair {
    struct run_buffer *in, *out;
};

struct run_replica {
    uint32_t core;
    struct ntk_vec models;  /* elements are struct run_model */
    struct ntk_map buffers; /* keyed by handle; values are struct run_buffer */
    struct ntk_vec pairs;   /* elements are struct run_pair */
};

struct run_device {
    struct ntk_nrt nrt;
    bool is_initialised;
    const struct popef_model *model;
    struct run_replica *replicas;
    uint32_t replica_count;
    uint64_t executions, numerical_errors;
};

/* Loads each program on the cores of each replica. nrt must be open and initialised. */
int run_device_open(struct run_device *device, const struct run_programs *programs,
                    struct ntk_err *err);
void run_device_close(struct run_device *device);
/* Returns true if a program has a tensor with this handle. */
bool run_device_has(const struct run_device *device, const char *handle);
int run_device_write(struct run_device *device, uint32_t replica, const char *handle,
                     const uint8_t *bytes, uint64_t bytes_count, struct ntk_err *err);
int run_device_read(struct run_device *device, uint32_t replica, const char *handle, uint8_t *to,
                    uint64_t bytes_count, struct ntk_err *err);
/* Executes on all replicas in parallel; iteration selects the part of data with several parts. */
int run_device_execute(struct run_device *device, uint32_t program, uint64_t iteration,
                       struct ntk_err *err);

/* ---- input data ---- */

/* A file that the caller provides for an input. */
struct run_given {
    const char *name;
    const char *path;
};

struct run_source {
    const struct popef_anchor *anchor;
    struct popef_stream *stream; /* stream of a tensor or feed; NULL for a file */
    int file;                    /* -1 for a stream */
    const char *path;
    uint64_t offset, total_bytes; /* position and size of the data */
    uint64_t item_bytes;          /* bytes for one iteration on all replicas */
    uint64_t next;                /* number of the next item */
    bool is_constant;             /* a tensor, with the same item each time */
    bool is_streamed;             /* moved by a main program */
    uint8_t *item;
};

/* Opens a tensor, a feed, or the given file; -ENODATA if the anchor has no data. */
int run_source_open(struct run_source *source, const struct popef_reader *reader,
                    const struct popef_model_anchor *anchor, const struct popef_metadata *metadata,
                    const char *path, uint64_t seed, bool has_seed, struct ntk_err *err);
void run_source_close(struct run_source *source);
/* Returns the number of items, including an incomplete last one; UINT64_MAX for a constant. */
uint64_t run_source_items(const struct run_source *source);
/* Reads the next item into source->item; zeros after the end of the data. */
int run_source_take(struct run_source *source, struct ntk_err *err);

/* ---- output data ---- */

struct run_output {
    const struct popef_anchor *anchor;
    struct ntk_fs_replace replace;
    char *path;
    bool is_counted; /* the first dimension counts the items */
    uint64_t items;
    uint64_t item_bytes;
    uint8_t *item;
};

/* is_taken: another output already has this file name. */
int run_output_open(struct run_output *output, const struct popef_anchor *anchor,
                    const char *folder, bool is_counted, bool is_taken, struct ntk_err *err);
int run_output_add(struct run_output *output, struct ntk_err *err);
/* Writes the header and renames the file to its final name. */
int run_output_commit(struct run_output *output, struct ntk_err *err);
void run_output_close(struct run_output *output);
/* Returns the name of the file without folder; the caller frees it with free(). */
char *run_output_name(const struct popef_anchor *anchor, bool by_handle);

/* ---- the flow ---- */

struct run_options {
    const struct run_given *given;
    size_t given_count;
    const char *folder; /* folder for the outputs */
    uint64_t calls;     /* maximum; 0 uses all data */
    bool has_seed;
    uint64_t seed;
    const volatile sig_atomic_t *stop; /* stops the main calls */
};

struct run_result {
    uint64_t calls, iterations;
    struct ntk_vec outputs; /* elements are struct run_output, committed */
};

/* Runs load once, main for each call, then save once. */
int run_flow(struct run_device *device, const struct popef_reader *reader,
             const struct run_programs *programs, const struct run_options *options,
             struct run_result *out_result, struct ntk_err *err);
void run_result_fini(struct run_result *result);

#endif
