/* SPDX-License-Identifier: MIT */
/* points_visit - adds shared labels to a point and visits it. */
#include "exporters/points/points_visit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"

struct points_number points_number_text(uint32_t value)
{
    struct points_number number;

    snprintf(number.text, sizeof number.text, "%u", value);
    return number;
}

int points_label_compare(const void *a, const void *b)
{
    return strcmp(((const struct ntk_points_label *)a)->name,
                  ((const struct ntk_points_label *)b)->name);
}

void points_share(struct points_visit *v, const char *name, const char *value)
{
    size_t at = v->shared_count;

    assert(at < POINTS_SHARED_MAX);
    for (; at > 0 && strcmp(v->shared[at - 1].name, name) > 0; at--) {
        v->shared[at] = v->shared[at - 1];
    }
    v->shared[at] = (struct ntk_points_label){ name, value };
    v->shared_count++;
}

void points_share_number(struct points_visit *v, const char *name, uint32_t value)
{
    v->number = points_number_text(value);
    points_share(v, name, v->number.text);
}

struct points_visit points_owned(const struct points_visit *v, const struct ntk_points_owner *owner)
{
    struct points_visit owned = *v;
    const struct ntk_points_label labels[] = {
        { "container_name", owner->container_name },
        { "namespace", owner->namespace_name },
        { "pid", owner->pid },
        { "pod_name", owner->pod_name },
        { "user", owner->user },
    };

    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (labels[i].value[0]) {
            points_share(&owned, labels[i].name, labels[i].value);
        }
    }
    return owned;
}

/* Merges the labels of a point and the shared labels, in order, into `room`. */
static const struct ntk_points_label *merge(const struct ntk_points_label *labels,
                                            const struct ntk_points_label *more, size_t more_count,
                                            struct ntk_points_label room[NTK_POINTS_LABELS_MAX + 1])
{
    size_t used = 0;

    for (size_t i = 0; i < more_count; i++) {
        while (labels->name && strcmp(labels->name, more[i].name) < 0) {
            room[used++] = *labels++;
        }
        room[used++] = more[i];
    }
    while (labels->name) {
        room[used++] = *labels++;
    }
    room[used] = (struct ntk_points_label){ NULL, NULL };
    return room;
}

static uint64_t began_ns(const struct points_visit *v)
{
    uint64_t process_ns = (uint64_t)(v->page->process.start_seconds * POINTS_NS);

    return v->began_ns                          ? v->began_ns
           : v->is_of_program && process_ns > 0 ? process_ns
                                                : v->page->began_ns;
}

void points_put(const struct points_visit *v, struct ntk_point point)
{
    struct ntk_points_label with_shared[NTK_POINTS_LABELS_MAX + 1];
    struct ntk_points_label with_said[NTK_POINTS_LABELS_MAX + 1];
    struct ntk_points_label said[NTK_LABELS_MAX];
    const struct ntk_labels *user = v->page->labels;
    size_t count = 0;

    point.has_instance_labels = !v->is_of_program;
    point.created_seconds = v->created_seconds;
    if (v->row->kind == NTK_METRIC_KIND_COUNTER && point.began_ns == 0) {
        point.began_ns = began_ns(v);
    }
    if (v->shared_count > 0) {
        point.labels = merge(point.labels, v->shared, v->shared_count, with_shared);
    }
    for (size_t i = 0; user && i < user->count; i++) {
        said[count] = (struct ntk_points_label){ user->rows[i].name, user->rows[i].value };
        count += user->rows[i].value[0] != '\0';
    }
    if (count > 0) {
        point.labels = merge(point.labels, said, count, with_said);
    }
    v->visit(&point, v->ctx);
}

void points_put_f64(const struct points_visit *v, const struct ntk_points_label *labels,
                    double value)
{
    points_put(v, (struct ntk_point){ .labels = labels, .number = value });
}

void points_put_u64(const struct points_visit *v, const struct ntk_points_label *labels,
                    uint64_t value)
{
    if (v->row->unit == NTK_METRIC_UNIT_SECONDS) {
        points_put_f64(v, labels, (double)value / POINTS_NS);
        return;
    }
    points_put(
        v, (struct ntk_point){
               .labels = labels, .is_integer = true, .integer = value, .number = (double)value });
}
