/* SPDX-License-Identifier: MIT */
/* Method: files as various prologs write them, and damaged ones. */
#include "agent/collect/job_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/unit.h"

static struct ntk_job_file file;
static struct ntk_err err;

static int read_text(const char *text)
{
    err = (struct ntk_err){ 0 };
    return ntk_job_file_read(text, strlen(text), &file, &err);
}

static void each_line_of_a_job_file_has_one_job_id(void **state)
{
    assert_int_equal(read_text("42\n43_7\r\n\n  44+0 \n42\n"), 0);
    assert_int_equal(file.count, 3);
    assert_string_equal(file.jobs[0].id, "42");
    assert_string_equal(file.jobs[1].id, "43_7");
    assert_string_equal(file.jobs[2].id, "44+0");
    assert_string_equal(file.jobs[0].user, "");
    assert_false(file.is_unended);
}

static void lines_with_a_key_describe_the_preceding_job(void **state)
{
    assert_int_equal(read_text("42\nuser=alice\nname=a=b, c\npartition=trn\ncluster=c1\n"
                               "weather=fine\n43\nuser=bob\n42\nname=again\n"),
                     0);
    assert_int_equal(file.count, 2);
    assert_string_equal(file.jobs[0].user, "alice");
    assert_string_equal(file.jobs[0].name, "again");
    assert_string_equal(file.jobs[0].partition, "trn");
    assert_string_equal(file.jobs[0].cluster, "c1");
    assert_string_equal(file.jobs[1].user, "bob");
    assert_string_equal(file.jobs[1].name, "");
}

static void an_empty_job_file_has_no_jobs(void **state)
{
    assert_int_equal(read_text(""), 0);
    assert_int_equal(file.count, 0);
    assert_int_equal(read_text("\n \n"), 0);
    assert_int_equal(file.count, 0);
}

static void a_job_file_without_a_final_line_break_is_marked_as_incomplete(void **state)
{
    assert_int_equal(read_text("42\n4"), 0);
    assert_true(file.is_unended);
    assert_int_equal(file.count, 2);
}

static void an_invalid_job_file_is_rejected_with_the_line_number(void **state)
{
    char text[NTK_JOB_FILE_BYTES_MAX + 2];
    char *at = text;

    read_text("7\n");
    assert_int_equal(read_text("42\nrm -rf\n"), -EBADMSG);
    assert_string_equal(err.text,
                        "line 2: invalid job id: only letters, digits and _.+-:@[]%/# are allowed");
    assert_int_equal(err.offset, 3);
    assert_int_equal(file.count, 1); /* untouched */
    assert_int_equal(read_text("1,2\n"), -EBADMSG);
    assert_int_equal(read_text("4\x1b[31m2\n"), -EBADMSG);
    assert_int_equal(ntk_job_file_read("4\0002\n", 4, &file, &err), -EBADMSG);
    assert_int_equal(read_text("\n\nuser=alice\n42\n"), -EBADMSG);
    assert_string_equal(err.text, "line 3: attribute before any job id");
    for (int i = 0; i <= NTK_JOB_FILE_JOBS_MAX; i++) {
        at += sprintf(at, "%d\n", i);
    }
    assert_int_equal(read_text(text), -EBADMSG);
    assert_string_equal(err.text, "line 17: too many jobs (at most 16)");
    memset(text, '1', sizeof text - 1);
    text[NTK_JOB_ID_BYTES] = '\0';
    assert_int_equal(read_text(text), -EBADMSG);
    assert_string_equal(err.text, "line 1: invalid job id: more than 63 bytes");
    text[NTK_JOB_ID_BYTES] = '1';
    text[sizeof text - 1] = '\0';
    assert_int_equal(read_text(text), -EBADMSG);
    assert_string_equal(err.text, "larger than 8192 bytes");
}

static void job_attributes_are_truncated_and_sanitized(void **state)
{
    char text[400] = "42\nname=";

    memset(text + 8, 'x', 300);
    assert_int_equal(read_text(text), 0);
    assert_int_equal(strlen(file.jobs[0].name), NTK_JOB_TEXT_BYTES - 1);
    assert_int_equal(read_text("42\nuser=a\x1b[2Jb\n"), 0);
    assert_null(strchr(file.jobs[0].user, '\x1b'));
}

static void job_file_names_are_device_and_core_numbers(void **state)
{
    static const char *const none[] = { "",   ".",     "..",          "1.", ".1",    "a",
                                        "-1", "1.2.3", "64",          "1 ", "1.x",   "0.64",
                                        "+1", "0x1",   "99999999999", "1~", ".1.swp" };
    struct ntk_job_place place = { 0 };

    assert_true(ntk_job_place_parse("15", &place));
    assert_int_equal(place.device, 15);
    assert_false(place.has_core);
    assert_true(ntk_job_place_parse("3.1", &place));
    assert_int_equal(place.device, 3);
    assert_true(place.has_core);
    assert_int_equal(place.core, 1);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (ntk_job_place_parse(none[i], &place)) {
            fail_msg("'%s' is taken", none[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_a_job_file_has_one_job_id),
        cmocka_unit_test(lines_with_a_key_describe_the_preceding_job),
        cmocka_unit_test(an_empty_job_file_has_no_jobs),
        cmocka_unit_test(a_job_file_without_a_final_line_break_is_marked_as_incomplete),
        cmocka_unit_test(an_invalid_job_file_is_rejected_with_the_line_number),
        cmocka_unit_test(job_attributes_are_truncated_and_sanitized),
        cmocka_unit_test(job_file_names_are_device_and_core_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
