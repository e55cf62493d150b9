/* SPDX-License-Identifier: MIT */
/* Which labels are accepted, in which order, and which are rejected with which message. */
#include "exporters/labels/labels.h"

#include <errno.h>

#include <stdio.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static void labels_are_sorted_and_sanitized(void **state)
{
    struct ntk_labels labels = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_labels_add(&labels, "rack=7=a", &err), 0);
    assert_int_equal(ntk_labels_add(&labels, "_node=a\xff\n", &err), 0);
    assert_int_equal(ntk_labels_add(&labels, "Team=ml", &err), 0);
    assert_int_equal(labels.count, 3);
    assert_string_equal(labels.rows[0].name, "Team");
    assert_string_equal(labels.rows[1].name, "_node");
    assert_null(strpbrk(labels.rows[1].value, "\xff\n"));
    assert_string_equal(labels.rows[2].value, "7=a");
}

static void invalid_reserved_and_duplicate_labels_are_rejected(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
        { "node", "expected NAME=VALUE" },
        { "=x", "a name of letters" },
        { "7up=x", "a name of letters" },
        { "a-b=x", "a name of letters" },
        { "__name__=x", "a name of letters" },
        { "node=", "label 'node' has no value" },
        { "instance_id=x", "label 'instance_id'" },
        { "neuroncore=x", "label 'neuroncore'" },
        { "event_type=x", "label 'event_type'" },
        { "runtime_tag=x", "label 'runtime_tag'" },
        { "le=x", "label 'le'" },
        { "job=x", "label 'job'" },
        { "rack=9", "duplicate label 'rack'" },
    };
    struct ntk_labels labels = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_labels_add(&labels, "rack=7", &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        err = (struct ntk_err){ 0 };
        assert_int_equal(ntk_labels_add(&labels, rows[i].text, &err), -EINVAL);
        if (!strstr(err.text, rows[i].words)) {
            fail_msg("%s: %s", rows[i].text, err.text);
        }
    }
    for (int i = 1; i < NTK_LABELS_MAX; i++) {
        char text[16];
        snprintf(text, sizeof text, "l%d=x", i);
        assert_int_equal(ntk_labels_add(&labels, text, &err), 0);
    }
    assert_int_equal(ntk_labels_add(&labels, "more=x", &err), -EINVAL);
    assert_int_equal(labels.count, NTK_LABELS_MAX);
}

static void single_letter_label_names_are_accepted(void **state)
{
    struct ntk_labels labels = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_labels_add(&labels, "I=x", &err), 0);
    assert_int_equal(ntk_labels_add(&labels, "R=x", &err), 0);
}

static void a_labels_file_has_one_label_per_line(void **state)
{
    static const char good[] = "# of the rack\nrack=7\r\n\nteam=ml";
    static const char bad[] = "rack=7\n\npid=1\n";
    char *folder = test_scratch_create();
    struct ntk_labels labels = { 0 };
    struct ntk_err err = { 0 };
    char path[512];

    snprintf(path, sizeof path, "%s/labels", folder);
    assert_int_equal(ntk_fs_write(path, good, sizeof good - 1, NULL), 0);
    assert_int_equal(ntk_labels_add_file(&labels, path, &err), 0);
    assert_int_equal(labels.count, 2);
    assert_string_equal(labels.rows[0].value, "7");
    assert_string_equal(labels.rows[1].value, "ml");
    labels.count = 0;
    assert_int_equal(ntk_fs_write(path, bad, sizeof bad - 1, NULL), 0);
    assert_int_equal(ntk_labels_add_file(&labels, path, &err), -EINVAL);
    assert_non_null(strstr(err.text, "labels: line 3: label 'pid'"));
    test_scratch_destroy(folder);
    assert_true(ntk_labels_add_file(&labels, path, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_sorted_and_sanitized),
        cmocka_unit_test(invalid_reserved_and_duplicate_labels_are_rejected),
        cmocka_unit_test(single_letter_label_names_are_accepted),
        cmocka_unit_test(a_labels_file_has_one_label_per_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
