/* SPDX-License-Identifier: MIT */
/*
 * What occupies the state buffer in the real captures of the folder that NTK_VENDOR_CAPTURES names,
 * with rules that hold for every capture, and counts of known ones. Skipped if the variable is not
 * set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/sbuf_allocations.h"
#include "tests/support/unit.h"

static const char *folder;

struct seen {
    const struct ntk_trace *trace;
    const struct ntk_trace_core *core;
    int64_t last_ps;
    size_t count, read_count; /* of partition 0; those with a reader */
};

static int see(void *ctx, const struct ntk_sbuf_allocation *is)
{
    struct seen *seen = ctx;

    assert_true(is->low < is->high && is->high <= seen->trace->chip.sbuf_partition_bytes);
    assert_true(is->start_ps <= is->end_ps && is->start_ps >= seen->last_ps);
    assert_true(is->instruction < seen->core->instruction_count);
    assert_true(is->start_ps >= seen->core->instructions[is->instruction].start_ps);
    seen->last_ps = is->start_ps;
    seen->count += is->partition == 0;
    seen->read_count +=
        is->partition == 0 && is->end_ps > seen->core->instructions[is->instruction].end_ps;
    return 0;
}

/* Values of partition 0 of all cores, and cores without information. */
static const struct known {
    const char *file;
    size_t count, unknown_cores;
} known[] = {
    { "v4_stream_256k_fd1k", 6, 0 }, { "v5_transpose_1024", 129, 0 },
    { "v6_attn_tkg", 0, 1 },         { "v6_baseline_bf16_s512", 84, 0 },
    { "v6_fused_fp32_s512", 55, 0 }, { "inspect_trn2_rt230/profile_exec_2", 1326, 0 },
};

static void check(const struct known *wanted)
{
    char path[4096];
    struct ntk_ntff *ntff = NULL;
    struct ntk_neff *neff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_program *program = NULL;
    struct ntk_transfers transfers;
    struct ntk_err err = { 0 };
    struct seen seen = { 0 };
    size_t unknown_cores = 0;
    bool is_inspected = strchr(wanted->file, '/') != NULL;

    snprintf(path, sizeof path, "%s/%s.ntff", folder, wanted->file);
    if (access(path, F_OK) != 0) {
        return;
    }
    assert_int_equal(ntk_ntff_open(path, &ntff, &err), 0);
    snprintf(path, sizeof path, "%s/%s.neff", folder,
             is_inspected ? "inspect_trn2_rt230/neff_171450338541704" : wanted->file);
    assert_int_equal(ntk_neff_open(path, &neff, &err), 0);
    assert_int_equal(ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, &err), 0);
    assert_int_equal(ntk_program_create(trace, &program), 0);
    assert_int_equal(ntk_transfers_init(&transfers, program), 0);
    for (size_t c = 0; c < trace->core_count; c++) {
        bool is_known = false;
        seen.trace = trace;
        seen.core = &trace->cores[c];
        seen.last_ps = INT64_MIN;
        assert_int_equal(ntk_analysis_sbuf_allocations(&transfers, c, see, &seen), 0);
        assert_int_equal(ntk_sbuf_allocations_are_known(program, c, &is_known), 0);
        unknown_cores += !is_known;
    }
    print_message("%s: %zu values, %zu of them read\n", wanted->file, seen.count, seen.read_count);
    assert_int_equal(seen.count, wanted->count);
    assert_int_equal(unknown_cores, wanted->unknown_cores);
    /* Compilers write little without a reader. */
    assert_true(seen.read_count * 100 >= seen.count * 99);
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(program);
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);
}

static void sbuf_allocations_of_real_captures_are_found(void **state)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        check(&known[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sbuf_allocations_of_real_captures_are_found),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
