/* SPDX-License-Identifier: MIT */
/*
 * run - a model of PopEF files on NeuronCores: the programs of its executable, the device, sources
 * and destinations of data, and the flow from load to save.
 *
 * Owner:   caller's storage; each _open or _read has its _close or _fini, which accepts zeroed
 *          structs.
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
    const uint8_t *neff; /* of the archive */
    size_t neff_bytes;
    uint32_t core_count; /* required cores, by its header */
};

struct run_programs {
    struct ntk_tar archive;
    struct ntk_vec list; /* struct run_program */
};

/* Reads and decompresses the executable's archive; rejects one with any other content. */
int run_programs_read(const struct popef_reader *reader, const struct popef_blob *executable,
                      struct run_programs *out, struct ntk_err *err);
const struct run_program *run_programs_find(const struct run_programs *programs, uint32_t index);
void run_programs_fini(struct run_programs *programs);

/* ---- anchors ---- */

/* Finds an anchor of this type by its handle; NULL if unknown. */
const struct popef_model_anchor *run_anchor_find(const struct popef_model *model,
                                                 const char *handle, enum popef_tensor_type type);
bool run_anchor_lists(const struct popef_anchor *anchor, uint32_t program);
/* Its bytes on one replica, including repeats; 0 if the shape does not match the size. */
uint64_t run_anchor_replica_bytes(const struct popef_anchor *anchor,
                                  const struct popef_metadata *metadata, uint64_t *out_one_bytes);

/* ---- the device ---- */

/* The memory of a handle on one replica. Repeats that a program uses one by one are parts. */
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
    struct ntk_nrt_io io;        /* its tensors are the parts of buffers */
    struct run_buffer **buffers; /* by info */
};

/* A weight that a program reads by one handle and writes by another: after an execution the next
 * one reads what was written, without leaving the device. */
struct run_pair {
    struct run_buffer *in, *out;
};

struct run_replica {
    uint32_t core;
    struct ntk_vec models;  /* struct run_model */
    struct ntk_map buffers; /* by handle; struct run_buffer */
    struct ntk_vec pairs;   /* struct run_pair */
};

struct run_device {
    struct ntk_nrt nrt;
    bool is_initialised;
    const struct popef_model *model;
    struct run_replica *replicas;
    uint32_t replica_count;
    uint64_t executions, numerical_errors;
};

/* nrt is open and initialised; loads each program on the cores of each replica. */
int run_device_open(struct run_device *device, const struct run_programs *programs,
                    struct ntk_err *err);
void run_device_close(struct run_device *device);
/* Whether a program has a tensor of this handle. */
bool run_device_has(const struct run_device *device, const char *handle);
int run_device_write(struct run_device *device, uint32_t replica, const char *handle,
                     const uint8_t *bytes, uint64_t bytes_count, struct ntk_err *err);
int run_device_read(struct run_device *device, uint32_t replica, const char *handle, uint8_t *to,
                    uint64_t bytes_count, struct ntk_err *err);
/* On all replicas in parallel; iteration selects the part of data with several parts. */
int run_device_execute(struct run_device *device, uint32_t program, uint64_t iteration,
                       struct ntk_err *err);

/* ---- input data ---- */

/* A file given by the caller for an input. */
struct run_given {
    const char *name;
    const char *path;
};

struct run_source {
    const struct popef_anchor *anchor;
    struct popef_stream *stream; /* of a tensor or feed; NULL: file */
    int file;                    /* -1: stream */
    const char *path;
    uint64_t offset, total_bytes; /* of the data */
    uint64_t item_bytes;          /* for one iteration of all replicas */
    uint64_t next;                /* item */
    bool is_constant;             /* a tensor: the same item each time */
    bool is_streamed;             /* a main program moves it */
    uint8_t *item;
};

/* Opens a tensor, a feed, or the given file; -ENODATA if nothing feeds the anchor. */
int run_source_open(struct run_source *source, const struct popef_reader *reader,
                    const struct popef_model_anchor *anchor, const struct popef_metadata *metadata,
                    const char *path, uint64_t seed, bool has_seed, struct ntk_err *err);
void run_source_close(struct run_source *source);
/* The number of items, including an incomplete last one; UINT64_MAX for a constant. */
uint64_t run_source_items(const struct run_source *source);
/* The next item, in source->item; zeros after the end of the data. */
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
/* Writes the header and moves the file into place. */
int run_output_commit(struct run_output *output, struct ntk_err *err);
void run_output_close(struct run_output *output);
/* The file's name without folder, freed with free(). */
char *run_output_name(const struct popef_anchor *anchor, bool by_handle);

/* ---- the flow ---- */

struct run_options {
    const struct run_given *given;
    size_t given_count;
    const char *folder; /* of the outputs */
    uint64_t calls;     /* maximum; 0: as many as there is data for */
    bool has_seed;
    uint64_t seed;
    const volatile sig_atomic_t *stop; /* stops the main calls */
};

struct run_result {
    uint64_t calls, iterations;
    struct ntk_vec outputs; /* struct run_output, committed */
};

/* Runs load once, main for each call, save once. */
int run_flow(struct run_device *device, const struct popef_reader *reader,
             const struct run_programs *programs, const struct run_options *options,
             struct run_result *out_result, struct ntk_err *err);
void run_result_fini(struct run_result *result);

#endif
