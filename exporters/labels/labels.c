/* SPDX-License-Identifier: MIT */
/* labels - holds a short sorted table, which is validated when it is filled. */
#include "exporters/labels/labels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/metrics/catalogue.h"

#define FILE_BYTES_MAX (64 * 1024)

struct ntk_labels ntk_labels_option;

/* Labels that series have in addition to the labels of the catalogue: of the instance, the
 * application, the format, the scrape. */
static const char others[] =
    "availability_zone container_name instance instance_id instance_name instance_type job le "
    "namespace pid pod_name quantile region runtime_tag subnet_id ultraserver_id user";

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; *at;) {
        size_t bytes = strcspn(at, " ");
        if (bytes == length && !memcmp(at, word, length)) {
            return true;
        }
        at += bytes + strspn(at + bytes, " ");
    }
    return false;
}

static bool is_taken(const char *name)
{
    bool taken = has_word(others, name);

    for (size_t i = 0; i < NTK_METRIC_COUNT && !taken; i++) {
        const char *labels = ntk_metrics[i].labels;
        const char *first = strchr(labels, ' '); /* the names follow the letter of the set */
        taken = first && has_word(first + 1, name);
    }
    return taken;
}

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return name[0] && (name[0] < '0' || name[0] > '9') && strncmp(name, "__", 2) != 0 &&
           name[strspn(name, letters)] == '\0';
}

NTK_ORDER(by_name, struct ntk_labels_row, NTK_TEXT(name));

int ntk_labels_add(struct ntk_labels *labels, const char *text, struct ntk_err *err)
{
    const char *equals = strchr(text, '=');
    size_t name_bytes = equals ? (size_t)(equals - text) : 0;
    struct ntk_labels_row row = { 0 };

    if (!equals || name_bytes >= sizeof row.name) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected NAME=VALUE, with a name of at most %zu characters",
                           sizeof row.name - 1);
    }
    memcpy(row.name, text, name_bytes);
    ntk_str_copy_clean(row.value, sizeof row.value, equals + 1, strlen(equals + 1));
    if (!is_name(row.name)) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "expected a name of letters, digits and _ that does not begin with a digit or __");
    }
    if (!row.value[0]) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "label '%s' has no value", row.name);
    }
    if (is_taken(row.name)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "label '%s' already exists in metrics: choose a different name",
                           row.name);
    }
    for (size_t i = 0; i < labels->count; i++) {
        if (!strcmp(labels->rows[i].name, row.name)) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "duplicate label '%s'", row.name);
        }
    }
    if (labels->count == NTK_LABELS_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many labels (at most %d)",
                           NTK_LABELS_MAX);
    }
    labels->rows[labels->count++] = row;
    qsort(labels->rows, labels->count, sizeof *labels->rows, by_name);
    return 0;
}

int ntk_labels_add_file(struct ntk_labels *labels, const char *path, struct ntk_err *err)
{
    uint8_t *bytes;
    size_t bytes_count;
    unsigned number = 0;
    int ret = ntk_fs_read(path, FILE_BYTES_MAX, &bytes, &bytes_count, err);

    if (ret < 0) {
        return ret;
    }
    char *rest = (char *)bytes; /* ends with a NUL */
    for (char *line; ret >= 0 && (line = strsep(&rest, "\n"));) {
        struct ntk_err why = { 0 };
        number++;
        line[strcspn(line, "\r")] = '\0';
        if (line[0] && line[0] != '#' && ntk_labels_add(labels, line, &why) < 0) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: line %u: %s", path, number,
                              why.text);
        }
    }
    free(bytes);
    return ret;
}

static int add(const char *value, struct ntk_err *err)
{
    return ntk_labels_add(&ntk_labels_option, value, err);
}

static int add_file(const char *value, struct ntk_err *err)
{
    return ntk_labels_add_file(&ntk_labels_option, value, err);
}

int (*const ntk_labels_call_add)(const char *, struct ntk_err *) = add;
int (*const ntk_labels_call_add_file)(const char *, struct ntk_err *) = add_file;
