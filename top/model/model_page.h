/* SPDX-License-Identifier: MIT */
/*
 * model_page - the application or model with an open page over its list. It is known by its
 * identity, so the page stays when rows move, and says so when the object has gone. Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_PAGE_H
#define NTK_TOP_MODEL_MODEL_PAGE_H

#include "top/model/model.h"

/* The parts of the snapshot for the page. */
struct ntk_top_page_of {
    const struct ntk_runtime_sample *runtime; /* NULL: it has gone */
    /* NULL on the page of an application, or if it is gone */
    const struct ntk_model_sample *model;
    size_t tab; /* of the runtime */
};

/* For the selected row: of its model in the list of models, else of its application. Does nothing
 * without one. */
void ntk_top_model_page_open(struct ntk_top_model *model);
/* Scrolls, or leaves; false: not a key of the page, which closes when something else opens. */
bool ntk_top_model_page_act(struct ntk_top_model *model, enum ntk_top_action action);
struct ntk_top_page_of ntk_top_model_page_find(const struct ntk_top_model *model);

#endif
