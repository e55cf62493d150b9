/* SPDX-License-Identifier: MIT */
/* The tables of keys in docs/formats/report.md are generated from the schema, which is made from
 * the rows that write and read a report, and from report.shape.json. NTK_UPDATE=1 in the
 * environment rewrites them. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "shared/report/report_schema.h"
#include "tests/support/page.h"
#include "tests/support/unit.h"

#define PATH_BYTES 512

struct walk {
    json_t *definitions;
    json_t *seen; /* definitions with rows that have been written */
    struct ntk_buf *out;
};

/* The names of a pattern in words. */
static const char *pattern_words(const char *pattern)
{
    static const char *const words[][2] = { { "^(0|", "<number>" },
                                            { "^sg_", "sg_NN" },
                                            { "^v[0-9]+d", "vNd" },
                                            { "^v[0-9]+$", "vN" },
                                            { "^nc_v", "nc_vN.<number>" } };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(pattern, words[i][0], strlen(words[i][0])) == 0) {
            return words[i][1];
        }
    }
    fail_msg("no words for the keys %s", pattern);
    return NULL;
}

static bool is_required(const json_t *node, const char *key)
{
    const json_t *required = json_object_get(node, "required");

    for (size_t i = 0; i < json_array_size(required); i++) {
        if (strcmp(json_string_value(json_array_get(required, i)), key) == 0) {
            return true;
        }
    }
    return false;
}

static void add_keys(struct ntk_buf *out, json_t *node, bool are_required)
{
    const char *key;
    json_t *child;

    json_object_foreach(json_object_get(node, "properties"), key, child)
    {
        if (is_required(node, key) == are_required) {
            ntk_buf_add_format(out, "%s`%s`", out->bytes_count > 0 ? ", " : "", key);
        }
    }
    ntk_buf_add_text(out, out->bytes_count > 0 ? "" : "–");
}

static void add_object(struct ntk_buf *out, json_t *node, const char *path)
{
    struct ntk_buf texts[3] = { 0 };
    const char *cells[3];

    ntk_buf_add_format(&texts[0], path[0] ? "`%s`" : "the report", path);
    add_keys(&texts[1], node, true);
    add_keys(&texts[2], node, false);
    for (size_t i = 0; i < 3; i++) {
        cells[i] = ntk_buf_text_get(&texts[i]);
    }
    test_page_add_row(out, cells, 3, 1);
    for (size_t i = 0; i < 3; i++) {
        ntk_buf_fini(&texts[i]);
    }
}

static void walk(struct walk *w, json_t *node, const char *path)
{
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    char below[PATH_BYTES];
    const char *key;
    json_t *child;

    if (ref) {
        ref = strrchr(ref, '/') + 1;
        if (!json_object_get(w->seen, ref)) {
            json_object_set_new(w->seen, ref, json_true());
            walk(w, json_object_get(w->definitions, ref), path);
        }
        return;
    }
    if (json_is_object(json_object_get(node, "items"))) {
        snprintf(below, sizeof below, "%s[]", path);
        walk(w, json_object_get(node, "items"), below);
    }
    if (json_object_size(json_object_get(node, "properties")) > 0) {
        add_object(w->out, node, path);
    }
    json_object_foreach(json_object_get(node, "properties"), key, child)
    {
        snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "." : "", key);
        walk(w, child, below);
    }
    json_object_foreach(json_object_get(node, "patternProperties"), key, child)
    {
        snprintf(below, sizeof below, "%s.%s", path, pattern_words(key));
        walk(w, child, below);
    }
}

static void the_report_page_lists_every_schema_key(void **state)
{
    char *text = ntk_report_schema_make();
    json_t *schema = json_loads(text, 0, NULL);
    struct ntk_buf table = { 0 };
    struct walk w = { json_object_get(schema, "$defs"), json_object(), &table };

    assert_non_null(schema);
    ntk_buf_add_text(&table, "| Object | Keys that are always present | Other keys |\n"
                             "|---|---|---|\n");
    walk(&w, schema, "");
    assert_int_equal(json_object_size(w.seen), json_object_size(w.definitions));
    test_page_check("docs/formats/report.md", &table, 1);
    ntk_buf_fini(&table);
    json_decref(w.seen);
    json_decref(schema);
    free(text);
}

/* ---- the keys of an object ---- */

static const char *description_of(const json_t *property)
{
    return json_string_value(json_object_get(property, "description"));
}

/* One row per description, with all keys that have it. */
static void add_contents(struct ntk_buf *out, json_t *properties)
{
    json_t *seen = json_object();
    const char *key;
    json_t *property;

    json_object_foreach(properties, key, property)
    {
        const char *content = description_of(property);
        struct ntk_buf keys = { 0 };
        const char *other;
        json_t *candidate;

        if (!content || json_object_get(seen, content)) {
            continue;
        }
        json_object_set_new(seen, content, json_true());
        json_object_foreach(properties, other, candidate)
        {
            if (description_of(candidate) && strcmp(description_of(candidate), content) == 0) {
                ntk_buf_add_format(&keys, "%s`%s`", keys.bytes_count > 0 ? ", " : "", other);
            }
        }
        const char *cells[] = { ntk_buf_text_get(&keys), content };
        test_page_add_row(out, cells, 2, 2);
        ntk_buf_fini(&keys);
    }
    json_decref(seen);
}

static void the_report_page_documents_the_extension_keys(void **state)
{
    static const struct {
        const char *object; /* of $defs */
        const char *heading;
    } contents[] = {
        { "runtime_ext", "Key of a process" },
        { "ext_core", "Key of a core" },
        { "machine_ext", "Machine key" },
        { "ext_rank", "Key of a rank" },
    };
    enum { TABLES = sizeof contents / sizeof *contents };
    char *text = ntk_report_schema_make();
    json_t *schema = json_loads(text, 0, NULL);
    struct ntk_buf tables[TABLES] = { 0 };

    assert_non_null(schema);
    for (size_t i = 0; i < TABLES; i++) {
        json_t *object = json_object_get(json_object_get(schema, "$defs"), contents[i].object);

        ntk_buf_add_format(&tables[i], "| %s | Content |\n|---|---|\n", contents[i].heading);
        add_contents(&tables[i], json_object_get(object, "properties"));
    }
    test_page_check("docs/formats/report.md", tables, TABLES);
    for (size_t i = 0; i < TABLES; i++) {
        ntk_buf_fini(&tables[i]);
    }
    json_decref(schema);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_page_lists_every_schema_key),
        cmocka_unit_test(the_report_page_documents_the_extension_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
