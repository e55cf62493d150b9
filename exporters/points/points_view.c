/* SPDX-License-Identifier: MIT */
/* points_view - converts points of a family to another name: selects, groups, scales. */
#include "exporters/points/points_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/base/str.h"

#define LABELS_MAX 10
#define SEPARATOR '\x1f' /* labels have no control characters */

struct group {
    double sum;
    double max;
    double other;
    uint64_t integer;
    bool is_integer;
    uint64_t count;
    uint64_t began_ns; /* the earliest */
};

struct view {
    const struct ntk_points_page *page;
    const struct ntk_name_row *row;
    bool is_other; /* the walk has reached the second family */
    bool is_of_cards;
    struct ntk_map groups; /* by label values, each followed by a separator */
    struct ntk_buf key;
};

/* ---- the labels of a point ---- */

const char *ntk_points_label_get(const struct ntk_point *point, const char *name, size_t name_bytes)
{
    for (const struct ntk_points_label *label = point->labels; label->name; label++) {
        if (strlen(label->name) == name_bytes && memcmp(label->name, name, name_bytes) == 0) {
            return label->value;
        }
    }
    return "";
}

/* "a|b", or "*" for any nonempty value. */
static bool is_among(const char *value, const char *list, size_t list_bytes)
{
    size_t bytes = strlen(value);

    if (list_bytes == 1 && *list == '*') {
        return bytes > 0;
    }
    for (const char *end = list + list_bytes; list < end;) {
        const char *bar = memchr(list, '|', (size_t)(end - list));
        size_t length = (size_t)((bar ? bar : end) - list);

        if (length == bytes && memcmp(list, value, bytes) == 0) {
            return true;
        }
        list += length + 1;
    }
    return false;
}

bool ntk_points_is_chosen(const struct ntk_point *point, const char *where)
{
    const char *at = where;

    while (*at) {
        size_t name_bytes = strcspn(at, "=");
        const char *values = at + name_bytes + 1;
        size_t value_bytes = strcspn(values, " ");

        if (!is_among(ntk_points_label_get(point, at, name_bytes), values, value_bytes)) {
            return false;
        }
        at = values + value_bytes;
        at += *at == ' ';
    }
    return true;
}

/* The card of a point and the core on it; false: it has none. */
static bool card_of(const struct view *view, const struct ntk_point *point, uint64_t *out_card,
                    uint64_t *out_core)
{
    const char *device =
        ntk_points_label_get(point, "neuron_device_index", strlen("neuron_device_index"));
    const char *core = ntk_points_label_get(point, "neuroncore", strlen("neuroncore"));
    uint64_t number;

    if (*device && ntk_str_parse_u64(device, out_card) == 0) {
        *out_core = 0;
        return true;
    }
    if (!*core || view->page->cores_per_device == 0 || ntk_str_parse_u64(core, &number) < 0) {
        return false;
    }
    *out_card = number / view->page->cores_per_device;
    *out_core = number % view->page->cores_per_device;
    return true;
}

/* ---- groups ---- */

static void add_key(struct view *view, const char *value)
{
    ntk_buf_add_format(&view->key, "%s%c", value, SEPARATOR);
}

static bool make_key(struct view *view, const struct ntk_point *point)
{
    const char *at = view->row->labels;
    uint64_t card = 0;
    uint64_t core = 0;
    char number[24];

    ntk_buf_reset(&view->key);
    if (view->is_of_cards) {
        if (!card_of(view, point, &card, &core)) {
            return false;
        }
        snprintf(number, sizeof number, "%u", (unsigned)card);
        add_key(view, number);
    }
    while (*at && *at != '-') {
        size_t bytes = strcspn(at, " ");
        const char *equals = memchr(at, '=', bytes);
        const char *from = equals ? equals + 1 : at;
        size_t from_bytes = bytes - (size_t)(from - at);

        if (view->is_of_cards && from_bytes == 4 && memcmp(from, "core", 4) == 0) {
            snprintf(number, sizeof number, "%u", (unsigned)core);
            add_key(view, number);
        } else {
            add_key(view, ntk_points_label_get(point, from, from_bytes));
        }
        at += bytes;
        at += *at == ' ';
    }
    ntk_buf_add_char(&view->key, '\0');
    return ntk_buf_ok(&view->key);
}

static void take(const struct ntk_point *point, void *ctx)
{
    struct view *view = ctx;

    if (point->latency || !ntk_points_is_chosen(point, view->is_other ? "" : view->row->where) ||
        !make_key(view, point)) {
        return;
    }
    const char *key = (const char *)view->key.bytes;
    struct group *group = ntk_map_get(&view->groups, key);
    if (!group && view->is_other) {
        return;
    }
    if (!group) {
        group = calloc(1, sizeof *group);
        if (!group || ntk_map_put(&view->groups, key, group) < 0) {
            free(group);
            return;
        }
        group->is_integer = true;
    }
    if (view->is_other) {
        group->other += point->number;
        return;
    }
    group->max = group->count == 0 || point->number > group->max ? point->number : group->max;
    group->sum += point->number;
    group->integer += point->integer;
    group->is_integer = group->is_integer && point->is_integer;
    group->began_ns = group->began_ns == 0 || point->began_ns < group->began_ns ? point->began_ns
                                                                                : group->began_ns;
    group->count++;
}

/* False if there is no value. */
static bool make_value(const struct view *view, const struct group *group, struct ntk_point *out)
{
    double value = group->sum;

    switch (view->row->how) {
    case NTK_NAME_SUM:
        out->is_integer = group->is_integer && view->row->scale == 1;
        break;
    case NTK_NAME_MEAN:
        value /= (double)group->count;
        break;
    case NTK_NAME_MAX:
        value = group->max;
        break;
    case NTK_NAME_COUNT_POINTS:
        value = (double)group->count;
        break;
    case NTK_NAME_CORES:
        if (view->page->core_count == 0) {
            return false;
        }
        value /= (double)view->page->core_count;
        break;
    case NTK_NAME_MINUS:
        value = value > group->other ? value - group->other : 0;
        break;
    case NTK_NAME_SHARE:
        if (group->other <= 0) {
            return false;
        }
        value /= group->other;
        break;
    }
    out->number = value * view->row->scale;
    out->integer = out->is_integer ? group->integer : 0;
    return true;
}

/* ---- labels of the new point ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ntk_points_label *)a)->name,
                  ((const struct ntk_points_label *)b)->name);
}

/* The common labels of a card's series. */
static size_t card_labels(const struct view *view, const char *card,
                          struct ntk_points_label *labels)
{
    const struct ntk_points_page *page = view->page;
    const struct ntk_points_device *device = NULL;
    uint64_t index = 0;
    size_t count = 0;

    for (size_t i = 0; i < page->device_sample_count && ntk_str_parse_u64(card, &index) == 0; i++) {
        device = page->devices[i].index == index ? &page->devices[i] : device;
    }
    labels[count++] = (struct ntk_points_label){ "driver", page->driver_version };
    labels[count++] = (struct ntk_points_label){ "mlu", card };
    labels[count++] = (struct ntk_points_label){ "model", device ? device->name : "" };
    labels[count++] = (struct ntk_points_label){ "node", page->host_name };
    labels[count++] = (struct ntk_points_label){ "sn", device ? device->serial_number : "" };
    labels[count++] = (struct ntk_points_label){ "type", "mlu" };
    return count;
}

/* Cuts the key up. */
static void emit(const struct view *view, char *key, const struct group *group,
                 void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    struct ntk_points_label labels[NTK_POINTS_LABELS_MAX + 1] = { { 0 } };
    char names[LABELS_MAX][32];
    const struct ntk_labels *said = view->page->labels;
    struct ntk_point point = { .has_instance_labels = view->row->list != NTK_NAME_LIST_MLU,
                               .labels = labels,
                               .began_ns = group->began_ns };
    const char *at = view->row->labels;
    size_t count = 0;
    size_t own = 0;
    size_t kept = 0;

    if (!make_value(view, group, &point)) {
        return;
    }
    if (view->is_of_cards) {
        char *end = strchr(key, SEPARATOR);
        *end = '\0';
        count = card_labels(view, key, labels);
        key = end + 1;
    }
    while (*at && *at != '-' && own < LABELS_MAX) {
        size_t bytes = strcspn(at, " ");
        char *end = strchr(key, SEPARATOR);

        snprintf(names[own], sizeof names[own], "%.*s",
                 (int)(memchr(at, '=', bytes) ? strcspn(at, "=") : bytes), at);
        *end = '\0';
        labels[count++] = (struct ntk_points_label){ names[own++], key };
        key = end + 1;
        at += bytes;
        at += *at == ' ';
    }
    /* an empty label is absent; a user's label replaces ours */
    for (size_t i = 0; i < count; i++) {
        bool is_said = false;
        for (size_t k = 0; said && k < said->count; k++) {
            is_said = is_said || strcmp(said->rows[k].name, labels[i].name) == 0;
        }
        if (labels[i].value[0] && !is_said) {
            labels[kept++] = labels[i];
        }
    }
    for (size_t k = 0; said && k < said->count && kept < NTK_POINTS_LABELS_MAX; k++) {
        labels[kept++] = (struct ntk_points_label){ said->rows[k].name, said->rows[k].value };
    }
    labels[kept] = (struct ntk_points_label){ NULL, NULL };
    qsort(labels, kept, sizeof *labels, by_name);
    visit(&point, ctx);
}

void ntk_points_view_walk(const struct ntk_points_page *page, const struct ntk_name_row *row,
                          void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    bool is_of_cards = row->list == NTK_NAME_LIST_MLU;
    struct view view = { .page = page,
                         .row = row,
                         .is_of_cards = is_of_cards && row->labels[0] != '-' };

    if (is_of_cards && !page->has_cards) {
        return;
    }
    ntk_points_walk(page, row->source, take, &view);
    view.is_other = true;
    if (row->other < NTK_METRIC_COUNT) {
        ntk_points_walk(page, row->other, take, &view);
    }
    ntk_map_each(entry, &view.groups) {
        emit(&view, entry->key, entry->value, visit, ctx);
        free(entry->value);
    }
    ntk_map_fini(&view.groups);
    ntk_buf_fini(&view.key);
}
