/* SPDX-License-Identifier: MIT */
/* report_schema - generates the JSON Schema of a report from its tables and report.shape.json; see
 * report_schema.h. */
#include "shared/report/report_schema.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "shared/metrics/percentile.h"
#include "shared/report/report_part.h"
#include "shared/report/shape.h" /* generated from report.shape.json */

/* ---- names that the shape can use ---- */

static const struct {
    const char *name;
    const struct report_field *fields;
} tables[] = {
#define TABLE(name) { #name, report_fields_##name },
    REPORT_TABLES(TABLE)
#undef TABLE
};

static const char *const health_actions[] = {
#define NTK_HEALTH_ACTION(symbol, name, sentence) name,
#include "shared/metrics/health.def"
};
static const char *const health_reasons[] = {
#define NTK_HEALTH_REASON(symbol, name, verdict, action, sentence) name,
#include "shared/metrics/health.def"
};

static const char *const adapter_counters[] = {
#define NTK_ADAPTER_COUNTER(family, symbol, name, metric) name,
#include "shared/abi/adapter.def"
};

static const struct {
    const char *name;
    const char *const *words; /* NULL entries are gaps */
    size_t count;
} lists[] = {
    { "health_verdicts", ntk_health_verdict_names, NTK_HEALTH_VERDICT_COUNT },
    { "health_evidence", ntk_health_evidence_names, NTK_HEALTH_EVIDENCE_COUNT },
    { "health_actions", health_actions, NTK_HEALTH_ACTION_COUNT },
    { "health_reasons", health_reasons, NTK_HEALTH_REASON_COUNT },
    { "percentiles", ntk_percentile_names, NTK_PERCENTILE_COUNT },
    { "cpu", ntk_cpu_field_names, NTK_CPU_FIELD_COUNT },
#define NTK_ADAPTER(family, word)                                 \
    { #word "_counters", adapter_counters + NTK_##family##_FIRST, \
      NTK_##family##_END - NTK_##family##_FIRST },
#include "shared/abi/adapter.def"
    { "ecc", ntk_ecc_names, NTK_ECC_COUNT },
    { "categories", ntk_memory_category_names, NTK_MEMORY_CATEGORY_COUNT },
    { "error_classes", ntk_error_class_names, NTK_ERROR_CLASS_COUNT },
    { "collectives", ntk_collective_names, NTK_COLLECTIVE_COUNT },
    { "events", ntk_event_kind_names, NTK_EVENT_KIND_COUNT },
    { "host_memory", ntk_memory_group_keys, NTK_GROUP_CONSTANTS },
    { "core_memory", ntk_memory_group_keys + NTK_GROUP_CONSTANTS,
      NTK_GROUP_COUNT - NTK_GROUP_CONSTANTS },
};

/* ---- rows ---- */

static const char *const type_names[] = {
    [REPORT_U64] = "count",   [REPORT_U32] = "count",           [REPORT_DEVICE] = "count",
    [REPORT_BOOL] = "flag",   [REPORT_COUNT] = "count",         [REPORT_DOUBLE] = "positive",
    [REPORT_RATIO] = "share", [REPORT_PERCENT] = "percent",     [REPORT_TEXT] = "text",
    [REPORT_UUID] = "uuid",   [REPORT_HISTOGRAM] = "histogram",
};

static json_t *make_reference(const char *name)
{
    return json_pack("{s:s+}", "$ref", "#/$defs/", name);
}

static json_t *make_object(const json_t *start)
{
    json_t *object = start ? json_copy((json_t *)(uintptr_t)start) : json_object();

    if (!start || !json_object_get(start, "type")) {
        json_object_set_new(object, "type", json_string("object"));
    }
    json_object_set_new(object, "properties", json_object());
    json_object_set_new(object, "additionalProperties", json_false());
    json_object_set_new(object, "required", json_array());
    return object;
}

static void add_property(json_t *object, const char *key, json_t *schema, bool is_required)
{
    json_object_set_new(json_object_get(object, "properties"), key, schema);
    if (is_required) {
        json_array_append_new(json_object_get(object, "required"), json_string(key));
    }
}

static json_t *make_row(const struct report_field *field)
{
    if (field->type == REPORT_WORD) { /* the only type without a name */
        json_t *words = json_array();
        for (size_t i = field->sparse; i < field->count; i++) {
            json_array_append_new(words, json_string(field->names[i]));
        }
        return json_pack("{s:o}", "enum", words);
    }
    const char *type = type_names[field->type];
    if (field->count == 0) {
        return make_reference(field->type == REPORT_BOOL && field->sparse ? "true" : type);
    }
    if (!field->names) {
        return json_pack("{s:s, s:o, s:I, s:I}", "type", "array", "items", make_reference(type),
                         "minItems", (json_int_t)field->count, "maxItems",
                         (json_int_t)field->count);
    }
    json_t *object = make_object(NULL);
    for (size_t i = 0; i < field->count; i++) {
        add_property(object, field->names[i], make_reference(type), true);
    }
    return object;
}

static void add_table(json_t *object, const char *name)
{
    size_t i = 0;

    while (strcmp(tables[i].name, name) != 0) {
        i++;
        assert(i < sizeof tables / sizeof *tables);
    }
    for (const struct report_field *field = tables[i].fields; field->key; field++) {
        bool is_always = !field->has && !field->sparse && field->type != REPORT_HISTOGRAM;
        json_t *row = make_row(field);
        if (field->text) {
            json_object_set_new(row, "description", json_string(field->text));
        }
        add_property(object, field->key, row, is_always);
    }
}

/* ---- the shape ---- */

static json_t *expand(const json_t *node);

static void add_words(json_t *to, const char *name, const json_t *of)
{
    size_t i = 0;

    while (strcmp(lists[i].name, name) != 0) {
        i++;
        assert(i < sizeof lists / sizeof *lists);
    }
    for (size_t k = 0; k < lists[i].count; k++) {
        const char *word = lists[i].words[k];
        if (word && of) {
            add_property(to, word, expand(of), true);
        } else if (word) {
            json_array_append_new(to, json_string(word));
        }
    }
}

static json_t *expand_all(const json_t *object)
{
    json_t *all = json_object();
    const char *key;
    json_t *value;

    report_each_key(object, key, value)
    {
        json_object_set_new(all, key, expand(value));
    }
    return all;
}

static bool holds(const json_t *array, const char *text)
{
    size_t i;
    json_t *item;

    json_array_foreach(array, i, item)
    {
        if (strcmp(json_string_value(item), text) == 0) {
            return true;
        }
    }
    return false;
}

/* Removes required keys that are optional; true: all are optional. */
static void drop_optional(json_t *object, const json_t *optional)
{
    json_t *required = json_array();
    size_t i;
    json_t *key;

    json_array_foreach(json_object_get(object, "required"), i, key)
    {
        if (!json_is_true(optional) && !holds(optional, json_string_value(key))) {
            json_array_append(required, key);
        }
    }
    json_object_set_new(object, "required", required);
}

/* Adds the descriptions of properties, in the form "key key": text. */
static void add_content(json_t *object, const json_t *content)
{
    const char *keys;
    json_t *text;

    report_each_key(content, keys, text)
    {
        const char *at = keys;

        while (*at) {
            size_t bytes = strcspn(at, " ");
            char key[64];

            (void)snprintf(key, sizeof key, "%.*s", (int)bytes, at);
            json_t *property = json_object_get(json_object_get(object, "properties"), key);
            assert(property);
            json_object_set(property, "description", text);
            at += bytes + (at[bytes] == ' ');
        }
    }
}

/* Builds the object from fields, names and properties; other keys of the node are kept. */
static json_t *expand_object(const json_t *node)
{
    json_t *object = make_object(node);
    const json_t *patterns = json_object_get(node, "patternProperties");
    const char *names = json_string_value(json_object_get(node, "names"));
    const char *key;
    json_t *value;
    size_t i;

    json_array_foreach(json_object_get(node, "fields"), i, value)
    {
        add_table(object, json_string_value(value));
    }
    if (names) {
        add_words(object, names, json_object_get(node, "of"));
    }
    report_each_key(json_object_get(node, "properties"), key, value)
    {
        bool is_new = !json_object_get(json_object_get(object, "properties"), key);
        add_property(object, key, expand(value), is_new);
    }
    drop_optional(object, json_object_get(node, "optional"));
    add_content(object, json_object_get(node, "content"));
    if (patterns) {
        json_object_set_new(object, "patternProperties", expand_all(patterns));
    }
    json_object_del(object, "content");
    json_object_del(object, "fields");
    json_object_del(object, "names");
    json_object_del(object, "of");
    json_object_del(object, "optional");
    return object;
}

/* Copies the node, with one of its keys replaced by its JSON Schema form. */
static json_t *replace(const json_t *node, const char *key, const char *by, json_t *value)
{
    json_t *object = json_copy((json_t *)(uintptr_t)node);

    json_object_del(object, key);
    json_object_set_new(object, by, value);
    return object;
}

static json_t *expand(const json_t *node)
{
    const json_t *item = json_object_get(node, "list");
    const json_t *numbered = json_object_get(node, "by_number");
    const char *words = json_string_value(json_object_get(node, "words"));

    if (json_is_string(node)) {
        return make_reference(json_string_value(node));
    }
    if (item) {
        json_t *list = replace(node, "list", "items", expand(item));
        if (!json_object_get(list, "type")) {
            json_object_set_new(list, "type", json_string("array"));
        }
        return list;
    }
    if (numbered) {
        return json_pack("{s:s, s:{s:o}, s:b}", "type", "object", "patternProperties",
                         "^(0|[1-9][0-9]*)$", expand(numbered), "additionalProperties", 0);
    }
    if (words) {
        json_t *list = json_array();
        add_words(list, words, NULL);
        return json_pack("{s:o}", "enum", list);
    }
    if (json_object_get(node, "fields") || json_object_get(node, "names") ||
        json_object_get(node, "properties")) {
        return expand_object(node);
    }
    return json_deep_copy(node);
}

char *ntk_report_schema_make(void)
{
    json_t *shape = json_loadb((const char *)report_shape, sizeof report_shape, 0, NULL);
    json_t *schema = expand(shape);

    json_object_set_new(schema, "$defs", expand_all(json_object_get(shape, "$defs")));
    char *text = json_dumps(schema, JSON_INDENT(2));
    json_decref(shape);
    json_decref(schema);
    return text;
}
