/* SPDX-License-Identifier: MIT */
/*
 * Models loaded through core.h: where they are placed, what they need, what is rejected, and what
 * remains of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_debug.h"
#include "runtime-hooks/core/core_trace.h"
#include "tests/runtime-hooks/core/core_fixture.h"
#include "tests/support/unit.h"

static int load(struct core_fixture *f, const struct test_model_options *model, uint32_t nc,
                struct ntk_core_model **out_model)
{
    const struct ntk_core_load_options options = { .nc = nc, .features_mask = UINT64_MAX };
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(model, &bytes);
    int ret = ntk_core_model_load(f->core, neff, bytes, &options, out_model, &f->err);

    free(neff);
    return ret;
}

static uint64_t used(struct core_fixture *f)
{
    struct ntk_core_memory memory = { 0 };

    assert_int_equal(ntk_core_memory_get(f->core, 0, &memory), 0);
    return memory.used_bytes;
}

static void the_properties_of_a_loaded_model_match_its_file(void **state)
{
    const struct test_model_options model = { .name = "second adder" };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL, *again = NULL;
    size_t count = 0;

    assert_int_equal(load(f, &model, 1, &loaded), 0);
    const struct ntk_core_io *io = ntk_core_model_io_get(loaded, &count);
    assert_int_equal(count, 2);
    assert_string_equal(io[0].name, "x");
    assert_false(io[0].is_output);
    assert_string_equal(io[1].name, "y");
    assert_true(io[1].is_output);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(io[i].dimension_count, 2);
        assert_int_equal(io[i].shape[0], TEST_MODEL_ROWS);
        assert_int_equal(io[i].shape[1], TEST_MODEL_COLUMNS);
        assert_int_equal(io[i].bytes, TEST_MODEL_BYTES);
    }
    assert_string_equal(ntk_core_model_name(loaded), "second adder");
    assert_int_equal(ntk_core_model_nc(loaded), 1);
    assert_int_equal(ntk_core_model_nc_count(loaded), 1);
    assert_int_equal(load(f, &model, 1, &again), 0);
    assert_int_equal(ntk_core_model_id(again), ntk_core_model_id(loaded) + 1);
    assert_memory_equal(ntk_core_model_uuid(again), ntk_core_model_uuid(loaded), 16);
    ntk_core_model_unload(again);
    ntk_core_model_unload(loaded);
}

static void models_without_a_requested_core_use_the_least_loaded_core(void **state)
{
    static const uint32_t expected[] = { 0, 1, 0, 1 };
    const struct test_model_options model = { .name = NULL };
    struct core_fixture *f = *state;
    struct ntk_core_model *models[4];

    for (int i = 0; i < 4; i++) {
        assert_int_equal(load(f, &model, NTK_CORE_ANY, &models[i]), 0);
        assert_int_equal(ntk_core_model_nc(models[i]), expected[i]);
    }
    ntk_core_model_unload(models[1]);
    ntk_core_model_unload(models[3]);
    assert_int_equal(load(f, &model, NTK_CORE_ANY, &models[1]), 0);
    assert_int_equal(ntk_core_model_nc(models[1]), 1);
    for (int i = 0; i < 3; i++) {
        ntk_core_model_unload(models[i]);
    }
}

static void the_memory_of_an_unloaded_model_is_freed(void **state)
{
    const struct test_model_options model = { .tmp_bytes = UINT64_C(8) << 20 };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;

    /* Memory that the first model of a process allocates and keeps does not count. */
    assert_int_equal(load(f, &model, 0, &loaded), 0);
    ntk_core_model_unload(loaded);
    uint64_t before = used(f);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(load(f, &model, 0, &loaded), 0);
        assert_true(used(f) >= before + model.tmp_bytes + TEST_MODEL_BYTES);
        ntk_core_model_unload(loaded);
        assert_int_equal(used(f), before);
    }
}

static int shortages;

static void shortage_keep(const char *cause, const char *cores, const char *table)
{
    assert_true(cause[0] != '\0' && cores[0] != '\0' && table[0] != '\0');
    shortages++;
}

static void a_rejected_model_beyond_the_memory_size_leaks_no_memory(void **state)
{
    const struct ntk_core_options options = { .lnc = 1, .shortage = shortage_keep };
    const struct test_model_options large = { .tmp_bytes = UINT64_C(1) << 40 };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;

    shortages = 0;
    core_fixture_open(f, &options);
    uint64_t before = used(f);
    assert_int_equal(load(f, &large, 0, &loaded), -ENOMEM);
    assert_null(loaded);
    assert_int_equal(shortages, 1);
    assert_true(f->err.text[0] != '\0');
    assert_int_equal(used(f), before);
}

static void a_neff_is_rejected_with_all_reasons_in_one_message(void **state)
{
    static const char features[] =
        "NEFF version: 2.0, features: 0xc00 are not supported. Currently "
        "supporting: 0x0";
    static const char lnc[] =
        "the NEFF requires logical cores with 2 physical cores, but this process has 1";
    static const char target[] =
        "the NEFF is compiled for mariana, but trn1.2xlarge requires sunda";
    static const char place[] = "unknown core 99: the process has 2";
    static const struct {
        struct test_model_options model;
        uint32_t nc;
        const char *reasons[4];
        uint64_t features_mask;
        int code;
    } files[] = {
        { { .lnc = 2, .target = "mariana" }, 99, { features, lnc, target, place }, 0, -ENOTSUP },
        { { .lnc = 2, .target = "mariana" }, 0, { lnc, target }, UINT64_MAX, -EINVAL },
        { { .target = "mariana" }, 0, { target }, UINT64_MAX, -EINVAL },
        { { .target = "sunda" }, 99, { place }, UINT64_MAX, -EINVAL },
    };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const struct ntk_core_load_options options = { .nc = files[i].nc,
                                                       .features_mask = files[i].features_mask };
        char wanted[NTK_ERR_TEXT_BYTES] = "";
        size_t bytes = 0;
        uint8_t *neff = test_model_adder(&files[i].model, &bytes);

        for (size_t r = 0; r < 4 && files[i].reasons[r]; r++) {
            size_t at = strlen(wanted);

            (void)snprintf(wanted + at, sizeof wanted - at, "%s%s", r > 0 ? "; " : "",
                           files[i].reasons[r]);
        }
        assert_int_equal(ntk_core_model_load(f->core, neff, bytes, &options, &loaded, &f->err),
                         files[i].code);
        assert_string_equal(f->err.text, wanted);
        assert_null(loaded);
        free(neff);
    }
}

/* Tested with and without advice from the front. */
static void a_rejection_message_names_the_settings_that_allow_the_neff(void **state)
{
    static const char lnc[] =
        "the NEFF requires logical cores with 2 physical cores, but this process has 1";
    const struct test_model_options model = { .lnc = 2 };
    const struct ntk_core_options named = { .lnc = 1,
                                            .lnc_name = "CORE_SIZE",
                                            .machine.instance = { .value = "trn2.3xlarge" } };
    const struct ntk_core_options nameless = { .lnc = 1, .machine = named.machine };
    const struct ntk_core_options whole = { .lnc = 1 };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;
    char sentence[NTK_ERR_TEXT_BYTES];

    core_fixture_open(f, &nameless);
    assert_int_equal(load(f, &model, 0, &loaded), -EINVAL);
    assert_string_equal(f->err.text, lnc);
    core_fixture_close(f);
    core_fixture_open(f, &named);
    assert_int_equal(load(f, &model, 0, &loaded), -EINVAL);
    (void)snprintf(sentence, sizeof sentence, "%s (change it with CORE_SIZE=2)", lnc);
    assert_string_equal(f->err.text, sentence);

    const struct test_model_options host = { .lnc = 1, .cpu_after = 1 };
    const char *const reasons[] = { NULL, "that is a rule" };
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(&host, &bytes);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const struct ntk_core_load_options options = { .features_mask = UINT64_MAX,
                                                       .allow_legacy = true,
                                                       .cpu_nodes_why = reasons[i] };

        core_fixture_close(f);
        core_fixture_open(f, &whole);
        assert_int_equal(ntk_core_model_load(f->core, neff, bytes, &options, &loaded, &f->err),
                         -EPERM);
        assert_non_null(strstr(f->err.text, i == 0 ? "not allowed for this NEFF"
                                                   : "for this NEFF (that is a rule)"));
        assert_int_equal(strchr(f->err.text, '(') != NULL, i == 1);
    }
    free(neff);
}

static void a_truncated_neff_is_rejected(void **state)
{
    const struct ntk_core_load_options options = { .features_mask = UINT64_MAX };
    const struct test_model_options model = { .name = NULL };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;
    size_t bytes = 0;
    uint8_t *neff = test_model_adder(&model, &bytes);

    uint64_t before = used(f);
    for (size_t cut = 0; cut < bytes; cut = cut < 2048 ? cut + 64 : cut + 997) {
        /* Exactly this size, so that asan detects a read beyond it. */
        uint8_t *part = malloc(cut > 0 ? cut : 1);

        memcpy(part, neff, cut);
        int ret = ntk_core_model_load(f->core, part, cut, &options, &loaded, &f->err);
        assert_true(ret == -EBADMSG || ret == -EINVAL || ret == -ENOTSUP);
        assert_null(loaded);
        assert_true(f->err.text[0] != '\0');
        free(part);
    }
    assert_int_equal(used(f), before);
    free(neff);
}

static void loading_on_an_unknown_core_is_rejected(void **state)
{
    const struct test_model_options model = { .name = NULL };
    const struct ntk_core_load_options three = { .core_count = 3, .features_mask = UINT64_MAX };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;
    size_t bytes = 0;

    assert_true(load(f, &model, 2, &loaded) < 0);
    assert_null(loaded);
    uint8_t *neff = test_model_adder(&model, &bytes);
    assert_true(ntk_core_model_load(f->core, neff, bytes, &three, &loaded, &f->err) < 0);
    assert_null(loaded);
    free(neff);
}

static void copies_of_a_model_are_used_alternately(void **state)
{
    const struct ntk_core_load_options two = { .core_count = 2 };
    struct core_fixture *f = *state;
    struct core_adder adder;

    core_adder_init(f, &adder, NULL, &two);
    assert_int_equal(ntk_core_model_nc_count(adder.model), 2);
    assert_int_equal(ntk_core_model_instance_count(adder.model), 2);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(core_adder_run(f, &adder, (float)i), NTK_CORE_COMPLETED);
        assert_int_equal(core_adder_right(f, &adder, (float)i), TEST_MODEL_ELEMENTS);
    }
    assert_true(ntk_core_device_clock_ns(f->core, 0) > 0);
    assert_int_equal(ntk_core_device_clock_ns(f->core, 0), ntk_core_device_clock_ns(f->core, 1));
    core_adder_fini(&adder);
}

static void a_machine_can_be_opened_again_after_closing(void **state)
{
    const struct ntk_core_options options = { .lnc = 1 };
    const struct test_model_options model = { .name = NULL };
    struct core_fixture *f = *state;
    struct ntk_core_model *loaded = NULL;
    struct ntk_core *second = NULL;

    assert_int_equal(ntk_core_open(&options, &second, &f->err), -EALREADY);
    assert_null(second);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load(f, &model, 0, &loaded), 0);
        ntk_core_model_unload(loaded);
        core_fixture_close(f);
        core_fixture_open(f, &options);
        assert_int_equal(ntk_core_count(f->core), 2);
    }
}

static void closing_the_machine_closes_trace_and_debug_listeners(void **state)
{
    const struct ntk_core_options options = { .lnc = 1 };
    const struct ntk_core_trace_options trace = { .core_count = 2,
                                                  .kinds = UINT64_MAX,
                                                  .events_per_core = 4 };
    struct core_fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        int fd = -1;

        assert_int_equal(ntk_core_trace_start(NTK_CORE_TRACE_API, &trace, &f->err), 0);
        assert_int_equal(ntk_core_debug_connect(0, 16, &fd), 0);
        core_fixture_close(f);
        assert_int_equal(ntk_core_trace_core_count(NTK_CORE_TRACE_API), 0);
        core_fixture_open(f, &options);
    }
}

#define OPEN(name) cmocka_unit_test_setup_teardown(name, core_fixture_setup, core_fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(the_properties_of_a_loaded_model_match_its_file),
        OPEN(models_without_a_requested_core_use_the_least_loaded_core),
        OPEN(the_memory_of_an_unloaded_model_is_freed),
        cmocka_unit_test_setup_teardown(a_rejected_model_beyond_the_memory_size_leaks_no_memory,
                                        core_fixture_prepare, core_fixture_teardown),
        OPEN(a_neff_is_rejected_with_all_reasons_in_one_message),
        cmocka_unit_test_setup_teardown(a_rejection_message_names_the_settings_that_allow_the_neff,
                                        core_fixture_prepare, core_fixture_teardown),
        OPEN(a_truncated_neff_is_rejected),
        OPEN(loading_on_an_unknown_core_is_rejected),
        OPEN(copies_of_a_model_are_used_alternately),
        OPEN(a_machine_can_be_opened_again_after_closing),
        OPEN(closing_the_machine_closes_trace_and_debug_listeners),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
