/* SPDX-License-Identifier: MIT */
/*
 * Every NTFF in the folder that NTK_VENDOR_CAPTURES names, captures from real hardware: opened,
 * read, summarised, with rules that hold for every capture; and compared with the output of the
 * vendor's tool if a file <name>.full.json is next to it. Skipped if the variable is not set.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/regions.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/transfers.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/unit.h"

static const char *folder;

/* A folder of an inspection with a capture of its NEFF. */
#define INSPECTED "inspect_trn2_rt230/"

static void compare(const struct ntk_summary *summary, const char *reference)
{
    const char *begin = strstr(reference, "\"summary\"");
    size_t compared = 0;

    assert_non_null(begin);
    for (size_t i = 0; i < summary->value_count; i++) {
        const struct ntk_summary_value *value = &summary->values[i];
        char key[96];
        if (!value->is_present || strcmp(value->name, "profiler_version") == 0) {
            continue;
        }
        snprintf(key, sizeof key, "\"%s\":", value->name);
        const char *found = begin;
        /* Only a scalar of the summary: a group of the same name belongs to another table. */
        while ((found = strstr(found, key)) != NULL) {
            found += strlen(key);
            found += strspn(found, " ");
            bool is_text = *found == '"';
            if (is_text == (value->kind == NTK_SUMMARY_KIND_TEXT)) {
                break;
            }
        }
        if (!found) {
            fail_msg("%s is not in the reference", value->name);
            return;
        }
        if (value->kind == NTK_SUMMARY_KIND_TEXT) {
            if (strncmp(found + 1, value->text, strlen(value->text)) != 0) {
                fail_msg("%s is %s, not %.20s", value->name, value->text, found);
            }
        } else {
            double wanted = strtod(found, NULL);
            double ours =
                value->kind == NTK_SUMMARY_KIND_COUNT || value->kind == NTK_SUMMARY_KIND_BYTES
                    ? (double)value->count
                    : value->number;
            if (ours < wanted || ours > wanted) {
                fail_msg("%s is %.17g, not %.17g", value->name, ours, wanted);
            }
        }
        compared++;
    }
    print_message("%zu metrics equal\n", compared);
    assert_true(compared > 80);
}

/* All data packets belong to transfers, and each transfer has the bytes of one side, and starts
 * after its instruction; the semaphore writes of its rings are additional. */
static size_t check_transfers(const struct ntk_trace *trace)
{
    struct ntk_program *program = NULL;
    struct ntk_transfers transfers;
    uint64_t unknown = 0;
    uint64_t left = 0;
    size_t known = 0;

    assert_int_equal(ntk_program_create(trace, &program), 0);
    assert_int_equal(ntk_transfers_init(&transfers, program), 0);
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        const struct ntk_transfers_core *of = &transfers.cores[c];
        uint64_t packets = 0;
        unknown += of->unknown_count;
        left += of->left_count;
        for (uint32_t p = 0; p < core->packet_count; p++) {
            packets += core->packets[p].dma_class != NTK_TRACE_DMA_INSTRUCTION &&
                       core->packets[p].bytes_count > NTK_DMA_SEMAPHORE_BYTES;
            packets -= core->packets[p].bytes_count > NTK_DMA_SEMAPHORE_BYTES &&
                       ntk_transfer_of_packet(&transfers, c, p) != NULL;
        }
        assert_int_equal(packets, 0);
        for (size_t t = 0; t < of->count; t++) {
            const struct ntk_transfer *transfer = &of->items[t];
            const struct ntk_moves *moves = ntk_transfer_fact(&transfers, c, transfer)->code->moves;
            if (transfer->packet_count == 0) {
                continue;
            }
            uint64_t writes = UINT64_C(16) * NTK_DMA_SEMAPHORE_BYTES;
            assert_true(transfer->start_ps >= core->instructions[transfer->instruction].start_ps);
            assert_true(transfer->bytes_count == moves->bytes[NTK_MOVES_SOURCE] + writes ||
                        transfer->bytes_count == moves->bytes[NTK_MOVES_DEST] + writes);
            assert_non_null(moves->variable);
            assert_non_null(moves->sides[NTK_MOVES_SOURCE]);
            assert_non_null(moves->sides[NTK_MOVES_DEST]);
            assert_non_null(moves->op);
            known++;
        }
    }
    assert_int_equal(unknown, 0);
    assert_int_equal(left, 0);
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(program);
    return known;
}

/* Loops in the programs of these captures, and how often their bodies run. */
static const struct {
    const char *stem, *name;
    unsigned engine;
    uint64_t count;
} known_loops[] = {
    { "v5_transpose_1024", "$8[m, n]", NTK_NTFF_ENGINE_TENSOR, 64 },
    { "v5_transpose_1024", "$9[m, n]", NTK_NTFF_ENGINE_SCALAR, 64 },
    { "v5_transpose_1024", "$11[m, n]", NTK_NTFF_ENGINE_GPSIMD, 64 },
    { "v6_fused_fp32_s512", "$50[i_kv]", NTK_NTFF_ENGINE_TENSOR, 4 },
    { "v6_fused_fp32_s512", "$17[i_q]", NTK_NTFF_ENGINE_TENSOR, 4 },
    { "v6_fused_fp32_s512", "$54[i_q_85_86_87_88, i_kv_88]", NTK_NTFF_ENGINE_TENSOR, 16 },
    { "v6_fused_fp32_s512", "$28[i_q_85_86]", NTK_NTFF_ENGINE_VECTOR, 4 },
    { "v6_baseline_bf16_s512", "$70[i_q_0, i_q_1, i_kv]", NTK_NTFF_ENGINE_TENSOR, 16 },
    { "v4_stream_256k_fd1k", "$6[m]", NTK_NTFF_ENGINE_VECTOR, 2 },
};

static size_t check_regions(const char *stem, const struct ntk_trace *trace, bool has_names)
{
    struct ntk_program *program = NULL;
    struct ntk_regions regions;

    assert_int_equal(ntk_program_create(trace, &program), 0);
    assert_int_equal(ntk_analysis_regions(program, &regions), 0);
    for (size_t i = 0; i < regions.region_count; i++) {
        const struct ntk_region *region = &regions.regions[i];
        const struct ntk_region_instance *instances = ntk_region_instances(&regions, region);
        int64_t total_ps = 0;
        for (uint64_t k = 0; k < region->count; k++) {
            int64_t duration_ps = instances[k].end_ps - instances[k].start_ps;
            assert_true(duration_ps >= 0 && duration_ps <= region->worst_ps);
            assert_true(k == 0 || instances[k].start_ps >= instances[k - 1].start_ps);
            assert_int_equal(instances[k].region, i);
            total_ps += duration_ps;
        }
        assert_int_equal(total_ps, region->total_ps);
        assert_true(region->median_ps <= region->worst_ps);
        assert_true(region->instruction_count >= region->count);
    }
    for (size_t k = 0; k < sizeof known_loops / sizeof *known_loops && has_names; k++) {
        size_t i = 0;
        if (strcmp(known_loops[k].stem, stem) != 0) {
            continue;
        }
        while (i < regions.region_count &&
               (regions.regions[i].engine != known_loops[k].engine ||
                strcmp(regions.regions[i].name, known_loops[k].name) != 0)) {
            i++;
        }
        if (i == regions.region_count) {
            fail_msg("%s has no region %s", stem, known_loops[k].name);
        }
        assert_int_equal(regions.regions[i].count, known_loops[k].count);
    }
    size_t count = regions.region_count;
    ntk_regions_fini(&regions);
    ntk_program_destroy(program);
    return count;
}

static void expect_sum(const struct ntk_summary *summary, enum ntk_summary_id id, uint64_t sum)
{
    const struct ntk_summary_value *value = &summary->values[id];

    if (value->is_present && value->count != sum) {
        fail_msg("%s is %llu, rows have %llu", value->name, (unsigned long long)value->count,
                 (unsigned long long)sum);
    }
}

/* The rows add up to the summary. */
static void check_sums(const struct ntk_trace *trace)
{
    struct ntk_program *program = NULL;
    struct ntk_summary summary;
    struct ntk_slot_code sum = { 0 };
    uint64_t transposes = 0, adjusted_transposes = 0, count = 0;

    assert_int_equal(ntk_program_create(trace, &program), 0);
    assert_int_equal(ntk_analysis_summary(trace, &summary), 0);
    for (size_t c = 0; c < trace->core_count; c++) {
        ntk_trace_each_instruction(&trace->cores[c], instruction) {
            const struct ntk_slot_fact *fact = ntk_program_fact(program, c, instruction);
            sum.flops += fact->code->flops;
            sum.adjusted_flops += fact->code->adjusted_flops;
            transposes += fact->code->is_transpose ? fact->code->flops : 0;
            adjusted_transposes += fact->code->is_transpose ? fact->code->adjusted_flops : 0;
            sum.read_bytes += fact->code->read_bytes;
            sum.write_bytes += fact->code->write_bytes;
            sum.psum_read_bytes += fact->code->psum_read_bytes;
            sum.psum_write_bytes += fact->code->psum_write_bytes;
            sum.psum_to_sbuf_bytes += fact->code->psum_to_sbuf_bytes;
            count += fact->code->is_psum_to_sbuf;
        }
    }
    expect_sum(&summary, NTK_SUMMARY_hardware_flops, sum.flops);
    expect_sum(&summary, NTK_SUMMARY_transpose_flops, transposes);
    expect_sum(&summary, NTK_SUMMARY_adjusted_hardware_flops, sum.adjusted_flops);
    expect_sum(&summary, NTK_SUMMARY_adjusted_transpose_flops, adjusted_transposes);
    expect_sum(&summary, NTK_SUMMARY_hbm_read_bytes, sum.read_bytes);
    expect_sum(&summary, NTK_SUMMARY_hbm_write_bytes, sum.write_bytes);
    expect_sum(&summary, NTK_SUMMARY_psum_read_bytes, sum.psum_read_bytes);
    expect_sum(&summary, NTK_SUMMARY_psum_write_bytes, sum.psum_write_bytes);
    expect_sum(&summary, NTK_SUMMARY_psum_read_sbuf_write_bytes, sum.psum_to_sbuf_bytes);
    expect_sum(&summary, NTK_SUMMARY_psum_read_sbuf_write_count, count);
    for (size_t i = 0; i < summary.value_count; i++) {
        if (summary.values[i].is_present && summary.values[i].kind == NTK_SUMMARY_KIND_FRACTION) {
            assert_true(summary.values[i].number >= 0 && summary.values[i].number <= 1);
        }
    }
    ntk_summary_fini(&summary);
    ntk_program_destroy(program);
}

static void check(const char *stem, const char *neff_stem)
{
    char path[4096];
    struct ntk_ntff *ntff = NULL;
    struct ntk_neff *neff = NULL;
    struct ntk_trace *trace = NULL;
    struct ntk_summary summary;
    struct ntk_err err = { 0 };
    uint8_t *reference = NULL;
    size_t reference_bytes = 0;

    print_message("%s\n", stem);
    snprintf(path, sizeof path, "%s/%s.ntff", folder, stem);
    if (ntk_ntff_open(path, &ntff, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(ntff->warning_count, 0);
    snprintf(path, sizeof path, "%s/%s.neff", folder, neff_stem);
    if (access(path, F_OK) == 0 && ntk_neff_open(path, &neff, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_true(trace->has_total);
    check_sums(trace);
    trace->metrics = NTK_METRICS_2_28; /* the version of the references */
    check_sums(trace);
    assert_int_equal(ntk_analysis_summary(trace, &summary), 0);
    snprintf(path, sizeof path, "%s/%s.full.json", folder, stem);
    if (access(path, F_OK) == 0) {
        assert_int_equal(ntk_fs_read(path, 1u << 30, &reference, &reference_bytes, &err), 0);
        compare(&summary, (const char *)reference);
        free(reference);
    }
    print_message("%s: %zu transfers with their packets\n", stem, check_transfers(trace));
    print_message("%s: %zu regions\n", stem, check_regions(stem, trace, neff != NULL));
    ntk_summary_fini(&summary);
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);
}

static void every_real_capture_is_read_with_the_expected_values(void **state)
{
    DIR *dir = opendir(folder);
    char path[4096];
    size_t count = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (ntk_str_ends_with(entry->d_name, ".ntff")) {
            char stem[256];
            snprintf(stem, sizeof stem, "%.*s", (int)(strlen(entry->d_name) - 5), entry->d_name);
            check(stem, stem);
            count++;
        }
    }
    closedir(dir);
    assert_true(count > 0);
    snprintf(path, sizeof path, "%s/" INSPECTED "profile_exec_2.ntff", folder);
    if (access(path, F_OK) == 0) {
        check(INSPECTED "profile_exec_2", INSPECTED "neff_171450338541704");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_real_capture_is_read_with_the_expected_values),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        return test_skip("NTK_VENDOR_CAPTURES is not set");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
