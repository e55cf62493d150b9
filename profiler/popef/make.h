/* SPDX-License-Identifier: MIT */
/*
 * make - creates a PopEF file from a description: JSON to structs, additions of a producer, structs
 * to blobs.
 *
 * Owner:   make_description_read() fills a description, make_description_fini() frees it with its
 *          texts.
 * Threads: one.
 */
#ifndef NTK_PROFILER_POPEF_MAKE_H
#define NTK_PROFILER_POPEF_MAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/formats/popef/popef.h"

/* A program in a runnable executable (programs.json in docs/formats/popef.md). */
struct make_program {
    uint32_t index;
    const char *kind;     /* "copy_in", "copy_out" or "neff" */
    const char *file;     /* file of a neff */
    const uint8_t *bytes; /* bytes of the NEFF, if it is not a file */
    size_t bytes_count;
};

/* Source of a blob's data: a file from an offset on, or values in the description. */
struct make_data {
    const char *name;
    struct popef_tensor_info info; /* for a tensor, or one tensor of a feed */
    uint64_t num_tensors;          /* for a feed */
    const char *executable;        /* for an opaque blob */
    char *path;                    /* NULL if bytes is set */
    uint64_t offset, bytes_count;
    uint8_t *bytes; /* NULL if path is set */
};

struct make_profile;

struct make_description {
    json_t *root;
    char *folder; /* folder of the description, base of relative file names */
    const struct make_profile *profile;
    const char *executable; /* NULL if no executable is written */
    char hash[24];          /* default name */
    bool compress;
    char *executable_path;   /* NULL if programs is used */
    struct ntk_vec programs; /* elements are struct make_program */
    bool has_metadata;
    bool has_rng_state, has_cycle_counters;
    struct popef_metadata metadata; /* its lists belong to the vectors below */
    struct ntk_vec engine_options, device_options, programs_map, anchors;
    struct ntk_vec load, main, save;        /* elements are uint32_t */
    struct ntk_vec tensors, feeds, opaques; /* elements are struct make_data */
    struct ntk_vec owned;                   /* elements are pointers for free() */
};

/* text: the JSON; folder: base of its file names. */
int make_description_read(const char *text, size_t bytes_count, const char *folder,
                          struct make_description *out, struct ntk_err *err);
void make_description_fini(struct make_description *description);
/* Keeps memory until _fini; returns NULL if out of memory. */
void *make_keep(struct make_description *description, void *memory);

/* Kinds of data: an entry of "tensors", of "feeds", or of "opaques". */
enum make_data_kind { MAKE_TENSOR, MAKE_FEED, MAKE_OPAQUE };
int make_data_read(struct make_description *description, const json_t *item,
                   enum make_data_kind kind, struct make_data *out, struct ntk_err *err);

/* ---- producers: the names and the order of fields of each ---- */

const struct make_profile *make_profile_find(const char *name);
/* Returns the names for --help and errors, separated by blanks. */
const char *make_profile_names(void);
/* Fills omitted parts of the description: names, handles, programs, flow, opaque blobs. */
int make_profile_apply(struct make_description *description, struct ntk_err *err);
/* Returns true if an executable without a name is named by a hash of its content. */
bool make_profile_hashes(const struct make_profile *profile);
/* Returns the kinds of blobs in the producer's order, -1 after the last. */
const int *make_profile_order(const struct make_profile *profile);

/* ---- writing ---- */

int make_write(struct make_description *description, const char *path, enum popef_writer_mode mode,
               struct ntk_err *err);

/* Implements the subcommand. */
int make_example(int argc, char **argv);
/* Prints the message; returns 1. */
int make_fail(const struct ntk_err *err);

#endif
