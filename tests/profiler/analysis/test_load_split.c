/* SPDX-License-Identifier: MIT */
/* Loads of models and the start of a process. Method: spans written down by hand. */
#include "profiler/analysis/load_split.h"

#include "tests/profiler/analysis/span_script.h"

static const struct {
    const char *what, *script;
    size_t count;
    uint64_t alloc_ns, alloc_bytes, copy_ns, copy_bytes, rest_ns; /* of the first load */
    uint64_t loads_ns, device_ns, first_device_ns, events_ns;
} rows[] = {
    { "a load without records inside", "load 0-100", 1, 0, 0, 0, 0, 100, 100, 0, 0, 100 },
    { "allocation, then copy", "load 0-100 alloc 10-20:64 copy 20-50:64", 1, 10, 64, 30, 64, 60,
      100, 0, 0, 100 },
    { "copies that overlap count once", "load 0-100 copy 10-40:1 copy 30-60:2", 1, 0, 0, 50, 3, 50,
      100, 0, 0, 100 },
    { "an allocation during a copy", "load 0-100 alloc 20-30:8 copy 10-40:1", 1, 10, 8, 30, 1, 70,
      100, 0, 0, 100 },
    { "nothing but copies", "load 0-100 copy 0-60:5 copy 60-100:5", 1, 0, 0, 100, 10, 0, 100, 0, 0,
      100 },
    { "a copy of another core", "load 0-100@1 copy 10-40:9@2", 1, 0, 0, 0, 0, 100, 100, 0, 0, 100 },
    { "a copy before the load", "copy 0-10:9 load 20-120", 1, 0, 0, 0, 0, 100, 100, 0, 0, 120 },
    { "a copy that ends after the load", "load 0-100 copy 90-110:9", 1, 0, 0, 0, 0, 100, 100, 0, 0,
      110 },
    { "loads of two cores at once", "load 0-100@0 load 50-150@1 copy 60-70:1@1", 2, 0, 0, 0, 0, 100,
      150, 0, 0, 150 },
    { "loads one after the other", "load 0-100 load 200-250", 2, 0, 0, 0, 0, 100, 150, 0, 0, 250 },
    { "the first run", "load 0-100 run 130-150 run 160-200", 1, 0, 0, 0, 0, 100, 100, 60, 130,
      200 },
    { "runs of two cores count once", "load 0-10 run 20-60@0 run 40-80@1", 1, 0, 0, 0, 0, 10, 10,
      60, 20, 80 },
    { "no load", "call 0-10 run 50-60", 0, 0, 0, 0, 0, 0, 0, 10, 50, 60 },
    { "nothing", "", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
};

static void generated_model_loads_are_split_into_their_steps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const struct ntk_split_load none;
        struct span_script s;
        struct ntk_load_split split;

        span_script_read(&s, rows[i].script);
        assert_int_equal(ntk_analysis_load_split(&s.trace, &split), 0);
        const struct ntk_split_load *load = split.count ? &split.items[0] : &none;
        const uint64_t found[] = { split.count,    load->alloc_ns,   load->alloc_bytes,
                                   load->copy_ns,  load->copy_bytes, load->rest_ns,
                                   split.loads_ns, split.device_ns,  split.first_device_ns,
                                   split.events_ns };
        const uint64_t wanted[] = { rows[i].count,    rows[i].alloc_ns,   rows[i].alloc_bytes,
                                    rows[i].copy_ns,  rows[i].copy_bytes, rows[i].rest_ns,
                                    rows[i].loads_ns, rows[i].device_ns,  rows[i].first_device_ns,
                                    rows[i].events_ns };
        for (size_t n = 0; n < sizeof wanted / sizeof *wanted; n++) {
            if (found[n] != wanted[n]) {
                fail_msg("%s: figure %zu is %llu, not %llu", rows[i].what, n,
                         (unsigned long long)found[n], (unsigned long long)wanted[n]);
            }
        }
        assert_int_equal(split.has_run, rows[i].device_ns > 0);
        ntk_load_split_fini(&split);
    }
}

/* A recording from outside has loads, but neither allocations nor copies: unknown, not 0. */
static void load_parts_are_unknown_without_alloc_or_copy_events(void **state)
{
    static const struct {
        const char *script;
        bool has_allocs, has_copies;
    } traces[] = {
        { "load 0-100 run 130-150", false, false },
        { "load 0-100 copy 10-20:1", false, true },
        { "alloc 0-1:8 load 20-100", true, false }, /* none in the load: 0 */
        { "load 0-100 alloc 10-20:64 copy 20-50:64", true, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct span_script s;
        struct ntk_load_split split;

        span_script_read(&s, traces[i].script);
        assert_int_equal(ntk_analysis_load_split(&s.trace, &split), 0);
        assert_int_equal(split.has_allocs, traces[i].has_allocs);
        assert_int_equal(split.has_copies, traces[i].has_copies);
        ntk_load_split_fini(&split);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_model_loads_are_split_into_their_steps),
        cmocka_unit_test(load_parts_are_unknown_without_alloc_or_copy_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
