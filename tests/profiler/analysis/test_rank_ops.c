/* SPDX-License-Identifier: MIT */
/*
 * Ranks joined from their folders, read piece by piece. Method: jobs with times that are known by
 * construction are written as files. Sums must match, and incomplete traces must not shift the rest
 * of the ranks. The same files read as a whole give the same answer.
 */
#include "profiler/analysis/rank_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/analysis/joined.h"
#include "profiler/system/session_find.h"
#include "tests/support/rank_world.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static const struct rank_world whole = { .ranks = 12,
                                         .per_host = 4,
                                         .collectives = 60,
                                         .runs = 3,
                                         .seed = 7,
                                         .is_numbered = true,
                                         .host_ahead_ns = 5000000,
                                         .late = RANK_WORLD_NO_RANK,
                                         .broken = RANK_WORLD_NO_RANK };

static char *folder_new(void)
{
    static int number;
    char *folder = NULL;

    assert_true(asprintf(&folder, "%s/world-%d", test_scratch_folder, number++) > 0);
    assert_int_equal(mkdir(folder, 0755), 0);
    return folder;
}

/* is_streamed: piece by piece; otherwise each trace as a whole. */
static size_t join_folder(const char *folder, bool is_streamed, struct ntk_joined *out)
{
    struct ntk_rank_list list;
    struct ntk_vec paths;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_session_find(folder, &paths, &err), 0);
    ntk_rank_list_init(&list);
    ntk_vec_each(char *, path, &paths) {
        struct ntk_system_trace *trace = NULL;

        if (is_streamed) {
            assert_int_equal(ntk_rank_list_add_folder(&list, *path, &err), 0);
        } else {
            assert_int_equal(ntk_system_trace_open(*path, &trace, &err), 0);
            assert_int_equal(ntk_rank_list_add(&list, trace, &err), 0);
            ntk_system_trace_close(trace);
        }
    }
    size_t warnings = list.warnings.count;
    assert_int_equal(ntk_rank_list_finish(&list), 0);
    assert_int_equal(ntk_analysis_joined_list(&list, NULL, out), 0);
    ntk_rank_list_fini(&list);
    ntk_session_paths_fini(&paths);
    return warnings;
}

static struct rank_world_sums join(struct rank_world world, struct ntk_joined *out)
{
    struct rank_world_sums sums;
    char *folder = folder_new();

    assert_true(rank_world_write(&world, folder, &sums));
    assert_int_equal(join_folder(folder, true, out), 0);
    free(folder);
    return sums;
}

static uint64_t sum_of(const struct ntk_joined *joined, enum ntk_joined_part part)
{
    uint64_t sum_ns = 0;

    for (size_t r = 0; r < joined->rank_count; r++) {
        sum_ns += joined->ranks[r].part_ns[part];
    }
    return sum_ns;
}

/* Parts add up to the span, causes to the wait. */
static void sums_hold(const struct ntk_joined *joined)
{
    uint64_t path_ns = 0;

    for (size_t r = 0; r < joined->rank_count; r++) {
        const struct ntk_joined_rank *rank = &joined->ranks[r];
        uint64_t parts_ns = 0;
        uint64_t causes_ns = 0;

        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            parts_ns += rank->part_ns[p];
            path_ns += rank->path_ns[p];
        }
        for (unsigned c = 0; c < NTK_JOINED_CAUSE_COUNT; c++) {
            causes_ns += rank->cause_ns[c];
        }
        assert_int_equal(parts_ns, rank->span_ns);
        assert_int_equal(causes_ns, rank->waited_ns);
    }
    assert_int_equal(path_ns, joined->total_ns);
}

static void sums_of_rank_operations_match_the_job(void **state)
{
    struct rank_world world = whole;
    struct ntk_joined joined;

    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        world.is_numbered = turn % 2 == 0;
        world.remake_every = turn == 2 ? 7 : 0;
        world.late = turn == 3 ? 5 : RANK_WORLD_NO_RANK;
        /* Workers without numbers must be on separate machines. */
        world.per_host = turn % 2 == 0 ? 4 : 12;
        struct rank_world_sums sums = join(world, &joined);

        assert_null(joined.unknown);
        assert_int_equal(joined.is_numbered, world.is_numbered);
        assert_int_equal(joined.rank_count, world.ranks);
        assert_int_equal(joined.joint_count, world.collectives);
        assert_int_equal(joined.partial_count + joined.doubted_count, 0);
        assert_int_equal(joined.total_ns, sums.path_ns);
        assert_int_equal(sum_of(&joined, NTK_JOINED_RUN), sums.run_ns);
        assert_int_equal(sum_of(&joined, NTK_JOINED_WAIT), sums.waited_ns);
        assert_int_equal(sum_of(&joined, NTK_JOINED_LINK),
                         (uint64_t)RANK_WORLD_LINK_NS * world.ranks * (world.collectives - 1));
        assert_int_equal(sum_of(&joined, NTK_JOINED_UNKNOWN), 0);
        assert_int_equal(joined.ranks[7].number, 7);
        if (turn == 3) {
            for (size_t p = 0; p < joined.piece_count; p++) {
                assert_int_equal(joined.pieces[p].worker, 5);
            }
            assert_int_equal(joined.ranks[5].last_count, world.collectives - 1);
        }
        sums_hold(&joined);
        ntk_joined_fini(&joined);
    }
}

/* Cores execute in turns: a rank of several cores did the same as a rank of one. */
static void all_cores_of_a_process_are_counted_as_one_rank(void **state)
{
    struct ntk_joined joined;

    (void)state;
    for (uint32_t cores = 2; cores <= 4; cores++) {
        for (int turn = 0; turn < 3; turn++) {
            struct rank_world world = whole;

            world.cores = cores;
            world.is_numbered = turn > 0;
            world.is_spread = turn > 1;
            world.per_host = world.is_numbered ? 4 : 12;
            struct rank_world_sums sums = join(world, &joined);

            assert_null(joined.unknown);
            assert_int_equal(joined.rank_count, world.ranks);
            assert_int_equal(joined.joint_count, world.collectives);
            assert_int_equal(joined.absent_count + joined.twice_count, 0);
            assert_int_equal(joined.partial_count + joined.doubted_count, 0);
            assert_int_equal(joined.total_ns, sums.path_ns);
            assert_int_equal(sum_of(&joined, NTK_JOINED_RUN), sums.run_ns);
            assert_int_equal(sum_of(&joined, NTK_JOINED_WAIT), sums.waited_ns);
            sums_hold(&joined);
            ntk_joined_fini(&joined);
        }
    }
}

/* A core without work is not another rank; a core of a missing process is. */
static void all_cores_of_a_missing_process_are_missing(void **state)
{
    struct rank_world world = whole;
    struct rank_world_sums sums;
    struct ntk_joined joined;
    char *folder = folder_new();
    char path[512];

    (void)state;
    world.is_numbered = false;
    world.per_host = world.ranks;
    world.cores = 4; /* the second executes nothing, nor does the third */
    world.runs = 1;
    assert_true(rank_world_write(&world, folder, &sums));
    assert_int_equal(join_folder(folder, true, &joined), 0);
    assert_int_equal(joined.rank_count, world.ranks);
    assert_int_equal(joined.absent_count, 0);
    ntk_joined_fini(&joined);
    (void)snprintf(path, sizeof path, "%s/i-local_pid_5_0/ntrace.pb", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(join_folder(folder, true, &joined), 0);
    assert_int_equal(joined.rank_count, world.ranks - 1);
    assert_int_equal(joined.absent_first, 5 * 4);
    assert_int_equal(joined.absent_count, 4);
    ntk_joined_fini(&joined);
    free(folder);
}

static void clock_offsets_of_hosts_are_found_and_removed(void **state)
{
    struct ntk_joined joined;

    (void)state;
    (void)join(whole, &joined);
    assert_int_equal(joined.host_count, 3);
    for (size_t h = 0; h < joined.host_count; h++) {
        size_t first = joined.ranks[0].host;
        size_t at = joined.ranks[4 * h].host;

        assert_int_equal(joined.hosts[at].rank_count, 4);
        assert_int_equal(joined.hosts[at].has_offset, at != first);
        assert_int_equal(joined.hosts[at].offset_ns, (int64_t)h * whole.host_ahead_ns);
        assert_int_equal(joined.hosts[at].apart_ns, 0);
        assert_int_equal(joined.ranks[4 * h + 1].offset_ns, (int64_t)h * whole.host_ahead_ns);
    }
    ntk_joined_fini(&joined);
}

/* If the trace of a rank starts late or lacks records, the others are joined as before. */
static void missing_collectives_do_not_change_the_rest_of_a_joined_trace(void **state)
{
    struct ntk_joined all, some;

    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        struct rank_world world = whole;

        world.remake_every = turn == 2 ? 10 : 0; /* the missing part surrounds a new communicator */
        (void)join(world, &all);
        world.broken = 6;
        world.begins_at = turn == 0 ? 20 : 0;
        world.lacks_from = turn == 2 ? 17 : 30;
        world.lacks_count = turn == 0 ? 0 : 5;
        (void)join(world, &some);
        assert_null(some.unknown);
        assert_int_equal(some.joint_count, all.joint_count - (turn == 0 ? 20 : 5));
        assert_int_equal(some.partial_count, turn == 0 ? 20 : 5);
        assert_int_equal(some.doubted_count, 0);
        assert_int_equal(some.hosts[1].offset_ns, all.hosts[1].offset_ns);
        assert_int_equal(sum_of(&some, NTK_JOINED_UNKNOWN) > 0, turn != 0);
        sums_hold(&some);
        for (size_t r = 0; r < all.rank_count && turn != 0; r++) {
            /* The remaining operations of the damaged rank are unchanged. */
            assert_int_equal(some.ranks[r].span_ns, all.ranks[r].span_ns);
            assert_true(some.ranks[r].part_ns[NTK_JOINED_WAIT] <=
                        all.ranks[r].part_ns[NTK_JOINED_WAIT]);
            if (r != 6) {
                assert_int_equal(some.ranks[r].part_ns[NTK_JOINED_RUN],
                                 all.ranks[r].part_ns[NTK_JOINED_RUN]);
            }
        }
        ntk_joined_fini(&all);
        ntk_joined_fini(&some);
    }
}

static void operations_of_restarted_jobs_are_joined(void **state)
{
    struct rank_world world = whole;
    struct ntk_joined joined;

    (void)state;
    world.restarts_at = 25;
    (void)join(world, &joined);
    assert_null(joined.unknown);
    assert_int_equal(joined.twice_count, 0);
    assert_int_equal(joined.rank_count, world.ranks);
    assert_int_equal(joined.joint_count, world.collectives);
    for (size_t r = 0; r < joined.rank_count; r++) {
        assert_int_equal(joined.ranks[r].restart_count, 1);
        assert_true(joined.ranks[r].part_ns[NTK_JOINED_UNKNOWN] > 0); /* between its processes */
    }
    sums_hold(&joined);
    ntk_joined_fini(&joined);
}

static void reading_a_trace_in_pieces_yields_the_same_result(void **state)
{
    struct rank_world world = whole;
    struct rank_world_sums sums;
    char *folder = folder_new();
    struct ntk_joined one, other;

    (void)state;
    world.broken = 2;
    world.lacks_from = 11;
    world.lacks_count = 2;
    assert_true(rank_world_write(&world, folder, &sums));
    assert_int_equal(join_folder(folder, true, &one), 0);
    assert_int_equal(join_folder(folder, false, &other), 0);
    assert_int_equal(one.total_ns, other.total_ns);
    assert_int_equal(one.model_ns, other.model_ns);
    for (size_t r = 0; r < one.rank_count; r++) {
        assert_memory_equal(&one.ranks[r], &other.ranks[r], sizeof one.ranks[r]);
    }
    assert_memory_equal(one.pieces, other.pieces, sizeof one.pieces);
    ntk_joined_fini(&one);
    ntk_joined_fini(&other);
    free(folder);
}

static void the_intact_part_of_a_truncated_trace_is_used(void **state)
{
    struct rank_world world = whole;
    struct rank_world_sums sums;
    char *folder = folder_new();
    struct ntk_joined joined;
    char path[512];
    struct stat file;

    (void)state;
    world.collectives = 3000; /* several pieces */
    assert_true(rank_world_write(&world, folder, &sums));
    (void)snprintf(path, sizeof path, "%s/i-local_pid_3_0/ntrace.pb", folder);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(truncate(path, file.st_size / 2), 0);
    assert_int_equal(join_folder(folder, true, &joined), 1);
    assert_null(joined.unknown);
    assert_int_equal(joined.rank_count, world.ranks);
    assert_true(joined.joint_count > 500 && joined.joint_count < 2000);
    assert_int_equal(joined.doubted_count, 0);
    assert_int_equal(joined.absent_count, 0);
    ntk_joined_fini(&joined);
    (void)snprintf(path, sizeof path, "rm -r %s/i-local_pid_5_0", folder);
    assert_int_equal(system(path), 0);
    assert_int_equal(join_folder(folder, true, &joined), 1);
    assert_true(joined.has_world);
    assert_int_equal(joined.absent_count, 1);
    assert_int_equal(joined.absent_first, 5);
    ntk_joined_fini(&joined);
    free(folder);
}

/* Two lists longer than the memory limit, the second not read to its end, followed by a short
 * one. */
static void lists_beyond_the_memory_limit_are_stored_in_a_file(void **state)
{
    struct ntk_rank_store store;
    struct ntk_rank_rows rows[3];
    struct ntk_rank_cursor cursors[3];
    const size_t counts[] = { 600000, 700000, 10 };

    (void)state;
    ntk_rank_store_init(&store);
    for (size_t l = 0; l < 3; l++) {
        ntk_rank_store_begin(&store, &rows[l]);
        for (size_t i = 0; i < counts[l]; i++) {
            struct ntk_rank_run run = { (int64_t)l, (int64_t)i };
            ntk_rank_store_add(&store, &rows[l], &run, sizeof run);
        }
        assert_int_equal(rows[l].count, counts[l]);
        ntk_rank_cursor_init(&cursors[l], &store, rows[l], sizeof(struct ntk_rank_run));
    }
    assert_true(store.fd >= 0);
    for (size_t i = 0; i < counts[0]; i++) {
        for (size_t l = 0; l < 3; l++) {
            size_t at = i < counts[l] ? i - i % 3 : 0; /* sometimes an earlier one than the last */
            const struct ntk_rank_run *run = ntk_rank_cursor_at(&cursors[l], at);

            assert_true(run->start_ns == (int64_t)l && run->end_ns == (int64_t)at);
        }
    }
    assert_int_equal(store.failed, 0);
    ntk_rank_store_fini(&store);
    setenv("TMPDIR", "/nowhere", 1);
    for (size_t i = 0; i < counts[0] * 2; i++) {
        ntk_rank_store_add(&store, &rows[0], &(struct ntk_rank_run){ 0 },
                           sizeof(struct ntk_rank_run));
    }
    unsetenv("TMPDIR");
    assert_int_equal(store.failed, -ENOENT);
    ntk_rank_store_fini(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_rank_operations_match_the_job),
        cmocka_unit_test(all_cores_of_a_process_are_counted_as_one_rank),
        cmocka_unit_test(all_cores_of_a_missing_process_are_missing),
        cmocka_unit_test(clock_offsets_of_hosts_are_found_and_removed),
        cmocka_unit_test(missing_collectives_do_not_change_the_rest_of_a_joined_trace),
        cmocka_unit_test(lists_beyond_the_memory_limit_are_stored_in_a_file),
        cmocka_unit_test(operations_of_restarted_jobs_are_joined),
        cmocka_unit_test(reading_a_trace_in_pieces_yields_the_same_result),
        cmocka_unit_test(the_intact_part_of_a_truncated_trace_is_used),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
