/* SPDX-License-Identifier: MIT */
/*
 * model_page - which application or model has its own page open over the list it was opened from.
 * It is known by its identity, so the page stays when rows move, and says so when the object has
 * gone. Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_PAGE_H
#define NTK_TOP_MODEL_MODEL_PAGE_H

#include "top/model/model.h"

/* What of the snapshot the page is about. */
struct ntk_top_page_of {
    const struct ntk_runtime_sample *runtime; /* NULL: it has gone */
    const struct ntk_model_sample *model;     /* NULL on the page of an application, or gone */
    size_t tab;                               /* of the runtime */
};

/* For the selected row: of its model in the list of models, else of its application. Nothing where
 * it has none. */
void ntk_top_model_page_open(struct ntk_top_model *model);
/* Scrolls, or leaves; false: not a key of the page, which is left where another thing opens. */
bool ntk_top_model_page_act(struct ntk_top_model *model, enum ntk_top_action action);
struct ntk_top_page_of ntk_top_model_page_find(const struct ntk_top_model *model);

#endif
