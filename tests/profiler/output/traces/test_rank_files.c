/* SPDX-License-Identifier: MIT */
/* Method: hand-written traces of ranks; their ranks, clocks, groups and dependencies were
 * determined on paper. */
#include "profiler/output/traces/rank_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/traces/chakra.pb-c.h"
#include "profiler/output/export_to.h"
#include "shared/base/fs.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define SPAN(kind, text, rank, from, to)                                                     \
    {                                                                                        \
        .type = (kind), .name = (text), .worker = (rank), .start_ns = (from), .end_ns = (to) \
    }
#define FIRST "comm 00000000000000ab rank 0 of 2, 0 of 2 in all"
#define SECOND "comm 00000000000000ab rank 1 of 2, 1 of 2 in all"
#define CC(text, from, to) SPAN("cc_running", text, 0, from, to)
#define RUN(from, to) SPAN("nc_exec_running", "", 0, from, to)

/* Ranks on two machines, both worker 0. The fourth collective contains an execution. */
static struct ntk_system_span here[] = {
    CC(FIRST, 90000, 100000),    RUN(110000, 190000), CC(FIRST, 200000, 220000),
    CC(FIRST, 230000, 330000),   RUN(240000, 310000), RUN(340000, 350000),
    CC(FIRST, 360000, 1u << 20),
};
static struct ntk_system_span there[] = {
    CC(SECOND, 95000, 100000),
    CC(SECOND, 210000, 220000),
    CC(SECOND, 240000, 330000),
    CC(SECOND, 370000, 1u << 20),
};
static NtkNtracePb__Info info_here = { .instance_id = (char *)"i-a" };
static NtkNtracePb__Info info_there = { .instance_id = (char *)"i-b" };

static struct ntk_system_trace traces[2];
static struct ntk_system_view views[2];
static struct ntk_export two;

static int setup(void **state)
{
    for (size_t i = 0; i < COUNT(there); i++) { /* its clock is ahead */
        there[i].start_ns += 1000000;
        there[i].end_ns += 1000000;
    }
    traces[0] = (struct ntk_system_trace){ .spans = here, .span_count = COUNT(here) };
    traces[1] = (struct ntk_system_trace){ .spans = there, .span_count = COUNT(there), .lost = 7 };
    /* Numbers within the communicator, the same on both. */
    size_t number = 0;
    for (size_t i = 0; i < COUNT(here); i++) {
        number += here[i].name[0] != '\0';
        here[i].exec_id = here[i].name[0] ? number : 0;
    }
    for (size_t i = 0; i < COUNT(there); i++) {
        there[i].exec_id = i + 1;
    }
    traces[0].info = &info_here;
    traces[1].info = &info_there;
    views[0].trace = &traces[0];
    views[1].trace = &traces[1];
    two = (struct ntk_export){
        .folders = views, .folder_count = 2, .profile_name = "two", .path = "two"
    };
    return test_scratch_set_up(state);
}

static void ranks_clocks_and_groups_match_manual_calculations(void **state)
{
    struct ntk_rank_files files;
    struct ntk_vec spans;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_rank_files_init(&two, &files, &err), 0);
    assert_int_equal(files.ranks.count, 2);
    assert_int_equal(files.world_count, 2);
    assert_int_equal(files.zero_ns, 90000);
    const struct ntk_rank *ranks = files.ranks.items;
    assert_int_equal(ranks[0].number, 0);
    assert_int_equal(ranks[1].number, 1); /* in the world, because both are worker 0 */
    assert_int_equal(ranks[1].worker, 0);
    assert_int_equal(ranks[0].offset_ns, 0);
    assert_int_equal(ranks[1].offset_ns, 1000000);
    assert_int_equal(ranks[0].lost_count, 0);
    assert_int_equal(ranks[1].lost_count, 7);
    assert_int_equal(files.groups.count, 1);
    const struct ntk_rank_group *group = files.groups.items;
    assert_int_equal(group->key, 0xab);
    assert_int_equal(group->known_count, 2);
    assert_int_equal(group->members[0], 0);
    assert_int_equal(group->members[1], 1);
    assert_int_equal(ntk_rank_files_spans(&files, &ranks[1], &spans), 0);
    assert_int_equal(spans.count, 4);
    const struct ntk_rank_span *span = spans.items;
    assert_int_equal(span->start_ns, 5000);
    assert_int_equal(span->end_ns, 10000);
    assert_int_equal(span->group, 0);
    ntk_vec_fini(&spans);
    ntk_rank_files_fini(&files);
}

/* Both cores of a pair report a collective, and one of its spans has no end. */
static void collectives_reported_by_both_cores_of_a_pair_are_listed_once(void **state)
{
    struct ntk_system_span pair[] = { CC("", 10, 20), CC("", 10, 20), CC("", 30, 40),
                                      CC("", 50, 50), SPAN("cc_exec_barrier", "", 0, 60, 70) };
    struct ntk_system_trace trace = { .spans = pair, .span_count = COUNT(pair) };
    struct ntk_system_view view = { .trace = &trace };
    struct ntk_export export = { .folders = &view, .folder_count = 1, .path = "pair" };
    struct ntk_rank_files files;
    struct ntk_vec spans;
    struct ntk_err err = { 0 };

    pair[1].device_core = 1;
    pair[3].is_partial = true;
    pair[4].device_core = 1; /* the other one reports barriers */
    assert_int_equal(ntk_rank_files_init(&export, &files, &err), 0);
    const struct ntk_rank *rank = files.ranks.items;
    assert_int_equal(rank->partial_count, 1);
    assert_int_equal(ntk_rank_files_spans(&files, rank, &spans), 0);
    assert_int_equal(spans.count, 3);
    const struct ntk_rank_span *span = spans.items;
    assert_int_equal(span->group, NTK_RANK_NO_GROUP);
    ntk_vec_fini(&spans);
    ntk_rank_files_fini(&files);
}

static void an_invalid_rank_is_rejected(void **state)
{
    struct ntk_export export = two;
    struct ntk_rank_files files;
    struct ntk_err err = { 0 };

    traces[1].info = &info_here; /* two processes were worker 0 of one machine */
    memcpy(there, here, sizeof there);
    assert_int_equal(ntk_rank_files_init(&export, &files, &err), -EINVAL);
    assert_non_null(strstr(err.text, "worker 0"));
    export.folder_count = 0;
    assert_int_equal(ntk_rank_files_init(&export, &files, &err), -ENODATA);
}

/* ---- the graph of the first rank ---- */

static size_t varint_get(const uint8_t *bytes, size_t *at)
{
    size_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = bytes[(*at)++];
        value |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

static void rank_dependencies_match_manual_calculations(void **state)
{
    static const struct {
        const char *name;
        int data, ctrl; /* -1: none */
        uint64_t start, length;
    } wanted[] = {
        { "cc_running", -1, -1, 0, 10 },      { "host", 0, -1, 10, 10 },
        { "nc_exec_running", 1, -1, 20, 80 }, { "host", 2, -1, 100, 10 },
        { "cc_running", 3, 0, 110, 20 },      { "host", 4, -1, 130, 10 },
        { "cc_running", 5, 2, 140, 100 },     { "host", 4, -1, 130, 20 },
        { "nc_exec_running", 7, 2, 150, 70 }, { "host", 6, -1, 240, 10 },
        { "nc_exec_running", 9, 8, 250, 10 }, { "host", 10, -1, 260, 10 },
        { "cc_running", 11, 6, 270, 688 },
    };
    struct ntk_err err = { 0 };
    char *folder = NULL;
    char *path = NULL;
    uint8_t *bytes;
    size_t count;
    size_t at = 0;

    assert_true(asprintf(&folder, "%s/graph", test_scratch_folder) > 0);
    assert_true(asprintf(&path, "%s/rank.0.et", folder) > 0);
    assert_int_equal(ntk_export_to_chakra(&two, folder, &err), 0);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, &err), 0);
    size_t head = varint_get(bytes, &at);
    at += head;
    for (size_t i = 0; i < COUNT(wanted); i++) {
        size_t size = varint_get(bytes, &at);
        Ntk__Chakra__Node *node = ntk__chakra__node__unpack(NULL, size, bytes + at);

        assert_non_null(node);
        assert_int_equal(node->id, i);
        assert_string_equal(node->name, wanted[i].name);
        assert_int_equal(node->n_data_deps, wanted[i].data >= 0);
        assert_int_equal(node->n_ctrl_deps, wanted[i].ctrl >= 0);
        assert_true(wanted[i].data < 0 || node->data_deps[0] == (uint64_t)wanted[i].data);
        assert_true(wanted[i].ctrl < 0 || node->ctrl_deps[0] == (uint64_t)wanted[i].ctrl);
        assert_int_equal(node->start_time_micros, wanted[i].start);
        assert_int_equal(node->duration_micros, wanted[i].length);
        ntk__chakra__node__free_unpacked(node, NULL);
        at += size;
    }
    assert_int_equal(at, count);
    free(bytes);
    free(path);
    free(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_clocks_and_groups_match_manual_calculations),
        cmocka_unit_test(collectives_reported_by_both_cores_of_a_pair_are_listed_once),
        cmocka_unit_test(rank_dependencies_match_manual_calculations),
        cmocka_unit_test(an_invalid_rank_is_rejected), /* changes the traces */
    };

    return cmocka_run_group_tests(tests, setup, test_scratch_tear_down);
}
