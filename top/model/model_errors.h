/* SPDX-License-Identifier: MIT */
/*
 * model_errors - lists a row per error counter: ECC of each device, failed executions and error
 * classes of each application; with the time of its last increase.
 *
 * Owner:   the model; ntk_top_model_errors_fini() frees the content.
 */
#ifndef NTK_TOP_MODEL_MODEL_ERRORS_H
#define NTK_TOP_MODEL_MODEL_ERRORS_H

#include "top/model/model.h"

enum ntk_top_errors_column {
    NTK_TOP_ERRORS_WHERE,
    NTK_TOP_ERRORS_WHAT,
    NTK_TOP_ERRORS_NEW,  /* errors in the period */
    NTK_TOP_ERRORS_SEEN, /* errors since the program started */
    /* For the driver since it was loaded, for an application since it began */
    NTK_TOP_ERRORS_TOTAL,
    NTK_TOP_ERRORS_LAST,
    NTK_TOP_ERRORS_AGO,
    NTK_TOP_ERRORS_CAUSES,
    NTK_TOP_ERRORS_COUNT,
};

/* Maximum number of counters of applications, which are kept so that errors of ended applications
 * stay. */
#define NTK_TOP_ERRORS_MAX 4096
/* Age below which an increase of a counter is highlighted. */
#define NTK_TOP_ERRORS_NEW_NS UINT64_C(10000000000)

struct ntk_top_errors_sum {
    uint64_t executions; /* failed executions since the program started */
    uint64_t corrected;  /* corrected ECC errors */
    uint64_t uncorrected;
    bool has_ecc; /* ECC errors are counted */
};

/* News for the user, about all applications. */
struct ntk_top_errors_news {
    uint64_t executions; /* failed executions of applications with a failure in the given time */
    const char *tag;     /* tag of the application with the last failure */
    uint64_t ago_ns;
    uint32_t tag_count;
    uint64_t uncorrected; /* uncorrected ECC errors */
    uint32_t device_index;
    uint32_t device_count;
};

void ntk_top_model_errors_fini(struct ntk_top_errors *errors);
/* Returns 0, or -ENOMEM and an empty copy. */
int ntk_top_model_errors_dup(const struct ntk_top_errors *errors, struct ntk_top_errors *out_copy);
/* Returns 0 or -ENOMEM. */
int ntk_top_model_errors_observe(struct ntk_top_model *model);
int ntk_top_model_errors(struct ntk_top_model *model, struct ntk_top_table *table);
/* Computes sums for the selected tab. */
void ntk_top_model_errors_sum(const struct ntk_top_model *model, struct ntk_top_errors_sum *out);
/* Collects news; the tag is borrowed until the next snapshot. */
void ntk_top_model_errors_news(const struct ntk_top_model *model, uint64_t recent_ns,
                               struct ntk_top_errors_news *out);

#endif
