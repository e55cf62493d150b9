/* SPDX-License-Identifier: MIT */
/*
 * model_page - holds the application or model with an open page over its list. It is found by its
 * identity, so the page stays when rows move, and reports when the object is gone. Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_PAGE_H
#define NTK_TOP_MODEL_MODEL_PAGE_H

#include "top/model/model.h"

/* Data in the snapshot for the page. */
struct ntk_top_page_of {
    const struct ntk_runtime_sample *runtime; /* NULL if it is gone */
    /* NULL on the page of an application, or if it is gone */
    const struct ntk_model_sample *model;
    size_t tab; /* tab of the runtime */
};

/* Opens the page for the selected row: for its model in the list of models, else for its
 * application. Does nothing without a row. */
void ntk_top_model_page_open(struct ntk_top_model *model);
/* Scrolls, or leaves; returns false if it is not a key of the page, which closes when another view
 * opens. */
bool ntk_top_model_page_act(struct ntk_top_model *model, enum ntk_top_action action);
struct ntk_top_page_of ntk_top_model_page_find(const struct ntk_top_model *model);

#endif
