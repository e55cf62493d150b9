/* SPDX-License-Identifier: MIT */
/* Method: ranks written to a line and read back; lines with invalid claims about them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/metrics/snapshot.h"
#include "shared/report/report_json.h"
#include "tests/support/sample_snapshot.h"
#include "tests/support/unit.h"

static void fill(struct ntk_rank_sample *rank)
{
    rank->key = UINT64_C(0xfedcba9876543210);
    rank->state = NTK_RANK_BROKEN;
    rank->rank = 2;
    rank->rank_count = 4;
    rank->world_rank = 4;
    rank->world_count = 8;
    rank->model_id = 10001;
    rank->core = 1;
    rank->rendezvous = "10.0.0.1:46820";
    rank->members = "0,2,4,6";
    rank->join_timestamp_ns = 17;
    rank->sequence = 18;
    rank->operation = NTK_COLLECTIVE_REDUCE_SCATTER;
    rank->in_flight = 1;
    rank->state_ns = 19;
    rank->bytes = 20;
    rank->dtype = 10;
    rank->status = 1200;
    rank->tid = 21;
    rank->longest_ns = 22;
    rank->operations[NTK_COLLECTIVE_BARRIER].period = 23;
    rank->operations[NTK_COLLECTIVE_PROGRAM].period = 24;
    rank->errors.period = 25;
    rank->moved_bytes.period = 26;
    rank->in_operations_ns.period = 27;
    rank->wait_ns.period = 28;
    rank->core_busy_ns.period = 30;
    rank->engine_busy_ns.period = 31;
    rank->dma_busy_ns.period = 32;
    rank->dma_bytes.period = 33;
}

static void assert_filled(const struct ntk_rank_sample *rank)
{
    assert_true(rank->key == UINT64_C(0xfedcba9876543210));
    assert_int_equal(rank->state, NTK_RANK_BROKEN);
    assert_int_equal(rank->rank, 2);
    assert_int_equal(rank->rank_count, 4);
    assert_int_equal(rank->world_rank, 4);
    assert_int_equal(rank->world_count, 8);
    assert_int_equal(rank->model_id, 10001);
    assert_int_equal(rank->core, 1);
    assert_string_equal(rank->rendezvous, "10.0.0.1:46820");
    assert_string_equal(rank->members, "0,2,4,6");
    assert_int_equal(rank->join_timestamp_ns, 17);
    assert_int_equal(rank->sequence, 18);
    assert_int_equal(rank->operation, NTK_COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(rank->in_flight, 1);
    assert_int_equal(rank->state_ns, 19);
    assert_int_equal(rank->bytes, 20);
    assert_int_equal(rank->dtype, 10);
    assert_int_equal(rank->status, 1200);
    assert_int_equal(rank->tid, 21);
    assert_int_equal(rank->longest_ns, 22);
    assert_int_equal(rank->operations[NTK_COLLECTIVE_BARRIER].period, 23);
    assert_int_equal(rank->operations[NTK_COLLECTIVE_PROGRAM].period, 24);
    assert_int_equal(rank->errors.period, 25);
    assert_int_equal(rank->moved_bytes.period, 26);
    assert_int_equal(rank->in_operations_ns.period, 27);
    assert_int_equal(rank->wait_ns.period, 28);
    assert_int_equal(rank->core_busy_ns.period, 30);
    assert_int_equal(rank->engine_busy_ns.period, 31);
    assert_int_equal(rank->dma_busy_ns.period, 32);
    assert_int_equal(rank->dma_bytes.period, 33);
}

static char *write_line(const struct ntk_snapshot *snapshot)
{
    const struct ntk_report_options options = { 0 };
    struct ntk_buf buf = { 0 };

    assert_int_equal(ntk_report_write(snapshot, &options, &buf, NULL), 0);
    return ntk_buf_take(&buf, NULL);
}

static struct ntk_snapshot *read_line(const char *line)
{
    struct ntk_snapshot *snapshot = NULL;

    assert_int_equal(ntk_report_read(line, strlen(line), &snapshot, NULL), 0);
    return snapshot;
}

static void ranks_and_lost_ranks_are_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    struct ntk_lost_rank *lost = ntk_snapshot_alloc_lost_ranks(snapshot, 1);

    (void)state;
    fill(ntk_snapshot_alloc_ranks(snapshot, &snapshot->runtimes[0], 1));
    fill(&lost->rank);
    lost->pid = 4711;
    lost->tag = "train";
    lost->command = "python3";
    lost->lost_for_ns = 29;
    char *line = write_line(snapshot);
    struct ntk_snapshot *back = read_line(line);

    assert_int_equal(back->runtimes[0].rank_count, 1);
    assert_filled(&back->runtimes[0].ranks[0]);
    assert_int_equal(back->lost_rank_count, 1);
    assert_filled(&back->lost_ranks[0].rank);
    assert_int_equal(back->lost_ranks[0].pid, 4711);
    assert_string_equal(back->lost_ranks[0].tag, "train");
    assert_string_equal(back->lost_ranks[0].command, "python3");
    assert_int_equal(back->lost_ranks[0].lost_for_ns, 29);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void verdicts_on_ranks_are_read_back_unchanged(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    const struct ntk_rank_trouble troubles[] = {
        { .kind = NTK_TROUBLE_HANGS,
          .key = 0xab,
          .rendezvous = "10.0.0.1:1",
          .rank_count = 4,
          .has_rank = true,
          .rank = 3,
          .pid = 12,
          .tag = "train",
          .job_id = "17",
          .cause = "lost",
          .operation = NTK_COLLECTIVE_BARRIER,
          .sequence = 41,
          .since_ns = 1000,
          .missing_count = 2 },
        { .kind = NTK_TROUBLE_SLOW,
          .key = 0xac,
          .rendezvous = "",
          .rank_count = 2,
          .tag = "",
          .cause = "link",
          .since_ns = 7,
          .behind_ns = 5,
          .interval_ns = 50 },
    };

    (void)state;
    ntk_snapshot_set_troubles(snapshot, troubles, 2);
    char *line = write_line(snapshot);
    struct ntk_snapshot *back = read_line(line);
    const struct ntk_rank_trouble *first = &back->troubles[0];
    const struct ntk_rank_trouble *second = &back->troubles[1];

    assert_int_equal(back->trouble_count, 2);
    assert_int_equal(first->kind, NTK_TROUBLE_HANGS);
    assert_int_equal(first->key, 0xab);
    assert_string_equal(first->rendezvous, "10.0.0.1:1");
    assert_true(first->has_rank);
    assert_int_equal(first->rank, 3);
    assert_int_equal(first->rank_count, 4);
    assert_int_equal(first->pid, 12);
    assert_string_equal(first->tag, "train");
    assert_string_equal(first->job_id, "17");
    assert_string_equal(second->job_id, "");
    assert_string_equal(first->cause, "lost");
    assert_int_equal(first->operation, NTK_COLLECTIVE_BARRIER);
    assert_int_equal(first->sequence, 41);
    assert_int_equal(first->since_ns, 1000);
    assert_int_equal(first->missing_count, 2);
    assert_int_equal(second->kind, NTK_TROUBLE_SLOW);
    assert_false(second->has_rank);
    assert_string_equal(second->cause, "link");
    assert_int_equal(second->behind_ns, 5);
    assert_int_equal(second->interval_ns, 50);
    free(line);
    ntk_snapshot_destroy(back);
    ntk_snapshot_destroy(snapshot);
}

static void reports_without_ranks_have_no_rank_keys(void **state)
{
    struct ntk_snapshot *snapshot = test_sample_snapshot(1);
    char *line = write_line(snapshot);

    (void)state;
    assert_null(strstr(line, "ranks\""));
    assert_null(strstr(line, "rank_troubles\""));
    free(line);
    ntk_snapshot_destroy(snapshot);
}

/* Each has one valid rank and an invalid one. */
static void impossible_ranks_are_omitted(void **state)
{
    static const char *const lies[] = {
        "{\"communicator\":\"10\",\"rank\":4,\"rank_count\":4}",
        "{\"communicator\":\"10\",\"rank\":0,\"rank_count\":0}",
        "{\"communicator\":\"0\",\"rank\":0,\"rank_count\":4}",
        "{\"communicator\":17,\"rank\":0,\"rank_count\":4}",
        "{\"rank\":0,\"rank_count\":4}",
        "{\"communicator\":\"10\",\"rank\":-1,\"rank_count\":4}",
        "[]",
        "null",
        "\"rank\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char line[1024];

        snprintf(line, sizeof line,
                 "{\"neuron_runtime_data\":[{\"pid\":1,\"report\":{\"neuron_ext\":{\"ranks\":["
                 "%s,{\"communicator\":\"10\",\"rank\":3,\"rank_count\":4,\"operation\":\"dance\","
                 "\"state\":7,\"core\":99999}]}}}]}\n",
                 lies[i]);
        struct ntk_snapshot *snapshot = read_line(line);

        assert_int_equal(snapshot->runtimes[0].rank_count, i == 5 ? 2 : 1);
        const struct ntk_rank_sample *rank =
            &snapshot->runtimes[0].ranks[snapshot->runtimes[0].rank_count - 1];
        assert_int_equal(rank->key, 16);
        assert_int_equal(rank->rank, 3);
        assert_int_equal(rank->operation, NTK_COLLECTIVE_BARRIER);
        assert_int_equal(rank->state, NTK_RANK_JOINED);
        assert_int_equal(rank->core, NTK_NO_CORE);
        ntk_snapshot_destroy(snapshot);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_and_lost_ranks_are_read_back_unchanged),
        cmocka_unit_test(verdicts_on_ranks_are_read_back_unchanged),
        cmocka_unit_test(reports_without_ranks_have_no_rank_keys),
        cmocka_unit_test(impossible_ranks_are_omitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
