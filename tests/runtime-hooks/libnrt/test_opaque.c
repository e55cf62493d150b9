/* SPDX-License-Identifier: MIT */
/*
 * Programs that cannot be computed: binaries of zeros, and binaries in a vendor's encoding.
 *
 * Method: a valid NEFF of ours is unpacked and packed again with its engine binaries wiped, or with
 * the key that marks our encoding misspelt, so that its code looks like a vendor's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/neff_build.h"
#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

enum change { WIPE_BINARIES, LOOK_LIKE_A_VENDOR };

static uint8_t *changed_model(enum change change, size_t *out_bytes)
{
    static const struct ntk_tar_limits limits = { 1 << 24, 100, 256 };
    struct test_model_options options = { .tmp_bytes = 4096 };
    struct ntk_neff_pack_member members[100];
    struct ntk_neff_header header;
    struct ntk_tar tar = { 0 };
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    uint8_t *made = NULL;

    assert_int_equal(ntk_neff_read_header(neff, bytes, &header, NULL), 0);
    assert_int_equal(
        ntk_tar_read(neff + header.header_size, (size_t)header.data_size, &limits, &tar, NULL), 0);
    for (size_t m = 0; m < tar.member_count; m++) {
        struct ntk_tar_member *member = &tar.members[m];

        if (change == WIPE_BINARIES && ntk_str_ends_with(member->name, ".bin")) {
            memset(member->bytes, 0, member->bytes_count);
        }
        for (char *at = (char *)member->bytes; change == LOOK_LIKE_A_VENDOR &&
                                               ntk_str_ends_with(member->name, ".json") &&
                                               (at = strstr(at, "\"nsx\""));) {
            at[1] = 'x';
        }
        members[m] =
            (struct ntk_neff_pack_member){ member->name, member->bytes, member->bytes_count };
    }
    assert_int_equal(
        ntk_neff_pack(&header, members, tar.member_count, true, &made, out_bytes, NULL), 0);
    ntk_tar_fini(&tar);
    free(neff);
    return made;
}

/* Executes once with an output full of ones; every byte must become 0. */
static void check_zeros(struct loaded *loaded)
{
    static uint8_t y[TEST_MODEL_BYTES];

    memset(y, 1, TEST_MODEL_BYTES);
    assert_int_equal(nrt_tensor_write(loaded->y, y, 0, TEST_MODEL_BYTES), NRT_SUCCESS);
    assert_int_equal(nrt_execute(loaded->model, loaded->inputs, loaded->outputs), NRT_SUCCESS);
    assert_int_equal(nrt_tensor_read(loaded->y, y, 0, TEST_MODEL_BYTES), NRT_SUCCESS);
    for (size_t i = 0; i < TEST_MODEL_BYTES; i++) {
        assert_int_equal(y[i], 0);
    }
}

static void zeroed_engine_binaries_run_and_output_zeros(void **state)
{
    struct loaded loaded;
    size_t bytes;
    uint8_t *neff = changed_model(WIPE_BINARIES, &bytes);

    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    check_zeros(&loaded);
    loaded_fini(&loaded);
}

static void vendor_binaries_are_rejected_unless_allowed(void **state)
{
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = changed_model(LOOK_LIKE_A_VENDOR, &bytes);

    const struct runtime *runtime = *state;
    char *log_path = test_scratch_path(runtime->folder, "log");
    char text[4096];

    setenv("NEURON_RT_LOG_LEVEL", "ERROR", 1);
    setenv("NEURON_RT_LOG_LOCATION", log_path, 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
    assert_null(model);
    assert_true(ntk_fs_read_text(log_path, text, sizeof text) > 0);
    assert_non_null(strstr(text, "NEURON_SOFT_OPAQUE=1 runs it without computing"));
    setenv("NEURON_SOFT_OPAQUE", "0", 1);
    assert_int_equal(nrt_load(neff, bytes, 0, 1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
    free(neff);
    free(log_path);
}

static void opaque_programs_output_zeros_and_every_tool_marks_estimates(void **state)
{
    static const char *const monitor[] = { "neuron-monitor", "--once", NULL };
    static const char *const top[] = { "neuron-top", "--once", "-d", "200ms", NULL };
    struct loaded loaded;
    struct test_run run;
    size_t bytes;
    uint8_t *neff = changed_model(LOOK_LIKE_A_VENDOR, &bytes);

    setenv("NEURON_SOFT_OPAQUE", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    loaded_init(&loaded, neff, bytes, 0);
    free(neff);
    check_zeros(&loaded);

    run = test_run_program(monitor, NULL);
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "\"estimated\":true"));
    test_run_fini(&run);
    run = test_run_program(top, NULL);
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "~adder"));
    test_run_fini(&run);
    loaded_fini(&loaded);
    unsetenv("NEURON_SOFT_OPAQUE");
}

static void no_tool_reports_the_duration_of_an_opaque_program(void **state)
{
    char *folder = test_scratch_create();
    char *path = test_scratch_path(folder, "vendor.neff");
    char *capture = test_scratch_path(folder, "vendor.ntff");
    const char *const programs[][8] = {
        { "neuron-bench", "exec", path, "--cores", "0", "--count", "5", NULL },
        { "neuron-profile", "capture", "-n", path, "-s", capture, NULL },
        { "neuron-profile", "view", "-s", capture, "--output-format", "summary-text", NULL },
    };
    static const char *const said[] = {
        "latency     none: a software core does not compute a vendor program", "",
        "its estimated time is omitted"
    };
    size_t bytes;
    uint8_t *neff = changed_model(LOOK_LIKE_A_VENDOR, &bytes);

    assert_int_equal(ntk_fs_write(path, neff, bytes, NULL), 0);
    setenv("NEURON_SOFT_OPAQUE", "1", 1);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct test_run run = test_run_program(programs[i], NULL);
        if (run.exit_code != 0 || !(strstr(run.out, said[i]) || strstr(run.err, said[i]))) {
            fail_msg("%s %s: %s%s", programs[i][0], programs[i][1], run.out, run.err);
        }
        assert_null(strstr(run.out, "total_time "));
        assert_null(strstr(run.out, "/s)"));
        test_run_fini(&run);
    }
    unsetenv("NEURON_SOFT_OPAQUE");
    free(neff);
    free(path);
    free(capture);
    test_scratch_destroy(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(zeroed_engine_binaries_run_and_output_zeros),
        TEST(vendor_binaries_are_rejected_unless_allowed),
        TEST(opaque_programs_output_zeros_and_every_tool_marks_estimates),
        TEST(no_tool_reports_the_duration_of_an_opaque_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
