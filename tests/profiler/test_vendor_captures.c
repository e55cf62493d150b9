/* SPDX-License-Identifier: MIT */
/*
 * Every NTFF in the folder that NTK_VENDOR_CAPTURES names, a folder of captures from real hardware:
 * opened, read, summarised, with rules that hold for any capture; and compared with what the
 * vendor's tool made of it where a file <name>.full.json lies beside. Skipped when it is not set.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/dma_efficiency.h"
#include "profiler/analysis/summary.h"
#include "profiler/analysis/transfers.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/unit.h"

static const char *folder;

/* The vendor's figure is smaller than its own definition by 2.4e-8, in every capture. */
static double tolerance(const char *name)
{
    return strcmp(name, "hfu_estimated_percent") == 0 ? 3e-8 : 0;
}

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
        /* Only a scalar of the summary: a group of the same name is another table's text. */
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
            if (fabs(ours - wanted) > tolerance(value->name) * fabs(wanted)) {
                fail_msg("%s is %.17g, not %.17g", value->name, ours, wanted);
            }
        }
        compared++;
    }
    print_message("%zu metrics equal\n", compared);
    assert_true(compared > 80);
}

/* All data packets are of transfers, and each transfer has the bytes of a side, and begins after its
 * instruction; the semaphore writes of its rings come on top. */
static size_t check_transfers(const struct ntk_trace *trace)
{
    struct ntk_program *program = NULL;
    struct ntk_transfers transfers;
    size_t known = 0;

    assert_int_equal(ntk_program_create(trace, &program), 0);
    assert_int_equal(ntk_transfers_init(&transfers, program), 0);
    for (size_t c = 0; c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];
        const struct ntk_transfers_core *of = &transfers.cores[c];
        uint64_t packets = 0;
        assert_int_equal(of->unknown_count, 0);
        assert_int_equal(of->left_count, 0);
        for (uint32_t p = 0; p < core->packet_count; p++) {
            packets += core->packets[p].dma_class != NTK_TRACE_DMA_INSTRUCTION &&
                       core->packets[p].bytes_count > NTK_DMA_SEMAPHORE_BYTES;
            packets -= core->packets[p].bytes_count > NTK_DMA_SEMAPHORE_BYTES &&
                       ntk_transfer_of_packet(&transfers, c, p) != NULL;
        }
        assert_int_equal(packets, 0);
        for (size_t t = 0; t < of->count; t++) {
            const struct ntk_transfer *transfer = &of->items[t];
            const struct ntk_moves *moves = ntk_transfer_fact(&transfers, c, transfer)->moves;
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
    ntk_transfers_fini(&transfers);
    ntk_program_destroy(program);
    return known;
}

static void check(const char *stem)
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
    snprintf(path, sizeof path, "%s/%s.neff", folder, stem);
    if (access(path, F_OK) == 0 && ntk_neff_open(path, &neff, &err) < 0) {
        fail_msg("%s", err.text);
    }
    if (ntk_trace_create_from_ntff(ntff, neff, NULL, NULL, &trace, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_true(trace->has_total);
    assert_int_equal(ntk_analysis_summary(trace, &summary), 0);
    for (size_t i = 0; i < summary.value_count; i++) {
        if (summary.values[i].is_present && summary.values[i].kind == NTK_SUMMARY_KIND_FRACTION) {
            assert_true(summary.values[i].number >= 0 && summary.values[i].number <= 1);
        }
    }
    snprintf(path, sizeof path, "%s/%s.full.json", folder, stem);
    if (access(path, F_OK) == 0) {
        assert_int_equal(ntk_fs_read(path, 1u << 30, &reference, &reference_bytes, &err), 0);
        compare(&summary, (const char *)reference);
        free(reference);
    }
    print_message("%s: %zu transfers with their packets\n", stem, check_transfers(trace));
    ntk_summary_fini(&summary);
    ntk_trace_destroy(trace);
    ntk_neff_close(neff);
    ntk_ntff_close(ntff);
}

static void every_capture_reads_as_it_should(void **state)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (ntk_str_ends_with(entry->d_name, ".ntff")) {
            char stem[256];
            snprintf(stem, sizeof stem, "%.*s", (int)(strlen(entry->d_name) - 5), entry->d_name);
            check(stem);
            count++;
        }
    }
    closedir(dir);
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_capture_reads_as_it_should),
    };

    folder = getenv("NTK_VENDOR_CAPTURES");
    if (!folder || !folder[0]) {
        fprintf(stderr, "NTK_VENDOR_CAPTURES is not set\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
