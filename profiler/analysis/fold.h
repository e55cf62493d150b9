/* SPDX-License-Identifier: MIT */
/*
 * fold - finds repeats in a sequence, including nested ones, in one pass.
 *
 *   struct ntk_fold fold;
 *   ntk_fold_init(&fold, trace, 1, put, ctx);
 *   ... ntk_fold_add(&fold, &token) for each, in order ...
 *   ntk_fold_finish(&fold);
 *
 * The sequence is on a stack. If the last L nodes equal those before them, both become one node, a
 * run of a body; the same nodes after a run become its next iteration. A run is a node like any
 * other, and its kind does not depend on its count, so runs nest and may differ in length.
 *
 * Algorithm: the stack and its folding are that of trace compression by regular section descriptors
 * (Noeth, Ratn, Mueller, Schulz, de Supinski: ScalaTrace, J. Parallel Distrib. Comput. 69, 2009);
 * equality of pieces is that of polynomial hashes modulo 2^61 - 1 of prefixes (Karp and Rabin,
 * 1987). L is the distance to one of the NTK_FOLD_CANDIDATES last nodes of the same kind. A run is
 * folded only after a token that does not continue it, so that a body may end with a run.
 *
 * Cost: NTK_FOLD_CANDIDATES comparisons of hashes per token at most; nodes that are copied or
 * compared one by one leave the stack, so time is linear. Memory: the stack of tokens without
 * repetition, in a temporary file if it is long, and NTK_FOLD_BODIES_MAX bodies; further ones stay
 * unfolded and are counted. The result depends only on the tokens.
 *
 * Limits: one plain token needs NTK_FOLD_SINGLES in a row. If a body starts as it ends, its
 * iterations may be found shifted.
 *
 * Owner: caller's storage; _fini frees, also a zeroed one. Threads: one.
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
    uint64_t kind; /* equal in its lower 63 bits: the same operation */
    int64_t start_ps, end_ps;
    uint32_t first;    /* index of its first instruction */
    uint32_t count;    /* instructions */
    bool is_statement; /* two in a row already repeat */
};

struct ntk_fold_part { /* of a body: a token, or a run */
    uint32_t first;    /* of the token, in the first iteration found */
    uint32_t body;     /* NTK_FOLD_NO_BODY: a token */
};

struct ntk_fold_body {
    uint64_t hash;       /* of its nodes; comparable between sequences */
    uint64_t first_kind; /* of the first token in it */
    size_t node_count;   /* L */
    uint32_t parent;     /* first body that contains it; NTK_FOLD_NO_BODY: none */
    uint64_t instance_count;
    uint32_t part_count; /* that are kept */
    struct ntk_fold_part parts[NTK_FOLD_PARTS];
};

/* Called for each iteration; those of a body come in order. A negative result stops and is returned
 * by _add. */
typedef int ntk_fold_put(void *ctx, uint32_t body, const struct ntk_fold_token *iteration);

struct ntk_fold {
    struct ntk_long_list nodes; /* struct node; the first is a placeholder */
    struct ntk_long_list due;   /* uint32_t: a run with a next iteration that may end; 0: none */
    struct ntk_map kinds;       /* kind to 1 + its place in lasts */
    struct ntk_vec lasts;       /* uint32_t: position of the last node of a kind; 0: none */
    struct ntk_map body_of;     /* hash to 1 + body */
    struct ntk_vec bodies;      /* struct ntk_fold_body */
    uint64_t omitted;           /* repeats beyond NTK_FOLD_BODIES_MAX */
    bool is_checked;            /* the run on top was already compared */
    ntk_fold_put *put;
    void *ctx;
};

/* share: see ntk_long_list_init(). */
int ntk_fold_init(struct ntk_fold *fold, const struct ntk_trace *trace, size_t share,
                  ntk_fold_put *put, void *ctx);
void ntk_fold_fini(struct ntk_fold *fold);
/* 0, -errno of long lists, or the result of put. */
int ntk_fold_add(struct ntk_fold *fold, const struct ntk_fold_token *token);
int ntk_fold_finish(struct ntk_fold *fold);
/* Body by its number. */
const struct ntk_fold_body *ntk_fold_body_get(const struct ntk_fold *fold, uint32_t body);

#endif
