/* SPDX-License-Identifier: MIT */
/* The tables of docs/health.md are generated from health.def. NTK_UPDATE=1 in the environment
 * rewrites them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/event_abi.h"
#include "shared/abi/result.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/metrics/health.h"
#include "tests/support/unit.h"

static const char *const status_folders[NTK_STATUS_COUNT] = {
#define NTK_STATUS(id, symbol, folder, datastore_id) [id] = (folder),
#include "shared/abi/status.def"
#undef NTK_STATUS
};

#define KEY_ECC(text) (text), 0
#define KEY_COMPONENT(text) (text), 0
#define KEY_DIAG(text) (text), 0
#define KEY_STATUS(symbol) NULL, NTK_STATUS_##symbol
#define KEY_PROCESS(symbol) NULL, NTK_RESULT_##symbol
static const struct {
    const char *origin;
    const char *key;
    uint32_t status; /* STATUS, PROCESS */
    enum ntk_health_reason reason;
} signs[] = {
#define NTK_HEALTH_SIGNAL(symbol, origin, key, reason, clears) \
    { #origin, KEY_##origin(key), NTK_HEALTH_REASON_##reason },
#include "shared/metrics/health.def"
};

static void add_signs(struct ntk_buf *text, enum ntk_health_reason reason)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (signs[i].reason != reason) {
            continue;
        }
        ntk_buf_add_text(text, count++ > 0 ? ", " : "");
        if (strcmp(signs[i].origin, "PROCESS") == 0) {
            ntk_buf_add_text(text, "execution: ");
            if (signs[i].status == NTK_RESULT_HARDWARE_ERROR) {
                ntk_buf_add_text(text, "hardware");
            } else {
                ntk_buf_add_u64(text, signs[i].status);
            }
        } else if (strcmp(signs[i].origin, "STATUS") == 0) {
            ntk_buf_add_format(text, "`%s`", status_folders[signs[i].status]);
        } else if (strcmp(signs[i].origin, "DIAG") == 0) {
            ntk_buf_add_format(text, "diagnosis: %s", signs[i].key);
        } else if (strcmp(signs[i].key, "*") == 0) {
            ntk_buf_add_text(text, "any other component");
        } else {
            ntk_buf_add_format(text, "%s`%s`", signs[i].origin[0] == 'C' ? "component " : "",
                               signs[i].key);
        }
    }
    ntk_buf_add_text(text, count == 0 ? "–" : "");
}

static void render_reasons(struct ntk_buf *text)
{
    ntk_buf_add_text(text,
                     "| Reason | verdict | action | signs | what it is |\n|---|---|---|---|---|\n");
    for (int i = 0; i < NTK_HEALTH_REASON_COUNT; i++) {
        const struct ntk_health_reason_row *row = &ntk_health_reasons[i];

        ntk_buf_add_format(text, "| `%s` | %s | `%s` | ", row->name,
                           ntk_health_verdict_names[row->verdict],
                           ntk_health_actions[row->action].name);
        add_signs(text, (enum ntk_health_reason)i);
        ntk_buf_add_format(text, " | %s |\n", row->sentence);
    }
}

static void render_actions(struct ntk_buf *text)
{
    ntk_buf_add_text(text, "\n| Action | |\n|---|---|\n");
    for (int i = 0; i < NTK_HEALTH_ACTION_COUNT; i++) {
        ntk_buf_add_format(text, "| `%s` | %s |\n", ntk_health_actions[i].name,
                           ntk_health_actions[i].sentence);
    }
}

/* Copies the page with the table between its marks. */
static void replace(struct ntk_buf *page, const char *name, void (*render)(struct ntk_buf *text))
{
    struct ntk_buf out = { 0 };
    char begin[64];
    char end[64];

    snprintf(begin, sizeof begin, "<!-- %s:begin -->\n", name);
    snprintf(end, sizeof end, "<!-- %s:end -->\n", name);
    const char *text = ntk_buf_text_get(page);
    const char *from = strstr(text, begin);
    const char *to = strstr(text, end);
    assert_non_null(from);
    assert_non_null(to);
    from += strlen(begin);
    ntk_buf_add_format(&out, "%.*s", (int)(from - text), text);
    render(&out);
    ntk_buf_add_text(&out, to);
    assert_true(ntk_buf_ok(&out));
    ntk_buf_fini(page);
    *page = out;
}

static void the_health_page_has_the_tables_of_actions_and_reasons(void **state)
{
    const char *source = getenv("NTK_SOURCE_DIR");
    struct ntk_buf page = { 0 };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    char path[1024];

    assert_non_null(source);
    snprintf(path, sizeof path, "%s/docs/health.md", source);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, &err), 0);
    ntk_buf_add_text(&page, (const char *)bytes);
    replace(&page, "actions", render_actions);
    replace(&page, "reasons", render_reasons);
    if (getenv("NTK_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, page.bytes, page.bytes_count, &err), 0);
    } else {
        assert_string_equal((const char *)bytes, ntk_buf_text_get(&page));
    }
    free(bytes);
    ntk_buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        the_health_page_has_the_tables_of_actions_and_reasons) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
