/* SPDX-License-Identifier: MIT */
/*
 * neff_kernel - the kernel tree of a NEFF: the call and the loop iterations of a kernel's
 * instructions.
 *
 *   kernel_debug_info.json   {"debug_info_files": [{"file_name": member,
 *                             "kernel_name": "__main__.f", "parent_tensorizer_id": Penguin id}]}
 *   member                   [{"lnc": 1, "info": [node ...]}], a node is an object with one key:
 *     func   name, file, line of the definition, children
 *     iter   var, val, line of the loop, children; one node per iteration
 *     inst   name "inst.58", line
 *
 * Memory is per node; texts are kept once. Rows refer to each other by 1 + index, so that 0 is
 * none. Rows are in order of the files.
 *
 * Errors:  a damaged member is a warning with its name and offset, and adds no rows; -ENOMEM.
 * Owner:   ntk_neff_kernel_read() fills, ntk_neff_kernel_fini() frees, including texts.
 * Threads: any; immutable after it is filled.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_KERNEL_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_KERNEL_H

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NEFF_KERNEL_DEPTH_MAX 64
#define NTK_NEFF_KERNEL_NODES_MAX (UINT32_C(1) << 24)
#define NTK_NEFF_KERNEL_FILES_MAX 65536

struct ntk_neff_function { /* a call of it */
    const char *name;      /* "__main__.attention"; "" when it has none */
    const char *file;      /* "" when it has none */
    uint32_t line;         /* of the definition */
    uint32_t parent;       /* 1 + index of the function that calls it */
    uint32_t depth;        /* functions around it */
    uint32_t tree;         /* index */
};

struct ntk_neff_iteration {
    const char *variable;
    const char *text; /* the value if it is not an integer; else NULL */
    int64_t value;
    uint32_t line;     /* of the loop */
    uint32_t parent;   /* 1 + index of the iteration around it */
    uint32_t function; /* 1 + index */
    uint32_t loop;     /* index */
    uint32_t depth;    /* iterations around it */
    uint32_t tree;     /* index */
};

/* A loop of the source: function, variable and line, and those of all loops around it. */
struct ntk_neff_loop {
    const char *variable;
    const char *function; /* name */
    const char *file;
    uint32_t line;
    uint32_t parent; /* 1 + index */
    uint32_t depth;  /* loops around it */
};

struct ntk_neff_kernel_instruction {
    const char *name;   /* NULL: "inst.<number>" */
    uint64_t number;    /* the prefix of the names of executed instructions */
    uint32_t line;      /* 0: none */
    uint32_t function;  /* 1 + index; its file is the file of the line */
    uint32_t iteration; /* 1 + index of the innermost */
    uint32_t tree;      /* index */
};

struct ntk_neff_kernel_tree { /* one entry of a member */
    const char *member;
    const char *kernel;
    uint64_t penguin_id;
    uint32_t file; /* of kernel_debug_info.json, from 0 */
};

struct ntk_neff_kernel {
    struct ntk_vec trees;        /* struct ntk_neff_kernel_tree */
    struct ntk_vec functions;    /* struct ntk_neff_function */
    struct ntk_vec iterations;   /* struct ntk_neff_iteration */
    struct ntk_vec instructions; /* struct ntk_neff_kernel_instruction */
    struct ntk_vec loops;        /* struct ntk_neff_loop; outer ones before inner ones */
    struct ntk_map texts;        /* keys */
};

/* Called with the message about each damaged or missing member; -errno ends the reading. */
typedef int ntk_neff_warn(void *ctx, const char *text);

/* memory_bytes: limit for all rows and texts. Empty if the NEFF has no kernel tree. */
int ntk_neff_kernel_read(const struct ntk_neff *neff, uint64_t memory_bytes, ntk_neff_warn *warn,
                         void *ctx, struct ntk_neff_kernel *out_kernel);
void ntk_neff_kernel_fini(struct ntk_neff_kernel *kernel);

/* True for "inst.58" and "inst.58-wait-0": the number. */
bool ntk_neff_kernel_number(const char *name, uint64_t *out_number);

#ifdef __cplusplus
}
#endif
#endif
