/* SPDX-License-Identifier: MIT */
/* model_tree - builds the memory tree of a model: leaves from a snapshot, rows from the leaves. */
#ifndef NTK_TOP_MODEL_MODEL_TREE_H
#define NTK_TOP_MODEL_MODEL_TREE_H

#include "top/model/model.h"

/* Returns the group of neuron-top for a group of the snapshot. */
enum ntk_top_group ntk_top_model_group_of(enum ntk_memory_group group);
/* Returns a name such as "Tensors". */
const char *ntk_top_model_group_name(enum ntk_top_group group);
void ntk_top_model_tree_init(struct ntk_top_model *model);
/* Collects the leaves of the selected tab in model->items. Returns 0 or -ENOMEM. */
int ntk_top_model_tree_collect(struct ntk_top_model *model);
/* Builds model->nodes again from the leaves and the expanded items, and finds the cursor. Returns 0
 * or -ENOMEM. */
int ntk_top_model_tree_build(struct ntk_top_model *model);
void ntk_top_model_tree_set_expanded(struct ntk_top_model *model, uint64_t key, bool expanded);
/* Returns the parent of a row; SIZE_MAX at the first level. */
size_t ntk_top_model_tree_parent(const struct ntk_top_model *model, size_t index);
/* Moves the cursor to a row and stores its identity. */
void ntk_top_model_tree_set_cursor(struct ntk_top_model *model, size_t index);

#endif
