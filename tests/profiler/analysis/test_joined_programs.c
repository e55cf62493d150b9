/* SPDX-License-Identifier: MIT */
/*
 * What each of several jobs is limited by. Method: ranks that leave a first collective at 100 ns
 * and then compute, arrive and leave at times that were chosen, so that parts, critical path and
 * estimates are known without the analysis.
 */
#include "profiler/analysis/joined.h"
#include "tests/support/unit.h"

#define RANKS_MAX 3
#define STEPS_MAX 2
#define SPANS_MAX (RANKS_MAX * (1 + 2 * STEPS_MAX))
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A rank executes (run_from == run_to: it does not), is in a collective from come to leave. */
struct step {
    uint64_t run_from, run_to, come, leave;
};
struct rank {
    struct step steps[STEPS_MAX];
    uint64_t run, host, wait, link, inside; /* of its time */
    uint64_t path_run, path_host, last;
};

static const struct job {
    const char *what;
    size_t rank_count, step_count;
    struct rank ranks[RANKS_MAX];
    uint64_t total, path_link;
    const char *changes;
    uint64_t estimate;
    enum ntk_joined_cause cause; /* of the waits of rank 0 */
    uint64_t caused;
} jobs[] = {
    { .what = "one rank is always last",
      .rank_count = 2,
      .step_count = 2,
      .ranks = { { .steps = { { 100, 120, 120, 180 }, { 180, 200, 200, 260 } },
                   .run = 40,
                   .wait = 50 + 50,
                   .link = 20 },
                 { .steps = { { 100, 170, 170, 180 }, { 180, 250, 250, 260 } },
                   .run = 140,
                   .link = 20,
                   .path_run = 140,
                   .last = 2 } },
      .total = 160,
      .path_link = 20,
      .changes = "rank1.run=2",
      .estimate = 2 * (35 + 10),
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 100 },
    { .what = "without its work the other rank is last",
      .rank_count = 2,
      .step_count = 2,
      .ranks = { { .steps = { { 100, 120, 120, 180 }, { 180, 200, 200, 260 } },
                   .run = 40,
                   .wait = 100,
                   .link = 20 },
                 { .steps = { { 100, 170, 170, 180 }, { 180, 250, 250, 260 } },
                   .run = 140,
                   .link = 20,
                   .path_run = 140,
                   .last = 2 } },
      .total = 160,
      .path_link = 20,
      .changes = "rank1.run=0",
      .estimate = 2 * (20 + 10),
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 100 },
    { .what = "the ranks take turns being last",
      .rank_count = 2,
      .step_count = 2,
      .ranks = { { .steps = { { 100, 170, 170, 180 }, { 180, 190, 190, 250 } },
                   .run = 80,
                   .wait = 50,
                   .link = 20,
                   .path_run = 70,
                   .last = 1 },
                 { .steps = { { 100, 110, 110, 180 }, { 180, 240, 240, 250 } },
                   .run = 70,
                   .wait = 60,
                   .link = 20,
                   .path_run = 60,
                   .last = 1 } },
      .total = 150,
      .path_link = 20,
      .changes = "rank0.run=0,rank1.run=0",
      .estimate = 20,
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 50 },
    { .what = "only the links take time",
      .rank_count = 2,
      .step_count = 2,
      .ranks = { { .steps = { { 0, 0, 100, 190 }, { 0, 0, 190, 290 } }, .link = 190 },
                 { .steps = { { 0, 0, 100, 190 }, { 0, 0, 190, 290 } }, .link = 190 } },
      .total = 190,
      .path_link = 190,
      .changes = "link=2",
      .estimate = 95 },
    { .what = "the host of one rank is late",
      .rank_count = 2,
      .step_count = 2,
      .ranks = { { .steps = { { 0, 0, 110, 200 }, { 0, 0, 205, 300 } },
                   .host = 10 + 5,
                   .wait = 80 + 85,
                   .link = 20 },
                 { .steps = { { 0, 0, 190, 200 }, { 0, 0, 290, 300 } },
                   .host = 180,
                   .link = 20,
                   .path_host = 180,
                   .last = 2 } },
      .total = 200,
      .path_link = 20,
      .changes = "host=0",
      .estimate = 20,
      .cause = NTK_JOINED_CAUSE_HOST,
      .caused = 165 },
    { .what = "a rank executes while it waits",
      .rank_count = 2,
      .step_count = 1,
      .ranks = { { .steps = { { 100, 150, 100, 160 } }, .inside = 50, .link = 10 },
                 { .steps = { { 100, 150, 150, 160 } },
                   .run = 50,
                   .link = 10,
                   .path_run = 50,
                   .last = 1 } },
      .total = 60,
      .path_link = 10,
      .changes = "rank1.run=5",
      .estimate = 20,
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 50 },
    { .what = "a rank leaves a collective late",
      .rank_count = 2,
      .step_count = 2,
      .ranks = { { .steps = { { 100, 140, 140, 160 }, { 0, 0, 165, 200 } },
                   .run = 40,
                   .host = 5,
                   .wait = 10 + 25,
                   .link = 20 },
                 { .steps = { { 100, 150, 150, 190 }, { 0, 0, 190, 200 } },
                   .run = 50,
                   .link = 40 + 10,
                   .path_run = 50,
                   .last = 2 } },
      .total = 100,
      .path_link = 50,
      .changes = "link=0",
      .estimate = 50 + 5,
      .cause = NTK_JOINED_CAUSE_COLLECTIVE,
      .caused = 25 },
    { .what = "the slowest of three ranks",
      .rank_count = 3,
      .step_count = 1,
      .ranks = { { .steps = { { 100, 110, 110, 150 } }, .run = 10, .wait = 30, .link = 10 },
                 { .steps = { { 100, 120, 120, 150 } }, .run = 20, .wait = 20, .link = 10 },
                 { .steps = { { 100, 140, 140, 150 } },
                   .run = 40,
                   .link = 10,
                   .path_run = 40,
                   .last = 1 } },
      .total = 50,
      .path_link = 10,
      .changes = "rank2.run=4",
      .estimate = 20 + 10,
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 30 },
    { .what = "the last rank is on the host, then executes, then is on the host",
      .rank_count = 2,
      .step_count = 1,
      .ranks = { { .steps = { { 100, 130, 130, 195 } }, .run = 30, .wait = 55, .link = 10 },
                 { .steps = { { 120, 180, 185, 195 } },
                   .run = 60,
                   .host = 20 + 5,
                   .link = 10,
                   .path_run = 60,
                   .path_host = 25,
                   .last = 1 } },
      .total = 95,
      .path_link = 10,
      .changes = "rank1.run=2,rank1.host=0",
      .estimate = 30 + 10,
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 50 },
    { .what = "with half of its work the other rank is last",
      .rank_count = 2,
      .step_count = 1,
      .ranks = { { .steps = { { 100, 200, 200, 210 } },
                   .run = 100,
                   .link = 10,
                   .path_run = 100,
                   .last = 1 },
                 { .steps = { { 100, 170, 170, 210 } }, .run = 70, .wait = 30, .link = 10 } },
      .total = 110,
      .path_link = 10,
      .changes = "rank0.run=2",
      .estimate = 70 + 10,
      .cause = NTK_JOINED_CAUSE_RUN },
    { .what = "the links become slower",
      .rank_count = 2,
      .step_count = 1,
      .ranks = { { .steps = { { 100, 120, 120, 170 } }, .run = 20, .wait = 30, .link = 20 },
                 { .steps = { { 100, 150, 150, 170 } },
                   .run = 50,
                   .link = 20,
                   .path_run = 50,
                   .last = 1 } },
      .total = 70,
      .path_link = 20,
      .changes = "link=0.5",
      .estimate = 50 + 40,
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 30 },
    { .what = "an execution ends while its rank waits",
      .rank_count = 2,
      .step_count = 1,
      .ranks = { { .steps = { { 100, 130, 110, 160 } },
                   .run = 10,
                   .inside = 20,
                   .wait = 20,
                   .link = 10 },
                 { .steps = { { 100, 150, 150, 160 } },
                   .run = 50,
                   .link = 10,
                   .path_run = 50,
                   .last = 1 } },
      .total = 60,
      .path_link = 10,
      .changes = "rank1.run=5",
      .estimate = 10 + 10,
      .cause = NTK_JOINED_CAUSE_RUN,
      .caused = 40 },
};

static void add(struct ntk_system_trace *trace, const char *type, size_t rank, uint64_t from,
                uint64_t to)
{
    trace->spans[trace->span_count++] = (struct ntk_system_span){ .type = (char *)type,
                                                                  .name = (char *)"",
                                                                  .worker = (uint32_t)rank,
                                                                  .start_ns = from,
                                                                  .end_ns = to };
}

static void is(const char *what, size_t rank, const char *part, uint64_t found, uint64_t expected)
{
    if (found != expected) {
        fail_msg("%s: %s of rank %zu is %llu, expected %llu", what, part, rank,
                 (unsigned long long)found, (unsigned long long)expected);
    }
}

static void check(const struct job *job, const struct ntk_joined *joined)
{
    uint64_t link = 0;

    for (size_t r = 0; r < job->rank_count; r++) {
        const struct ntk_joined_rank *found = &joined->ranks[r];
        const struct rank *rank = &job->ranks[r];
        is(job->what, r, "run", found->part_ns[NTK_JOINED_RUN], rank->run);
        is(job->what, r, "host", found->part_ns[NTK_JOINED_HOST], rank->host);
        is(job->what, r, "wait", found->part_ns[NTK_JOINED_WAIT], rank->wait);
        is(job->what, r, "link", found->part_ns[NTK_JOINED_LINK], rank->link);
        is(job->what, r, "inside", found->part_ns[NTK_JOINED_INSIDE], rank->inside);
        is(job->what, r, "path run", found->path_ns[NTK_JOINED_RUN], rank->path_run);
        is(job->what, r, "path host", found->path_ns[NTK_JOINED_HOST], rank->path_host);
        is(job->what, r, "last", found->last_count, rank->last);
        link += found->path_ns[NTK_JOINED_LINK];
    }
    is(job->what, 0, "path link", link, job->path_link);
    is(job->what, 0, "total", joined->total_ns, job->total);
    is(job->what, 0, "cause", joined->ranks[0].cause_ns[job->cause], job->caused);
    is(job->what, 0, "model", joined->model_ns, job->total);
    is(job->what, 0, "estimate", joined->estimate_ns, job->estimate);
}

static void generated_jobs_are_limited_by_their_injected_cause(void **state)
{
    for (size_t i = 0; i < COUNT(jobs); i++) {
        const struct job *job = &jobs[i];
        struct ntk_system_span spans[SPANS_MAX];
        struct ntk_system_trace trace = { .spans = spans };
        const struct ntk_system_trace *list[] = { &trace };
        struct ntk_joined_options options = { 0 };
        struct ntk_joined joined;

        for (size_t r = 0; r < job->rank_count; r++) {
            add(&trace, "cc_running", r, 90, 100);
            for (size_t s = 0; s < job->step_count; s++) {
                const struct step *step = &job->ranks[r].steps[s];
                if (step->run_from < step->run_to) {
                    add(&trace, "nc_exec_running", r, step->run_from, step->run_to);
                }
                add(&trace, "cc_running", r, step->come, step->leave);
            }
        }
        assert_int_equal(ntk_joined_changes_add(&options, job->changes, NULL), 0);
        assert_int_equal(ntk_analysis_joined(list, 1, &options, &joined), 0);
        if (joined.unknown) {
            fail_msg("%s: %s", job->what, joined.unknown);
        }
        check(job, &joined);
        ntk_joined_fini(&joined);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_jobs_are_limited_by_their_injected_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
