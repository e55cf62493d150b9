/* SPDX-License-Identifier: MIT */
/*
 * Source positions of real files in the folder that NTK_VENDOR_CAPTURES names, against counts that
 * were made by another reader. Skipped when it is not set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/formats/neff/neff_positions.h"
#include "tests/support/unit.h"

static const char *folder;

#define CORES_MAX 2

struct slot_counts {
    size_t slots, without_bir, lines, kernel;
};

static void count_slots(const struct ntk_neff *neff, struct slot_counts *out)
{
    struct ntk_neff_debug *debugs[CORES_MAX] = { NULL };
    struct ntk_neff_positions *positions = NULL;
    uint32_t count = neff->kelfs[0].subgraph_count;

    assert_true(count <= CORES_MAX);
    for (uint32_t c = 0; c < count; c++) {
        assert_int_equal(
            ntk_neff_debug_create(neff, &neff->kelfs[0].subgraphs[c], &debugs[c], NULL), 0);
        for (unsigned e = 0; debugs[c] && e < NTK_ISA_ENGINE_COUNT; e++) {
            out->slots += debugs[c]->slot_counts[e];
            for (size_t s = 0; s < debugs[c]->slot_counts[e]; s++) {
                out->without_bir += debugs[c]->slots[e][s] == 0;
            }
        }
    }
    assert_int_equal(ntk_neff_positions_create(neff, debugs, count, &positions), 0);
    if (positions) {
        out->lines = positions->line_count;
        out->kernel = positions->kernel_count;
        assert_int_equal(positions->differing_count, 0);
        assert_int_equal(positions->warnings.count, 0);
    }
    ntk_neff_positions_destroy(positions);
    for (uint32_t c = 0; c < count; c++) {
        ntk_neff_debug_destroy(debugs[c]);
    }
}

static void slots_have_the_positions_that_another_reader_found(void **state)
{
    static const struct {
        const char *file;
        struct slot_counts counts;
    } files[] = {
        { "v6_attn_tkg.neff", { 1971, 20, 1945, 1940 } },
        { "inspect_trn2_rt230/neff_171450338541704.neff", { 7336, 20, 7315, 6957 } },
        { "v6_matmul_small.neff", { 58, 20, 20, 0 } },
        { "v6_baseline_bf16_s512.neff", { 0 } },
        { "v5_transpose_1024.neff", { 0 } },
        { "v4_stream_256k_fd1k.neff", { 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct ntk_neff *neff = NULL;
        struct slot_counts got = { 0 };
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, files[i].file);
        if (access(path, R_OK) != 0) {
            continue;
        }
        assert_int_equal(ntk_neff_open(path, &neff, NULL), 0);
        count_slots(neff, &got);
        ntk_neff_close(neff);
        print_message("%s: %zu slots, %zu lines, %zu in the tree\n", files[i].file, got.slots,
                      got.lines, got.kernel);
        assert_int_equal(got.lines, files[i].counts.lines);
        assert_int_equal(got.kernel, files[i].counts.kernel);
        if (files[i].counts.slots) {
            assert_int_equal(got.slots, files[i].counts.slots);
            assert_int_equal(got.without_bir, files[i].counts.without_bir);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_have_the_positions_that_another_reader_found),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
