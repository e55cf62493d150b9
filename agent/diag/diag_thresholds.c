/* SPDX-License-Identifier: MIT */
#include "agent/diag/diag_thresholds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/diag/diag.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"

/* The thresholds contain only public facts: the capacity of a machine's paths is not published, so
 * bandwidths have no threshold here. */
const char ntk_diag_thresholds_shipped[] = "# machine  test             what  side   value\n"
                                           "*          ecc-uncorrected  fail  above  0\n"
                                           "*          counters         fail  above  0\n"
                                           "*          disk-free        warn  below  1G\n"
                                           "*          shm-free         warn  below  64M\n"
                                           "*          shm-free         fail  below  4M\n"
                                           "*          clock            warn  above  1\n";

enum { COLUMNS = 5 };

static int refuse(struct ntk_err *err, size_t line, const char *word, const char *what)
{
    char clean[64];

    ntk_str_copy_clean(clean, sizeof clean, word, strlen(word));
    return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "line %zu: '%s' %s", line, clean, what);
}

static int test_find(const char *name)
{
    for (int i = 0; i < NTK_DIAG_TEST_COUNT; i++) {
        if (strcmp(ntk_diag_tests[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Parses a value such as "5G" for bytes and rates, else a number. */
static int value_parse(const char *text, enum ntk_diag_unit unit, double *out_value)
{
    uint64_t bytes = 0;

    if (unit == NTK_DIAG_BYTES || unit == NTK_DIAG_RATE) {
        int ret = ntk_str_parse_bytes(text, &bytes);

        *out_value = (double)bytes;
        return ret;
    }
    return ntk_str_parse_double(text, out_value) == 0 && *out_value >= 0.0 ? 0 : -EINVAL;
}

static bool is_machine(const char *name)
{
    const char *star = strchr(name, '*');

    return strlen(name) < sizeof(((struct ntk_diag_threshold *)0)->machine) &&
           (!star || star[1] == '\0');
}

static int row_parse(char *words[COLUMNS], size_t line, struct ntk_diag_threshold *row,
                     struct ntk_err *err)
{
    int test = test_find(words[1]);

    if (!is_machine(words[0])) {
        return refuse(err, line, words[0],
                      "is not a valid machine: expected a name, or a prefix and \"*\"");
    }
    if (test < 0) {
        return refuse(err, line, words[1],
                      "is not a test (neuron-monitor diag --list shows the tests)");
    }
    if (ntk_diag_tests[test].unit == NTK_DIAG_NONE) {
        return refuse(err, line, words[1], "has no measured value, so it cannot have a threshold");
    }
    if (strcmp(words[2], "warn") != 0 && strcmp(words[2], "fail") != 0) {
        return refuse(err, line, words[2], "is invalid: expected warn or fail");
    }
    if (strcmp(words[3], "below") != 0 && strcmp(words[3], "above") != 0) {
        return refuse(err, line, words[3], "is invalid: expected below or above");
    }
    ntk_str_copy(row->machine, sizeof row->machine, words[0]);
    row->test = (uint32_t)test;
    row->fails = words[2][0] == 'f';
    row->below = words[3][0] == 'b';
    if (value_parse(words[4], ntk_diag_tests[test].unit, &row->value) < 0) {
        return refuse(err, line, words[4],
                      "is not a valid value for this test: expected a number (for bytes and bytes "
                      "per second, optionally with K, M, G or T)");
    }
    return 0;
}

/* Parses a line; modifies `text`. */
static int line_parse(char *text, size_t line, struct ntk_diag_threshold *row, bool *out_is_row,
                      struct ntk_err *err)
{
    char *words[COLUMNS] = { NULL };
    size_t count = 0;
    char *rest = NULL;
    char *comment = strchr(text, '#');

    if (comment) {
        *comment = '\0';
    }
    for (char *word = strtok_r(text, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        if (count == COLUMNS) {
            return refuse(err, line, word,
                          "is unexpected: expected MACHINE TEST warn|fail below|above VALUE");
        }
        words[count++] = word;
    }
    *out_is_row = count > 0;
    if (count > 0 && count < COLUMNS) {
        return refuse(err, line, words[count - 1],
                      "ends an incomplete line: expected MACHINE TEST warn|fail below|above VALUE");
    }
    return count > 0 ? row_parse(words, line, row, err) : 0;
}

/* Replaces rows before `first` for the same test and machine. */
static void replace(struct ntk_vec *rows, size_t *first, const struct ntk_diag_threshold *row)
{
    for (size_t i = *first; i-- > 0;) {
        const struct ntk_diag_threshold *old = ntk_vec_at(rows, i);

        if (old->test == row->test && strcmp(old->machine, row->machine) == 0) {
            ntk_vec_remove(rows, i);
            --*first;
        }
    }
}

int ntk_diag_thresholds_parse(struct ntk_diag_thresholds *thresholds, const char *text,
                              size_t bytes, struct ntk_err *err)
{
    size_t first = thresholds->rows.count;
    size_t line = 0;
    int ret = 0;
    char *copy;

    if (bytes > NTK_DIAG_THRESHOLDS_BYTES_MAX || memchr(text, '\0', bytes)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "longer than %u bytes, or not text",
                           NTK_DIAG_THRESHOLDS_BYTES_MAX);
    }
    copy = strndup(text, bytes);
    if (!copy) {
        return ntk_err_no_memory(err);
    }
    for (char *at = copy; ret == 0 && at;) {
        struct ntk_diag_threshold row = { .machine = "" };
        char *next = strchr(at, '\n');
        bool is_row = false;

        if (next) {
            *next++ = '\0';
        }
        ret = line_parse(at, ++line, &row, &is_row, err);
        if (ret == 0 && is_row) {
            replace(&thresholds->rows, &first, &row);
            if (thresholds->rows.count == NTK_DIAG_THRESHOLDS_MAX) {
                ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many lines (at most %u)",
                                  NTK_DIAG_THRESHOLDS_MAX);
            } else if (ntk_vec_push(&thresholds->rows, &row) < 0) {
                ret = ntk_err_no_memory(err);
            }
        }
        at = next;
    }
    free(copy);
    return ret;
}

int ntk_diag_thresholds_read(struct ntk_diag_thresholds *thresholds, const char *path,
                             struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_fs_read(path, NTK_DIAG_THRESHOLDS_BYTES_MAX, &bytes, &count, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_diag_thresholds_parse(thresholds, (const char *)bytes, count, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    free(bytes);
    return ret;
}

int ntk_diag_thresholds_init(struct ntk_diag_thresholds *thresholds, struct ntk_err *err)
{
    ntk_vec_init(&thresholds->rows, sizeof(struct ntk_diag_threshold));
    return ntk_diag_thresholds_parse(thresholds, ntk_diag_thresholds_shipped,
                                     strlen(ntk_diag_thresholds_shipped), err);
}

void ntk_diag_thresholds_fini(struct ntk_diag_thresholds *thresholds)
{
    ntk_vec_fini(&thresholds->rows);
}

static bool fits(const char *pattern, const char *machine)
{
    size_t length = strlen(pattern);

    if (length > 0 && pattern[length - 1] == '*') {
        return strncmp(pattern, machine, length - 1) == 0;
    }
    return strcmp(pattern, machine) == 0;
}

const struct ntk_diag_threshold *
ntk_diag_thresholds_judge(const struct ntk_diag_thresholds *thresholds, const char *machine,
                          uint32_t test, double figure, bool *out_any)
{
    const struct ntk_diag_threshold *worst = NULL;

    *out_any = false;
    ntk_vec_each(struct ntk_diag_threshold, row, &thresholds->rows) {
        if (row->test != test || !fits(row->machine, machine)) {
            continue;
        }
        *out_any = true;
        if ((row->below ? figure < row->value : figure > row->value) &&
            (!worst || (row->fails && !worst->fails))) {
            worst = row;
        }
    }
    return worst;
}
