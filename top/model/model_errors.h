/* SPDX-License-Identifier: MIT */
/*
 * model_errors - a row per counter of something that goes wrong: ECC of each device, failed
 * executions and their error classes of each application; when it last grew. Owned by the model.
 *
 * Owner:   the model; ntk_top_model_errors_fini() frees.
 */
#ifndef NTK_TOP_MODEL_MODEL_ERRORS_H
#define NTK_TOP_MODEL_MODEL_ERRORS_H

#include "top/model/model.h"

enum ntk_top_errors_column {
    NTK_TOP_ERRORS_WHERE,
    NTK_TOP_ERRORS_WHAT,
    NTK_TOP_ERRORS_NEW,   /* of the period */
    NTK_TOP_ERRORS_SEEN,  /* since the program looks */
    NTK_TOP_ERRORS_TOTAL, /* of the driver since it was loaded, of an application since it began */
    NTK_TOP_ERRORS_LAST,
    NTK_TOP_ERRORS_AGO,
    NTK_TOP_ERRORS_CAUSES,
    NTK_TOP_ERRORS_COUNT,
};

/* Applications that counted something are remembered, so that the errors of one that is gone stay:
 * at most this many counters. */
#define NTK_TOP_ERRORS_MAX 4096
/* A counter that grew this recently is highlighted. */
#define NTK_TOP_ERRORS_NEW_NS UINT64_C(10000000000)

struct ntk_top_errors_sum {
    uint64_t executions; /* that failed, since the program looks */
    uint64_t corrected;  /* ECC */
    uint64_t uncorrected;
    bool has_ecc; /* it is counted */
};

/* What the user should know, of all applications. */
struct ntk_top_errors_news {
    uint64_t executions; /* that failed, of applications where one did in the time asked for */
    const char *tag;     /* of the last of these */
    uint64_t ago_ns;
    uint32_t tag_count;
    uint64_t uncorrected; /* ECC */
    uint32_t device_index;
    uint32_t device_count;
};

void ntk_top_model_errors_fini(struct ntk_top_errors *errors);
/* 0 or -ENOMEM. */
int ntk_top_model_errors_observe(struct ntk_top_model *model);
int ntk_top_model_errors(struct ntk_top_model *model, struct ntk_top_table *table);
/* For the selected tab. */
void ntk_top_model_errors_sum(const struct ntk_top_model *model, struct ntk_top_errors_sum *out);
/* The tag is borrowed until the next snapshot. */
void ntk_top_model_errors_news(const struct ntk_top_model *model, uint64_t recent_ns,
                               struct ntk_top_errors_news *out);

#endif
