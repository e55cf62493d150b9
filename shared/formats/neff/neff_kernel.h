/* SPDX-License-Identifier: MIT */
/*
 * neff_kernel - the kernel tree of a NEFF: the calls and loop iterations around a kernel's
 * instructions.
 *
 *   kernel_debug_info.json   {"debug_info_files": [{"file_name": member,
 *                             "kernel_name": "__main__.f", "parent_tensorizer_id": Penguin id}]}
 *   member                   [{"lnc": 1, "info": [node ...]}], a node is an object with one key:
 *     func   name, file, line of the definition, children
 *     iter   var, val, line of the loop, children; one node per iteration
 *     inst   name "inst.58", line
 *
 * Memory use depends on the number of nodes; equal texts are kept once. Rows refer to each other by
 * 1 + index, so 0 means none. Rows are in file order.
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

struct ntk_neff_function { /* one call of a function */
    const char *name;      /* such as "__main__.attention"; "" if unknown */
    const char *file;      /* "" if unknown */
    uint32_t line;         /* line of the definition */
    uint32_t parent;       /* 1 + index of the calling function */
    uint32_t depth;        /* number of enclosing functions */
    uint32_t tree;         /* index of the tree */
};

struct ntk_neff_iteration {
    const char *variable;
    const char *text; /* value if it is not an integer; otherwise NULL */
    int64_t value;
    uint32_t line;     /* line of the loop */
    uint32_t parent;   /* 1 + index of the enclosing iteration */
    uint32_t function; /* 1 + index of the function */
    uint32_t loop;     /* index of the loop */
    uint32_t depth;    /* number of enclosing iterations */
    uint32_t tree;     /* index of the tree */
};

/* A loop in the source, identified by function, variable and line, and by those of all enclosing
 * loops. */
struct ntk_neff_loop {
    const char *variable;
    const char *function; /* name of the function */
    const char *file;
    uint32_t line;
    uint32_t parent; /* 1 + index of the enclosing loop */
    uint32_t depth;  /* number of enclosing loops */
};

struct ntk_neff_kernel_instruction {
    const char *name;   /* NULL: the name is "inst.<number>" */
    uint64_t number;    /* part of the name that executed instructions begin with */
    uint32_t line;      /* 0 if unknown */
    uint32_t function;  /* 1 + index of the function; its file contains the line */
    uint32_t iteration; /* 1 + index of the innermost iteration */
    uint32_t tree;      /* index of the tree */
};

struct ntk_neff_kernel_tree { /* one entry of a member */
    const char *member;
    const char *kernel;
    uint64_t penguin_id;
    uint32_t file; /* index of the file in kernel_debug_info.json */
};

struct ntk_neff_kernel {
    struct ntk_vec trees;        /* struct ntk_neff_kernel_tree */
    struct ntk_vec functions;    /* struct ntk_neff_function */
    struct ntk_vec iterations;   /* struct ntk_neff_iteration */
    struct ntk_vec instructions; /* struct ntk_neff_kernel_instruction */
    struct ntk_vec loops; /* elements are struct ntk_neff_loop, outer loops before inner ones */
    struct ntk_map texts; /* keys are the texts */
};

/* Called with a message about each damaged or missing member; returning -errno stops the
 * reading. */
typedef int ntk_neff_warn(void *ctx, const char *text);

/* memory_bytes is the limit for all rows and texts. Empty if the NEFF has no kernel tree. */
int ntk_neff_kernel_read(const struct ntk_neff *neff, uint64_t memory_bytes, ntk_neff_warn *warn,
                         void *ctx, struct ntk_neff_kernel *out_kernel);
void ntk_neff_kernel_fini(struct ntk_neff_kernel *kernel);

/* Parses the number in "inst.58" or "inst.58-wait-0"; false for any other name. */
bool ntk_neff_kernel_number(const char *name, uint64_t *out_number);

#ifdef __cplusplus
}
#endif
#endif
