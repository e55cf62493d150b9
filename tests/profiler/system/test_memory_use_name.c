/* SPDX-License-Identifier: MIT */
#include "profiler/system/memory_use_name.h"

#include <string.h>

#include "shared/formats/ntrace/vendor_trace.h"
#include "tests/support/unit.h"

static void each_vendor_memory_use_has_a_distinct_name(void **state)
{
    size_t count = 0;
    const char *const *words = ntk_vendor_trace_usage_names(&count);

    (void)state;
    assert_int_equal(count, 22);
    for (size_t i = 0; i < count; i++) {
        const char *name = ntk_memory_use_name(words[i]);

        assert_null(strchr(name, ' '));
        assert_true(ntk_memory_use_type(name) != NTK_HBM_UNKNOWN);
        /* The totals of different uses must have different names. */
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(name, ntk_memory_use_name(words[k]));
        }
    }
}

/* Our runtime writes both words in the vendor's layout. */
static void equal_memory_uses_of_both_runtimes_have_one_name(void **state)
{
    static const struct {
        bool is_device;
        const char *ours, *vendor;
    } words[] = {
#define DEVICE true
#define HOST false
#define NTK_MEMORY(id, symbol, name, location, folder, breakdown, table, usage) \
    { location, name, usage },
#include "shared/abi/memory.def"
#undef NTK_MEMORY
#undef DEVICE
#undef HOST
    };
    static const char *const finer[] = { "runtime", "driver" }; /* their own names */

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *name = ntk_memory_use_name(words[i].ours);
        bool is_finer = strcmp(name, finer[0]) == 0 || strcmp(name, finer[1]) == 0;

        if (!words[i].is_device || !words[i].vendor[0]) {
            continue;
        }
        assert_int_equal(ntk_memory_use_type(name),
                         ntk_memory_use_type(ntk_memory_use_name(words[i].vendor)));
        if (!is_finer) {
            assert_string_equal(name, ntk_memory_use_name(words[i].vendor));
        }
    }
}

static void known_names_and_unknown_memory_uses_are_kept(void **state)
{
    (void)state;
    assert_string_equal(ntk_memory_use_name("weights"), "weights");
    assert_string_equal(ntk_memory_use_name("model_code"), "model_code");
    assert_string_equal(ntk_memory_use_name(""), "");
    assert_int_equal(ntk_memory_use_type("model_code"), NTK_HBM_UNKNOWN);
    assert_int_equal(ntk_memory_use_type("never heard of"), NTK_HBM_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_vendor_memory_use_has_a_distinct_name),
        cmocka_unit_test(equal_memory_uses_of_both_runtimes_have_one_name),
        cmocka_unit_test(known_names_and_unknown_memory_uses_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
