/* SPDX-License-Identifier: MIT */
/*
 * points_walk - visits the page as points: the series of each family, with labels and values, for
 * encoders.
 *
 * Families are the rows of shared/metrics/catalogue.def in their order, then families of this
 * process, then alternative names (points_view).
 *
 * Threads: any.
 */
#ifndef NTK_EXPORTERS_POINTS_POINTS_WALK_H
#define NTK_EXPORTERS_POINTS_POINTS_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporters/names/names.h"
#include "exporters/points/points_page.h"
#include "shared/metrics/catalogue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_POINTS_PROCESS_FAMILIES 6
#define NTK_POINTS_OWN_FAMILIES (NTK_METRIC_COUNT + NTK_POINTS_PROCESS_FAMILIES)
#define NTK_POINTS_FAMILIES (NTK_POINTS_OWN_FAMILIES + NTK_NAME_COUNT)
/* Families that no page shows, for encoders of one period (struct ntk_points_page.is_of_period):
 * devices that are not healthy, with the worst reason; rates of the rows of core_counts.def, by
 * application and core. */
#define NTK_POINTS_UNWELL NTK_POINTS_FAMILIES
#define NTK_POINTS_RATES (NTK_POINTS_FAMILIES + 1)
/* Maximum number of labels per point, without the labels of the instance. */
#define NTK_POINTS_LABELS_MAX (11 + NTK_LABELS_MAX)
#define NTK_POINTS_NAME_BYTES NTK_NAMES_BYTES

struct ntk_points_label {
    const char *name;
    const char *value;
};

struct ntk_point {
    bool has_instance_labels;              /* combine with the instance labels of the page */
    const struct ntk_points_label *labels; /* sorted by name, ends with a NULL name */
    bool is_integer;
    uint64_t integer;
    double number;                                   /* also set for integers */
    const struct ntk_points_latency_series *latency; /* for a histogram, else NULL */
    double created_seconds; /* Unix time of creation if the vendor's page shows it; else 0 */
    uint64_t began_ns;      /* Unix time from which a counter or histogram counts; 0 for a gauge */
};

/* Returns the row of a family. Static. */
const struct ntk_metric_row *ntk_points_family_get(size_t family);
/* Returns true if the page has the family, depending on its lists of names and the vendor's
 * exporter. */
bool ntk_points_is_shown(const struct ntk_points_page *page, bool vendor_only, size_t family);
/* Returns the unit suffix in the first `length` bytes of a family's name; "" if none. Static. */
const char *ntk_points_unit_get(const char *name, size_t length);
/* Writes the name of the family with the start times of row's counters. */
void ntk_points_created_name(const struct ntk_metric_row *row, char name[NTK_POINTS_NAME_BYTES]);
/* Lists the labels of the instance on the page, sorted by name, with a NULL name at the end: the
 * labels of machine.def, the ultraserver only if known. Values belong to the page. Returns their
 * number. */
size_t ntk_points_instance_get(const struct ntk_points_page *page,
                               struct ntk_points_label labels[NTK_INSTANCE_TEXTS + 1]);
/* Calls visit with each point of the family; the point is borrowed during the call. */
void ntk_points_walk(const struct ntk_points_page *page, size_t family,
                     void (*visit)(const struct ntk_point *point, void *ctx), void *ctx);

/* State of visiting a family in parts, each with the points of one or more applications. The page
 * must not change in between. Zeroed before the first part, except for is_full. */
struct ntk_points_part {
    bool (*is_full)(void *ctx); /* called after each application: true ends the part */
    size_t next;                /* application with which the next part begins */
    bool is_stopped;            /* the part has ended before the family */
};
/* Visits the next part; returns false after the last. */
bool ntk_points_walk_part(const struct ntk_points_page *page, size_t family,
                          struct ntk_points_part *part,
                          void (*visit)(const struct ntk_point *point, void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif
#endif
