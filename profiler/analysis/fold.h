/* SPDX-License-Identifier: MIT */
/*
 * fold - finds repeats in a sequence, including nested ones, in one pass.
 *
 *   struct ntk_fold fold;
 *   ntk_fold_init(&fold, trace, 1, put, ctx);
 *   ... ntk_fold_add(&fold, &token) for each, in order ...
 *   ntk_fold_finish(&fold);
 *
 * The sequence is on a stack. If the last L nodes equal the L nodes before them, both become one
 * node, a run of a body; the same nodes after a run become its next iteration. A run is a node like
 * any other, and its kind does not depend on its count, so runs nest and may differ in length.
 *
 * Algorithm: the stack and its folding are taken from trace compression by regular section
 * descriptors (Noeth, Ratn, Mueller, Schulz, de Supinski: ScalaTrace, J. Parallel Distrib. Comput.
 * 69, 2009); pieces are equal if the polynomial hashes of prefixes modulo 2^61 - 1 are equal (Karp
 * and Rabin, 1987). L is the distance to one of the NTK_FOLD_CANDIDATES last nodes of the same
 * kind. A run is folded only after a token that does not continue it, so that a body may end with a
 * run.
 *
 * Cost: NTK_FOLD_CANDIDATES comparisons of hashes per token at most; nodes that are copied or
 * compared one by one leave the stack, so time is linear. Memory: the stack of tokens without
 * repetition, in a temporary file if it is long, and NTK_FOLD_BODIES_MAX bodies; further repeats
 * stay unfolded and are counted. The result depends only on the tokens.
 *
 * Limits: one plain token needs NTK_FOLD_SINGLES in a row. If a body starts in the same way as it
 * ends, its iterations may be found shifted.
 *
 * Owner:   the caller provides the storage; _fini frees the content, and accepts a zeroed struct.
 * Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_FOLD_H
#define NTK_PROFILER_ANALYSIS_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/trace/long_list.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define NTK_FOLD_CANDIDATES 32
#define NTK_FOLD_BODIES_MAX ((size_t)1 << 13)
#define NTK_FOLD_SINGLES 3
#define NTK_FOLD_PARTS 4
#define NTK_FOLD_NO_BODY UINT32_MAX

struct ntk_fold_token {
    uint64_t kind; /* operations with equal lower 63 bits are the same */
    int64_t start_ps, end_ps;
    uint32_t first;    /* index of its first instruction */
    uint32_t count;    /* number of instructions */
    bool is_statement; /* true: two in a row already repeat */
};

struct ntk_fold_part { /* part of a body: a token, or a run */
    uint32_t first;    /* first instruction of the token, in the first iteration found */
    uint32_t body;     /* NTK_FOLD_NO_BODY for a token */
};

struct ntk_fold_body {
    uint64_t hash;       /* hash of its nodes; comparable between sequences */
    uint64_t first_kind; /* kind of the first token in it */
    size_t node_count;   /* L, the number of nodes */
    uint32_t parent;     /* first body that contains it; NTK_FOLD_NO_BODY if none */
    uint64_t instance_count;
    uint32_t part_count; /* number of stored parts */
    struct ntk_fold_part parts[NTK_FOLD_PARTS];
};

/* Called for each iteration; iterations of a body come in order. A negative result stops and is
 * returned by _add. */
typedef int ntk_fold_put(void *ctx, uint32_t body, const struct ntk_fold_token *iteration);

struct ntk_fold {
    struct ntk_long_list nodes; /* elements are struct node; the first is a placeholder */
    /* elements are uint32_t: a run with a next iteration that may end; 0 if none */
    struct ntk_long_list due;
    struct ntk_map kinds; /* maps a kind to 1 + its index in lasts */
    /* elements are uint32_t: position of the last node of a kind; 0 if none */
    struct ntk_vec lasts;
    struct ntk_map body_of; /* maps a hash to 1 + body */
    struct ntk_vec bodies;  /* elements are struct ntk_fold_body */
    uint64_t omitted;       /* number of repeats beyond NTK_FOLD_BODIES_MAX */
    bool is_checked;        /* true if the run on top was already compared */
    ntk_fold_put *put;
    void *ctx;
};

/* share: see ntk_long_list_init(). */
int ntk_fold_init(struct ntk_fold *fold, const struct ntk_trace *trace, size_t share,
                  ntk_fold_put *put, void *ctx);
void ntk_fold_fini(struct ntk_fold *fold);
/* Returns 0, -errno of long lists, or the result of put. */
int ntk_fold_add(struct ntk_fold *fold, const struct ntk_fold_token *token);
int ntk_fold_finish(struct ntk_fold *fold);
/* Returns a body by its number. */
const struct ntk_fold_body *ntk_fold_body_get(const struct ntk_fold *fold, uint32_t body);

#endif
