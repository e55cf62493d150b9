/* SPDX-License-Identifier: MIT */
/*
 * points_visit - visits the points of one family. Private to this folder.
 *
 * Labels that several points share (owner, tag, number of a core) are set once: a function that
 * adds shared labels uses a copy of the visit.
 *
 * Owner:   values of labels are borrowed; points_share_number() keeps the text in the visit, which
 *          may then only be copied while it exists.
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_VISIT_H
#define NTK_EXPORTERS_POINTS_POINTS_VISIT_H

#include "exporters/points/points_walk.h"
#include "shared/base/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

#define POINTS_SHARED_MAX 8
#define POINTS_NS ((double)NTK_NS_PER_SECOND)

struct points_number {
    char text[16];
};

struct points_visit {
    const struct ntk_points_page *page;
    const struct ntk_metric_row *row; /* row of the family */
    void (*visit)(const struct ntk_point *point, void *ctx);
    void *ctx;
    struct ntk_points_part *part;                      /* NULL for the whole family */
    struct ntk_points_label shared[POINTS_SHARED_MAX]; /* sorted by name */
    size_t shared_count;
    bool is_of_program;     /* about this process: without the labels of the instance */
    double created_seconds; /* Unix time of creation if the vendor's page shows it; else 0 */
    uint64_t began_ns;      /* start time of counters; 0: same as for the page or process */
    struct points_number number;
};

#define LABELS(...)                   \
    (const struct ntk_points_label[]) \
    {                                 \
        __VA_ARGS__,                  \
        {                             \
            NULL, NULL                \
        }                             \
    }
#define NO_LABELS ((const struct ntk_points_label[]){ { NULL, NULL } })

struct points_number points_number_text(uint32_t value);
int points_label_compare(const void *a, const void *b);

void points_share(struct points_visit *v, const char *name, const char *value);
void points_share_number(struct points_visit *v, const char *name, uint32_t value);
/* Returns a copy of v with the labels of the owner. */
struct points_visit points_owned(const struct points_visit *v,
                                 const struct ntk_points_owner *owner);

/* Visits the point with its labels and value, the shared labels and the user's labels. */
void points_put(const struct points_visit *v, struct ntk_point point);
void points_put_f64(const struct points_visit *v, const struct ntk_points_label *labels,
                    double value);
/* Visits a point; in a family in seconds, the value is in ns. */
void points_put_u64(const struct points_visit *v, const struct ntk_points_label *labels,
                    uint64_t value);

/* Calls visit for each application that has points in the family, with its labels shared. */
void points_each_tag(const struct points_visit *v,
                     void (*visit)(const struct points_visit *v, const struct ntk_points_tag *tag,
                                   const void *arg),
                     const void *arg);

/* Return true for the first part of the family, and if all its applications have been visited. A
 * family has at most one points_each_tag(): points before it belong to the first part, points after
 * it to the last. */
static inline bool points_is_first(const struct points_visit *v)
{
    return !v->part || v->part->next == 0;
}

static inline bool points_is_last(const struct points_visit *v)
{
    return !v->part || !v->part->is_stopped;
}

/* Visit only the points of their families: plain members (a row each), lists of applications, the
 * machine, batch jobs. */
void points_figures_walk(const struct points_visit *v, size_t family);
void points_applications_walk(const struct points_visit *v, size_t family);
void points_machine_walk(const struct points_visit *v, size_t family);
void points_jobs_walk(const struct points_visit *v, size_t family);
/* Returns a family of this process; these follow the families of the catalogue; i <
 * NTK_POINTS_PROCESS_FAMILIES. */
const struct ntk_metric_row *points_process_family(size_t i);

#ifdef __cplusplus
}
#endif
#endif
