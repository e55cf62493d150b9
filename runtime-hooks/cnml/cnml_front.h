/* SPDX-License-Identifier: MIT */
/*
 * cnml_front - common code of the three fronts: forward calls without the types of a generation.
 *
 * Each front includes its own header generation, so none of them may see cnml_internal.h, which is
 * based on the second one. Statuses have the same numbers in all of them.
 */
#ifndef NTK_RUNTIME_HOOKS_CNML_CNML_FRONT_H
#define NTK_RUNTIME_HOOKS_CNML_CNML_FRONT_H

#include <stdint.h>

struct cnmlBaseOp;
struct cnmlFusionOp;

enum { CNML_FRONT_MANY = 0, CNML_FRONT_ONE = 1, CNML_FRONT_TWO = 2 };

/* Returns -1 for an unknown kind of task. */
int cnml_front_op(struct cnmlBaseOp *op, int arity, void *const *in, int in_count, void *const *out,
                  int out_count, int data_parallelism, uint64_t clusters, void *queue);
int cnml_front_fusion(struct cnmlFusionOp *op, void *const *in, int in_count, void *const *out,
                      int out_count, int data_parallelism, uint64_t clusters, void *queue);

#endif
