/* SPDX-License-Identifier: MIT */
/* points_walk - visits the page as points. */
#include "exporters/points/points_walk.h"

#include <stdio.h>
#include <string.h>

#include "exporters/points/points_view.h"
#include "exporters/points/points_visit.h"

const struct ntk_metric_row *ntk_points_family_get(size_t family)
{
    static const struct ntk_metric_row hidden = { .kind = NTK_METRIC_KIND_GAUGE,
                                                  .unit = NTK_METRIC_UNIT_COUNT };

    return family >= NTK_POINTS_FAMILIES ? &hidden
           : family < NTK_METRIC_COUNT   ? &ntk_metrics[family]
           : family < NTK_POINTS_OWN_FAMILIES
               ? points_process_family(family - NTK_METRIC_COUNT)
               : &ntk_name_get(family - NTK_POINTS_OWN_FAMILIES)->metric;
}

/* Returns true if the family describes the program that serves the page, not the machine. */
static bool is_of_program(size_t family)
{
    switch (family) {
    case NTK_METRIC_OUTPUT_CUT:
    case NTK_METRIC_OUTPUT_ITEMS:
    case NTK_METRIC_OUTPUT_RETRIES:
    case NTK_METRIC_OUTPUT_WAITING:
    case NTK_METRIC_BUILD_INFO:
    case NTK_METRIC_REPORT_AGE:
    case NTK_METRIC_REPORT_PERIOD:
        return true;
    default:
        return family >= NTK_METRIC_COUNT && family < NTK_POINTS_OWN_FAMILIES;
    }
}

bool ntk_points_is_shown(const struct ntk_points_page *page, bool vendor_only, size_t family)
{
    if (page->age.is_stale && !is_of_program(family)) {
        return false;
    }
    if (family >= NTK_POINTS_OWN_FAMILIES &&
        ntk_name_get(family - NTK_POINTS_OWN_FAMILIES)->is_part) {
        return false; /* the first part shows it */
    }
    return ntk_names_have(page->names, vendor_only, ntk_points_family_get(family));
}

const char *ntk_points_unit_get(const char *name, size_t length)
{
    static const char *const units[] = { "seconds", "bytes", "ratio" };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t bytes = strlen(units[i]);
        if (length > bytes && name[length - bytes - 1] == '_' &&
            !strncmp(name + length - bytes, units[i], bytes)) {
            return units[i];
        }
    }
    return "";
}

void ntk_points_created_name(const struct ntk_metric_row *row, char name[NTK_POINTS_NAME_BYTES])
{
    snprintf(name, NTK_POINTS_NAME_BYTES, "%.*s_created",
             (int)(strlen(row->name) - strlen("_total")), row->name);
}

size_t ntk_points_instance_get(const struct ntk_points_page *page,
                               struct ntk_points_label labels[NTK_INSTANCE_TEXTS + 1])
{
    struct ntk_points_label rows[NTK_INSTANCE_TEXTS];

    for (size_t i = 0; i < NTK_INSTANCE_TEXTS; i++) {
        rows[ntk_instance_texts[i].place] =
            (struct ntk_points_label){ ntk_instance_texts[i].label, page->instance.texts[i] };
    }
    size_t count = 0;

    while (count < NTK_INSTANCE_TEXTS && rows[count].name) {
        labels[count] = rows[count];
        count++;
    }
    count -= page->instance.ultraserver_id[0] == '\0'; /* the last label is omitted if empty */
    labels[count] = (struct ntk_points_label){ NULL, NULL };
    return count;
}

static void walk(const struct ntk_points_page *page, size_t family, struct ntk_points_part *part,
                 void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    const struct points_visit v = {
        .page = page, .row = ntk_points_family_get(family), .visit = visit, .ctx = ctx, .part = part
    };

    if (family >= NTK_POINTS_OWN_FAMILIES && family < NTK_POINTS_FAMILIES) {
        ntk_points_view_walk(page, ntk_name_get(family - NTK_POINTS_OWN_FAMILIES), visit, ctx);
        return;
    }
    points_figures_walk(&v, family);
    if (family >= NTK_METRIC_COUNT && family < NTK_POINTS_FAMILIES) {
        return;
    }
    if (points_is_last(&v)) {
        points_applications_walk(&v, family);
    }
    if (points_is_last(&v)) {
        points_machine_walk(&v, family);
        points_jobs_walk(&v, family);
    }
}

void ntk_points_walk(const struct ntk_points_page *page, size_t family,
                     void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    walk(page, family, NULL, visit, ctx);
}

bool ntk_points_walk_part(const struct ntk_points_page *page, size_t family,
                          struct ntk_points_part *part,
                          void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    part->is_stopped = false;
    walk(page, family, part, visit, ctx);
    return part->is_stopped;
}
