/* SPDX-License-Identifier: MIT */
/*
 * fold - repeats in a sequence, nested where they nest, found in one pass.
 *
 *   struct ntk_fold fold;
 *   ntk_fold_init(&fold, trace, 1, put, ctx);
 *   ... ntk_fold_add(&fold, &token) for each, in order ...
 *   ntk_fold_finish(&fold);
 *
 * The sequence is on a stack. When the last L nodes are those before them, both become one node, a
 * run of a body; the same nodes behind a run become its next iteration. A run is a node like any
 * other, of the same kind however often it repeats, so runs nest and may differ in length.
 *
 * Algorithm: the stack and its folding are that of trace compression by regular section descriptors
 * (Noeth, Ratn, Mueller, Schulz, de Supinski: ScalaTrace, J. Parallel Distrib. Comput. 69, 2009);
 * equality of pieces is that of polynomial hashes modulo 2^61 - 1 of prefixes (Karp and Rabin,
 * 1987). L is the distance to one of the NTK_FOLD_CANDIDATES last nodes of the same kind. A run
 * waits with being folded itself until a token comes that does not continue with it, so that a body
 * may end with a run.
 *
 * Cost: NTK_FOLD_CANDIDATES comparisons of hashes per token at most; what is copied or compared
 * node by node leaves the stack. So time is linear. Memory: the stack, which is what does not
 * repeat, in a temporary file where it is long; and NTK_FOLD_BODIES_MAX bodies: further ones stay
 * unfolded and are counted. No choice depends on anything but the tokens.
 *
 * Limits: one plain token needs NTK_FOLD_SINGLES in a row. For a body that begins as it ends the
 * iterations may be found shifted.
 *
 * Owner:   caller's storage; _fini frees, also a zeroed one. Threads: one.
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
    bool is_statement; /* two in a row are a repeat already */
};

struct ntk_fold_part { /* of a body: a token, or a run */
    uint32_t first;    /* of the token, in the first iteration that was found */
    uint32_t body;     /* NTK_FOLD_NO_BODY: a token */
};

struct ntk_fold_body {
    uint64_t hash;       /* of its nodes: equal in another sequence when they are */
    uint64_t first_kind; /* of the first token in it */
    size_t node_count;   /* L */
    uint32_t parent;     /* body that it is in first; NTK_FOLD_NO_BODY: none */
    uint64_t instance_count;
    uint32_t part_count; /* that are kept */
    struct ntk_fold_part parts[NTK_FOLD_PARTS];
};

/* One iteration: those of a body come in order. Less than 0 ends it and is what _add returns. */
typedef int ntk_fold_put(void *ctx, uint32_t body, const struct ntk_fold_token *iteration);

struct ntk_fold {
    struct ntk_long_list nodes; /* struct node; the first is none */
    struct ntk_long_list due;   /* uint32_t: a run whose next iteration may end here; 0: none */
    struct ntk_map last;        /* kind to the place of the last node of it */
    struct ntk_map body_of;     /* hash to 1 + body */
    struct ntk_vec bodies;      /* struct ntk_fold_body */
    uint64_t omitted;           /* repeats beyond NTK_FOLD_BODIES_MAX */
    bool is_checked;            /* the run on top was compared already */
    ntk_fold_put *put;
    void *ctx;
};

/* share: see ntk_long_list_init(). */
int ntk_fold_init(struct ntk_fold *fold, const struct ntk_trace *trace, size_t share,
                  ntk_fold_put *put, void *ctx);
void ntk_fold_fini(struct ntk_fold *fold);
/* 0, -errno of long lists, or what put returned. */
int ntk_fold_add(struct ntk_fold *fold, const struct ntk_fold_token *token);
int ntk_fold_finish(struct ntk_fold *fold);
/* Body by its number. */
const struct ntk_fold_body *ntk_fold_body_get(const struct ntk_fold *fold, uint32_t body);

#endif
