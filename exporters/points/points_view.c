/* SPDX-License-Identifier: MIT */
/* points_view - converts points of a family to another name: selects, groups, scales. */
#include "exporters/points/points_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
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
    uint64_t began_ns; /* earliest start */
};

/* Component by which series differ, in addition to the labels of the row. */
enum component {
    COMPONENT_NONE,
    COMPONENT_CARD, /* has the labels of MLU cards */
    COMPONENT_DEVICE,
    COMPONENT_PORT, /* has the port of a network adapter */
};

struct view {
    const struct ntk_points_page *page;
    const struct ntk_name_row *row;
    bool is_other; /* true for points of the second family */
    enum component component;
    struct ntk_map groups; /* keyed by label values, each followed by a separator */
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

/* Returns true if the value is in a list such as "a|b"; "*" means any nonempty value. */
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

/* Finds the card of a point and the core on it; false if it has none. */
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

/* One of the labels of a row. */
struct spec {
    const char *name;
    size_t name_bytes;
    const char *from; /* label in this project, or the value */
    size_t from_bytes;
    bool is_value;
};

/* Returns the next label; false at the end of the row's labels. */
static bool next_spec(const char **at, struct spec *out)
{
    size_t bytes = strcspn(*at, " ");

    if (bytes == 0 || **at == '-') {
        return false;
    }
    out->name = *at;
    out->name_bytes = strcspn(*at, "=: ");
    out->is_value = out->name[out->name_bytes] == ':';
    out->from = out->name_bytes < bytes ? *at + out->name_bytes + 1 : *at;
    out->from_bytes = bytes - (size_t)(out->from - *at);
    *at += bytes;
    *at += **at == ' ';
    return true;
}

static bool is_of_device(const struct view *view)
{
    return view->component == COMPONENT_CARD || view->component == COMPONENT_DEVICE;
}

/* Returns NULL if the metric does not belong to an adapter. */
static const struct ntk_adapter_row *adapter_of(enum ntk_metric metric)
{
    for (size_t i = 0; i < NTK_ADAPTER_COUNTERS; i++) {
        if (ntk_adapter_rows[i].metric == metric) {
            return &ntk_adapter_rows[i];
        }
    }
    return NULL;
}

static void add_port_key(struct view *view, const struct ntk_point *point)
{
    static const char *const ends[] = { "device", "port" };
    const char *word = ntk_adapter_words[adapter_of(view->row->source)->family];
    char label[NTK_POINTS_LABEL_BYTES];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(label, sizeof label, "%s_%s", word, ends[i]);
        add_key(view, ntk_points_label_get(point, label, strlen(label)));
    }
}

static bool make_key(struct view *view, const struct ntk_point *point)
{
    const char *at = view->row->labels;
    struct spec spec;
    uint64_t card = 0;
    uint64_t core = 0;
    char number[24];

    ntk_buf_reset(&view->key);
    if (is_of_device(view)) {
        if (!card_of(view, point, &card, &core)) {
            return false;
        }
        snprintf(number, sizeof number, "%u", (unsigned)card);
        add_key(view, number);
    } else if (view->component == COMPONENT_PORT) {
        add_port_key(view, point);
    }
    while (next_spec(&at, &spec)) {
        if (spec.is_value) {
            continue;
        }
        if (view->component == COMPONENT_CARD && spec.from_bytes == 4 &&
            memcmp(spec.from, "core", 4) == 0) {
            snprintf(number, sizeof number, "%u", (unsigned)core);
            add_key(view, number);
        } else {
            add_key(view, ntk_points_label_get(point, spec.from, spec.from_bytes));
        }
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

/* Computes the value of a group; false if it has none. */
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
    case NTK_NAME_NOT:
        out->is_integer = group->is_integer && group->integer <= 1;
        value = 1 - value;
        break;
    }
    out->number = value * view->row->scale;
    out->integer = !out->is_integer                 ? 0
                   : view->row->how == NTK_NAME_NOT ? 1 - group->integer
                                                    : group->integer;
    return true;
}

/* ---- labels of the new point ---- */

NTK_ORDER(by_name, struct ntk_points_label, NTK_TEXT(name));

/* Storage for texts of labels that are not borrowed. */
struct label_texts {
    char names[LABELS_MAX][32];
    char values[LABELS_MAX][32];
    char id[NTK_POINTS_LABEL_BYTES];
};

/* Takes the next part of a key. */
static const char *cut(char **key)
{
    char *part = *key;
    char *end = strchr(part, SEPARATOR);

    *end = '\0';
    *key = end + 1;
    return part;
}

static const struct ntk_points_device *device_of(const struct view *view, const char *card)
{
    const struct ntk_points_page *page = view->page;
    const struct ntk_points_device *device = NULL;
    uint64_t index = 0;

    for (size_t i = 0; i < page->device_sample_count && ntk_str_parse_u64(card, &index) == 0; i++) {
        device = page->devices[i].index == index ? &page->devices[i] : device;
    }
    return device;
}

/* Adds the common labels of a card's series. */
static size_t card_labels(const struct view *view, const char *card,
                          struct ntk_points_label *labels)
{
    const struct ntk_points_page *page = view->page;
    const struct ntk_points_device *device = device_of(view, card);
    size_t count = 0;

    labels[count++] = (struct ntk_points_label){ "driver", page->driver_version };
    labels[count++] = (struct ntk_points_label){ "mlu", card };
    labels[count++] = (struct ntk_points_label){ "model", device ? device->name : "" };
    labels[count++] = (struct ntk_points_label){ "node", page->host_name };
    labels[count++] = (struct ntk_points_label){ "sn", device ? device->serial_number : "" };
    labels[count++] = (struct ntk_points_label){ "type", "mlu" };
    return count;
}

/* Adds the labels of a device by the conventions of OpenTelemetry. */
static size_t device_labels(const struct view *view, const char *index, struct label_texts *texts,
                            struct ntk_points_label *labels)
{
    const struct ntk_points_page *page = view->page;
    const struct ntk_points_device *device = device_of(view, index);
    size_t count = 0;

    snprintf(texts->id, sizeof texts->id, "%s%s", page->has_cards ? "mlu" : "neuron", index);
    labels[count++] = (struct ntk_points_label){ "hw_driver_version", page->driver_version };
    labels[count++] = (struct ntk_points_label){ "hw_id", texts->id };
    labels[count++] = (struct ntk_points_label){ "hw_model", device ? device->name : "" };
    labels[count++] = (struct ntk_points_label){ "hw_name", texts->id };
    labels[count++] =
        (struct ntk_points_label){ "hw_serial_number", device ? device->serial_number : "" };
    labels[count++] = (struct ntk_points_label){ "hw_type", "gpu" };
    labels[count++] =
        (struct ntk_points_label){ "hw_vendor", page->has_cards ? "Cambricon" : "AWS" };
    return count;
}

static size_t port_labels(const char *adapter, const char *port, struct label_texts *texts,
                          struct ntk_points_label *labels)
{
    size_t count = 0;

    snprintf(texts->id, sizeof texts->id, "%s/%s", adapter, port);
    labels[count++] = (struct ntk_points_label){ "hw_id", texts->id };
    labels[count++] = (struct ntk_points_label){ "hw_name", adapter };
    labels[count++] = (struct ntk_points_label){ "hw_type", "network" };
    labels[count++] = (struct ntk_points_label){ "hw_vendor", "AWS" };
    return count;
}

/* Adds the labels of the group's component and of the row; splits the key in place. */
static size_t group_labels(const struct view *view, char *key, struct label_texts *texts,
                           struct ntk_points_label *labels)
{
    const char *at = view->row->labels;
    struct spec spec;
    size_t count = 0;

    if (is_of_device(view)) {
        const char *card = cut(&key);
        count = view->component == COMPONENT_CARD ? card_labels(view, card, labels)
                                                  : device_labels(view, card, texts, labels);
    } else if (view->component == COMPONENT_PORT) {
        const char *adapter = cut(&key);
        const char *port = cut(&key);
        count = port_labels(adapter, port, texts, labels);
    }
    for (size_t own = 0; own < LABELS_MAX && next_spec(&at, &spec); own++) {
        snprintf(texts->names[own], sizeof *texts->names, "%.*s", (int)spec.name_bytes, spec.name);
        snprintf(texts->values[own], sizeof *texts->values, "%.*s", (int)spec.from_bytes,
                 spec.from);
        labels[count++] =
            (struct ntk_points_label){ texts->names[own],
                                       spec.is_value ? texts->values[own] : cut(&key) };
    }
    return count;
}

static void emit(const struct view *view, char *key, const struct group *group,
                 void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    struct ntk_points_label labels[NTK_POINTS_LABELS_MAX + 1] = { { 0 } };
    struct label_texts texts;
    const struct ntk_labels *said = view->page->labels;
    struct ntk_point point = { .has_instance_labels = view->row->list != NTK_NAME_LIST_MLU,
                               .labels = labels,
                               .began_ns = group->began_ns };
    size_t kept = 0;

    if (!make_value(view, group, &point)) {
        return;
    }
    size_t count = group_labels(view, key, &texts, labels);
    /* an empty label is absent; a user's label has priority */
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

static enum component component_of(const struct ntk_name_row *row)
{
    switch (row->list) {
    case NTK_NAME_LIST_MLU:
        return row->labels[0] == '-' ? COMPONENT_NONE : COMPONENT_CARD;
    case NTK_NAME_LIST_OTEL:
        return adapter_of(row->source) ? COMPONENT_PORT : COMPONENT_DEVICE;
    default:
        return COMPONENT_NONE;
    }
}

static void walk_row(const struct ntk_points_page *page, const struct ntk_name_row *row,
                     void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    struct view view = { .page = page, .row = row, .component = component_of(row) };

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

void ntk_points_view_walk(const struct ntk_points_page *page, const struct ntk_name_row *row,
                          void (*visit)(const struct ntk_point *point, void *ctx), void *ctx)
{
    if (row->list == NTK_NAME_LIST_MLU && !page->has_cards) {
        return;
    }
    do {
        walk_row(page, row, visit, ctx);
        row = ntk_name_next(row);
    } while (row && row->is_part);
}
