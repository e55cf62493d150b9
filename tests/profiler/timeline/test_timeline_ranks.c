/* SPDX-License-Identifier: MIT */
/*
 * Rows of ranks. Method: a job with times that are known by construction; the slices of each row
 * must cover what the analysis reports for the rank, without gaps and overlaps, and those of the
 * path must cover its length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/analysis/joined.h"
#include "profiler/system/session_find.h"
#include "profiler/timeline/timeline.h"
#include "tests/support/rank_world.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static int64_t cover(const struct ntk_timeline *timeline, const struct ntk_timeline_track *track,
                     const char *begins_with)
{
    int64_t sum_ps = 0;

    for (size_t s = 0; s < track->slice_count; s++) {
        const struct ntk_timeline_slice *slice = &track->slices[s];
        const struct ntk_timeline_what *what = ntk_vec_at(&timeline->whats, slice->what);

        assert_true(slice->start_ps < slice->end_ps);
        assert_true(s == 0 || slice[-1].end_ps <= slice->start_ps);
        if (strncmp(what->name, begins_with, strlen(begins_with)) == 0) {
            sum_ps += slice->end_ps - slice->start_ps;
        }
    }
    return sum_ps;
}

static void list_fill(struct ntk_rank_list *list, struct rank_world *world, const char *name)
{
    char *folder = test_scratch_path(test_scratch_folder, name);
    struct rank_world_sums sums;
    struct ntk_vec paths;

    assert_int_equal(mkdir(folder, 0755), 0);
    assert_true(rank_world_write(world, folder, &sums));
    assert_int_equal(ntk_session_find(folder, &paths, NULL), 0);
    ntk_rank_list_init(list);
    ntk_vec_each(char *, path, &paths) {
        assert_int_equal(ntk_rank_list_add_folder(list, *path, NULL), 0);
    }
    assert_int_equal(ntk_rank_list_finish(list), 0);
    ntk_session_paths_fini(&paths);
    free(folder);
}

static void rank_rows_match_the_analysis(void **state)
{
    static const char *const names[NTK_JOINED_PART_COUNT] = {
        "compute", "host", "wait", "communicate", "compute in", "unknown"
    };
    struct rank_world world = { .ranks = 6,
                                .per_host = 3,
                                .collectives = 50,
                                .runs = 2,
                                .seed = 11,
                                .is_numbered = true,
                                .host_ahead_ns = 700000,
                                .late = 4,
                                .broken = 1,
                                .lacks_from = 20,
                                .lacks_count = 2 };
    struct ntk_timeline_options options = { 0 };
    struct ntk_timeline *timeline = NULL;
    struct ntk_rank_list list;
    struct ntk_joined joined;

    (void)state;
    list_fill(&list, &world, "job");
    options.ranks = &list;
    options.ranks_zero_ns =
        (uint64_t)((const struct ntk_rank_ops *)ntk_vec_at(&list.ranks, 0))->begin_ns;
    assert_int_equal(ntk_timeline_create(&options, &timeline, NULL), 0);
    assert_int_equal(ntk_analysis_joined_list(&list, NULL, &joined), 0);
    assert_null(joined.unknown);
    assert_int_equal(timeline->tracks.count, 1 + world.ranks);
    const struct ntk_timeline_track *path = ntk_timeline_track_get(timeline, 0);
    assert_string_equal(path->name, "Critical path");
    assert_int_equal(cover(timeline, path, "rank "), (int64_t)joined.total_ns * 1000);
    for (size_t r = 0; r < joined.rank_count; r++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, 1 + r);
        const struct ntk_joined_rank *rank = &joined.ranks[r];

        assert_int_equal(track->kind, NTK_TIMELINE_RANK);
        /* The time before all ranks have left the first collective belongs to that collective, and
         * is not checked. */
        for (unsigned p = 0; p < NTK_JOINED_PART_COUNT; p++) {
            bool is_in_first = p == NTK_JOINED_WAIT || p == NTK_JOINED_LINK;
            int64_t ns = cover(timeline, track, names[p]) / 1000;

            assert_true(is_in_first ? ns >= (int64_t)rank->part_ns[p]
                                    : ns == (int64_t)rank->part_ns[p]);
        }
        assert_int_equal(track->slices[track->slice_count - 1].end_ps - track->slices[0].start_ps,
                         cover(timeline, track, ""));
    }
    ntk_timeline_destroy(timeline);
    ntk_joined_fini(&joined);
    ntk_rank_list_fini(&list);
}

static void ranks_that_cannot_be_joined_have_no_timeline_rows(void **state)
{
    struct rank_world world = { .ranks = 1,
                                .per_host = 1,
                                .collectives = 5,
                                .runs = 1,
                                .is_numbered = true,
                                .late = RANK_WORLD_NO_RANK,
                                .broken = RANK_WORLD_NO_RANK };
    struct ntk_timeline_options options = { .ranks_zero_ns = 1 };
    struct ntk_timeline *timeline = NULL;
    struct ntk_rank_list list;

    (void)state;
    list_fill(&list, &world, "alone");
    options.ranks = &list;
    assert_int_equal(ntk_timeline_create(&options, &timeline, NULL), 0);
    assert_int_equal(timeline->tracks.count, 0);
    ntk_timeline_destroy(timeline);
    ntk_rank_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_rows_match_the_analysis),
        cmocka_unit_test(ranks_that_cannot_be_joined_have_no_timeline_rows),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
