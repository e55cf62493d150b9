/* SPDX-License-Identifier: MIT */
/* Method: the capture of support/ntff_sample.h, with some sections marked as other types. */
#include <stdlib.h>
#include <string.h>

#include "profiler/output/answers/output_records.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static struct ntk_ntff_section *section_of(struct ntk_ntff *ntff, unsigned type)
{
    for (size_t s = 0; s < ntff->subgraphs[0].section_count; s++) {
        if (ntff->subgraphs[0].sections[s].type == type) {
            return &ntff->subgraphs[0].sections[s];
        }
    }
    fail_msg("no section of type %u", type);
    return NULL;
}

/* The listing, as text that the caller frees. */
static char *list(const struct ntk_ntff *ntff, unsigned what)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "list");
    struct ntk_sink sink = { 0 };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;

    assert_int_equal(ntk_sink_open(&sink, path, &err), 0);
    assert_int_equal(ntk_output_records(ntff, what, &sink), 0);
    assert_int_equal(ntk_sink_commit(&sink, &err), 0);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &bytes_count, &err), 0);
    free(path);
    test_scratch_destroy(folder);
    return (char *)bytes;
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

static void unknown_records_are_shown_as_bytes(void **state)
{
    struct ntff_sample sample = { .version = 6 };
    struct ntk_buf file = { 0 };
    struct ntk_ntff *ntff = NULL;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    struct ntk_ntff_section *changes = section_of(ntff, NTK_NTFF_SECTION_EVENT);
    struct ntk_ntff_section *throttles = section_of(ntff, NTK_NTFF_SECTION_THROTTLE);
    char *before = list(ntff, NTK_RECORDS_ALL);
    changes->block = NTK_NTFF_BLOCK_CC;
    changes->index = 2;
    throttles->type = NTK_NTFF_SECTION_ERROR;
    char *trace = list(ntff, NTK_RECORDS_TRACE);
    char *errors = list(ntff, NTK_RECORDS_ERRORS);

    assert_int_equal(count_of(before, "CHANGE"), changes->record_count);
    assert_int_equal(count_of(before, "COLLECTIVES"), 0);
    assert_int_equal(count_of(trace, "CHANGE"), 0);
    assert_int_equal(count_of(trace, "COLLECTIVES     core 2, type 1: "), changes->record_count);
    assert_int_equal(count_of(trace, "THROTTLE"), 0);
    assert_int_equal(count_of(trace, "M2S_SOP"), 0);
    assert_int_equal(count_of(errors, "ERROR"), throttles->record_count);
    assert_int_equal(count_of(errors, "\n"), throttles->record_count + 1);
    /* 16 bytes in groups of four: the first throttle record limits to 8/8, type 0. */
    assert_non_null(strstr(errors, "ERROR           0000089e 08000000 "));
    free(before);
    free(trace);
    free(errors);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_records_are_shown_as_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
