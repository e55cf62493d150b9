/* SPDX-License-Identifier: MIT */
/* Users of one machine: tags, communicators, events, and limits that reserve room for each. */

#include <stdio.h>
#include <string.h>

#include "shared/collect/aggregate.h"
#include "tests/shared/collect/aggregate_fixture.h"
#include "tests/support/unit.h"

static void equal_tags_of_two_users_are_counted_separately(void **state)
{
    struct fixture *f = *state;
    struct fake *fakes[2];

    for (uint32_t i = 0; i < 2; i++) {
        fakes[i] = make_fake(f, (int)i, 42 + i, BEGIN + 1);
        strcpy(fakes[i]->process.tag, "same");
        fakes[i]->process.uid = 1000 + i;
        see(f, fakes[i]);
        execute(fakes[i], i + 1, SECOND / 4);
        sample(f, fakes[i]);
    }
    finish(f);
    assert_int_equal(f->snapshot->tag_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(f->snapshot->tags[i].tag, "same");
        assert_int_equal(f->snapshot->tags[i].outcome[NTK_OUTCOME_COMPLETED], i + 1);
    }
}

/* ---- communicators ---- */

static void rank_sample(struct fixture *f, struct fake *fake, uint32_t rank,
                        enum ntk_comm_state state)
{
    const struct ntk_ring_comm comm = {
        .key = 77, .rank = rank, .rank_count = 2, .state = state, .join_realtime_ns = 5
    };
    struct ntk_runtime_reading reading = reading_of(fake);

    reading.comms = &comm;
    reading.comm_count = 1;
    assert_int_equal(ntk_aggregate_runtime(f->aggregate, &reading), 0);
}

static void equal_communicators_of_two_users_have_different_keys(void **state)
{
    struct fixture *f = *state;
    uint64_t keys[3];

    for (uint32_t i = 0; i < 3; i++) {
        struct fake *fake = make_fake(f, i % 2, 42 + i, BEGIN + 1);

        fake->process.uid = i < 2 ? 1000 : 1001;
        see(f, fake);
        rank_sample(f, fake, i % 2, NTK_COMM_JOINED);
        keys[i] = finish(f)->runtimes[0].ranks[0].key;
    }
    assert_true(keys[0] == keys[1]);
    assert_true(keys[1] != keys[2]);
    assert_true(keys[0] != 77 && keys[2] != 77);
}

static void a_rank_that_left_a_communicator_with_a_lost_rank_is_recorded(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < 2; i++) {
        struct fake *fake = make_fake(f, (int)i, 42 + i, BEGIN + 1);

        see(f, fake);
        fake->ended = true;
        rank_sample(f, fake, i, i == 0 ? NTK_COMM_JOINED : NTK_COMM_LEFT);
        finish(f);
        assert_int_equal(f->snapshot->lost_rank_count, i + 1);
    }
    assert_int_equal(f->snapshot->lost_ranks[1].rank.state, NTK_RANK_LEFT);
}

static void a_rank_ends(struct fixture *f, uint32_t pid, uint32_t rank, uint64_t join_ns,
                        enum ntk_comm_state state)
{
    struct fake *fake = make_fake(f, rank, pid, BEGIN + 1);
    const struct ntk_ring_comm comm = {
        .key = 77, .rank = rank, .rank_count = 2, .state = state, .join_realtime_ns = join_ns
    };
    struct ntk_runtime_reading reading = reading_of(fake);

    see(f, fake);
    fake->ended = true;
    reading = reading_of(fake);
    reading.comms = &comm;
    reading.comm_count = 1;
    assert_int_equal(ntk_aggregate_runtime(f->aggregate, &reading), 0);
}

/* Method: a job breaks, and another one with the same rendezvous ends in order, in the next period
 * or over two. */
static void a_later_job_that_exits_cleanly_clears_lost_ranks(void **state)
{
    struct fixture *f = *state;

    for (int periods = 1; periods <= 2; periods++) {
        uint64_t join_ns = (uint64_t)periods * 100;

        a_rank_ends(f, 42, 0, join_ns, NTK_COMM_JOINED);
        a_rank_ends(f, 43, 1, join_ns, NTK_COMM_LEFT);
        assert_int_equal(finish(f)->lost_rank_count, 2);
        a_rank_ends(f, 44, 0, join_ns + 10, NTK_COMM_LEFT);
        if (periods == 2) {
            assert_int_equal(finish(f)->lost_rank_count, 1);
        }
        a_rank_ends(f, 45, 1, join_ns + 11, NTK_COMM_LEFT);
        assert_int_equal(finish(f)->lost_rank_count, 0);
    }
}

/* ---- events ---- */

static void events_are_sorted_by_time_and_those_without_room_are_counted(void **state)
{
    struct fixture *f = *state;
    static const uint64_t times[] = { 30, 10, 20, 40, 5, 6 };

    for (size_t i = 0; i < 6; i++) {
        struct ntk_event_sample *event =
            ntk_aggregate_event(f->aggregate, (struct ntk_process_key){ 7, 1000, 1 }, false);

        if (event) {
            event->realtime_ns = times[i];
            event->name = ntk_aggregate_event_text(f->aggregate, "weights");
        }
    }
    finish(f);
    assert_int_equal(f->snapshot->event_count, 4);
    assert_int_equal(f->snapshot->events_unlisted, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f->snapshot->events[i].realtime_ns, 10 * (i + 1));
        assert_string_equal(f->snapshot->events[i].name, "weights");
    }
    finish(f);
    assert_int_equal(f->snapshot->event_count, 0);
    assert_int_equal(f->snapshot->events_unlisted, 0);
}

static void list_events(struct fixture *f, uint32_t uid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ntk_event_sample *event =
            ntk_aggregate_event(f->aggregate, (struct ntk_process_key){ 100 + uid, uid, 1 }, false);

        if (event) {
            event->pid = uid;
        }
    }
}

static size_t count_events(const struct fixture *f, uint32_t uid)
{
    size_t count = 0;

    for (size_t i = 0; i < f->snapshot->event_count; i++) {
        count += f->snapshot->events[i].pid == uid;
    }
    return count;
}

static void a_user_with_many_events_does_not_displace_events_of_others(void **state)
{
    struct fixture *f = *state;

    list_events(f, 1, 100); /* all four entries of the list */
    list_events(f, 2, 1);
    list_events(f, 3, 50);
    list_events(f, 1, 100);
    finish(f);
    assert_int_equal(f->snapshot->event_count, 4);
    assert_int_equal(count_events(f, 1), 1);
    assert_int_equal(count_events(f, 2), 1);
    assert_int_equal(count_events(f, 3), 2); /* the fourth entry is that of the newest process */
    assert_int_equal(f->snapshot->events_unlisted, 251 - 4);
    list_events(f, 3, 4);
    list_events(f, 2, 3);
    finish(f);
    assert_int_equal(count_events(f, 2), 2);
    assert_int_equal(count_events(f, 3), 2);
    assert_int_equal(f->snapshot->events_unlisted, 3);
}

/* Events of processes of three users: 1 floods with memory log and marks, 2 with errors, 3 has one
 * error. */
static void a_process_with_many_events_does_not_displace_errors_of_others(void **state)
{
    struct fixture *f = *state;
    static const struct {
        uint32_t pid;
        uint16_t kind;
        size_t count;
    } floods[] = {
        { 1, NTK_EVENT_MEM_ALLOC, 100 }, { 1, NTK_EVENT_MARK, 100 }, { 2, NTK_EVENT_ERROR, 100 },
        { 1, NTK_EVENT_MEM_ALLOC, 100 }, { 3, NTK_EVENT_ERROR, 1 },  { 2, NTK_EVENT_ERROR, 100 },
        { 4, NTK_EVENT_MARK, 1 },        { 1, NTK_EVENT_ERROR, 1 },
    };
    size_t asked = 0;

    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        for (size_t k = 0; k < floods[i].count; k++) {
            const struct ntk_process_key key = { floods[i].pid, 1000, 1 };
            struct ntk_event_sample *event =
                ntk_aggregate_event(f->aggregate, key, floods[i].kind == NTK_EVENT_ERROR);

            if (event) {
                event->kind = floods[i].kind;
                event->pid = floods[i].pid;
            }
            asked++;
        }
    }
    finish(f);
    assert_int_equal(f->snapshot->event_count, 4);
    assert_int_equal(count_events(f, 1), 1);
    assert_int_equal(count_events(f, 2), 2);
    assert_int_equal(count_events(f, 3), 1);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(f->snapshot->events[i].kind, NTK_EVENT_ERROR);
    }
    assert_int_equal(f->snapshot->events_unlisted, asked - 4);
}

static struct fake *make_users(struct fixture *f, size_t index, uint32_t uid, uint32_t pid)
{
    struct fake *fake = make_fake(f, index, pid, BEGIN + 1);

    fake->process.uid = uid;
    snprintf(fake->process.tag, sizeof fake->process.tag, "job %u", pid);
    see(f, fake);
    execute(fake, 3, 1000);
    return fake;
}

/* count processes of user 1 that have already exited when first seen. */
static void invent_processes(struct fixture *f, uint32_t first_pid, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct fake *fake = make_users(f, 0, 1, first_pid + (uint32_t)i);

        fake->ended = true;
        sample(f, fake);
    }
}

static const struct ntk_runtime_sample *find_tag(const struct fixture *f, const char *tag)
{
    for (size_t i = 0; i < f->snapshot->runtime_count; i++) {
        if (strcmp(f->snapshot->runtimes[i].tag, tag) == 0) {
            return &f->snapshot->runtimes[i];
        }
    }
    return NULL;
}

static void excess_processes_of_a_user_are_summed_in_one_row(void **state)
{
    enum { MANY = NTK_AGGREGATE_ROWS_OF_USER + 500 };
    struct fixture *f = *state;
    const struct ntk_runtime_sample *row;

    invent_processes(f, 100, MANY);
    sample(f, make_users(f, 1, 2, 42));
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, NTK_AGGREGATE_ROWS_OF_USER + 2);
    assert_string_equal(ntk_aggregate_note(f->aggregate),
                        "user 1 starts more processes than can be listed: the rest are counted "
                        "as \"others of 1\"");
    row = find_tag(f, "others of 1");
    assert_non_null(row);
    assert_true(row->ended);
    assert_int_equal(row->outcome[NTK_OUTCOME_COMPLETED].period, 500 * 3);
    assert_int_equal(row->cores[0].outcome[NTK_OUTCOME_COMPLETED].period, 500 * 3);
    assert_int_equal(row->cores[0].outcome[NTK_OUTCOME_COMPLETED].total, 500 * 3);
    assert_null(row->cores[0].lives);
    assert_int_equal(row->total_latency.count, 500 * 3);
    assert_non_null(find_tag(f, "job 42"));
    assert_int_equal(find_tag(f, "job 42")->outcome[NTK_OUTCOME_COMPLETED].period, 3);
    assert_int_equal(f->snapshot->outcome[NTK_OUTCOME_COMPLETED].period, MANY * 3 + 3);

    /* One second allows one more. */
    sample(f, &f->fake[1]);
    invent_processes(f, 100000, 10);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 3);
    row = find_tag(f, "others of 1");
    assert_non_null(row);
    assert_int_equal(row->outcome[NTK_OUTCOME_COMPLETED].period, 9 * 3);
    sample(f, &f->fake[1]);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_string_equal(ntk_aggregate_note(f->aggregate), "");
}

static void a_process_without_a_row_keeps_its_counts_until_it_gets_one(void **state)
{
    struct fixture *f = *state;
    struct fake *fake;

    invent_processes(f, 100, NTK_AGGREGATE_ROWS_OF_USER);
    fake = make_users(f, 1, 1, 42);
    list_events(f, 1, 1);
    (void)ntk_aggregate_event(
        f->aggregate,
        (struct ntk_process_key){ fake->process.own_pid, 1, fake->process.start_time }, false);
    sample(f, fake);
    finish(f);
    assert_null(find_tag(f, "job 42"));
    assert_int_equal(f->snapshot->event_count, 1);
    assert_int_equal(f->snapshot->events_unlisted, 1);
    execute(fake, 4, 1000);
    sample(f, fake);
    finish(f);
    assert_int_equal(f->snapshot->runtime_count, 1);
    assert_int_equal(find_tag(f, "job 42")->outcome[NTK_OUTCOME_COMPLETED].period, 7);
}

/* Method: readings of random nonsense; sanitizers check accesses, and ratios must stay in range. */
static void random_readings_produce_bounded_snapshots(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 12345;

    for (int round = 0; round < 50; round++) {
        struct fake *fake = make_fake(f, 0, 42, BEGIN + 1);
        unsigned char *bytes = (unsigned char *)fake->cores;

        for (size_t i = 0; i < sizeof fake->cores; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (unsigned char)(seed >> 56);
        }
        fake->core_count = 4;
        for (uint16_t i = 0; i < 4; i++) {
            fake->cores[i].core = (uint16_t)(i * 60); /* the last one does not exist */
            fake->cores[i].owned = true;
            fake->cores[i].has_histogram = i % 2;
        }
        for (size_t i = 0; i < NTK_HISTOGRAM_BUCKETS; i++) {
            fake->histograms[1].total.bucket[i] = seed ^ (seed << (i % 60));
        }
        fake->memory_count = 8;
        for (size_t i = 0; i < 8; i++) {
            fake->memory[i].category = (uint8_t)(seed >> i);
            fake->memory[i].core = (uint16_t)(seed >> (2 * i));
            fake->memory[i].current_bytes = seed;
        }
        if (!ntk_aggregate_knows(f->aggregate, fake->key)) {
            see(f, fake);
        }
        sample(f, fake);
        finish(f);
        for (size_t i = 0; i < f->snapshot->core_count; i++) {
            assert_true(f->snapshot->cores[i].utilization >= 0);
            assert_true(f->snapshot->cores[i].utilization <= 1);
        }
    }
}

/* Method: more tags than are kept, one after another. */
static void the_totals_of_the_oldest_tag_are_dropped_first(void **state)
{
    struct fixture *f = *state;

    for (uint32_t i = 0; i < NTK_AGGREGATE_TAGS_MAX + 10; i++) {
        struct fake *fake = make_fake(f, 0, 100 + i, BEGIN + 1);

        (void)snprintf(fake->process.tag, sizeof fake->process.tag, "tag-%u", 100 + i);
        execute(fake, 1, 1000);
        see(f, fake);
        fake->ended = true;
        sample(f, fake);
        finish(f);
        assert_int_equal(f->snapshot->tag_count, 1);
    }
    /* the first one begins again, the last one continues */
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t pid = i == 0 ? 100 : 100 + NTK_AGGREGATE_TAGS_MAX + 9;
        struct fake *fake = make_fake(f, 0, pid, BEGIN + 1);

        (void)snprintf(fake->process.tag, sizeof fake->process.tag, "tag-%u", pid);
        execute(fake, 1, 1000);
        see(f, fake);
        fake->ended = true;
        sample(f, fake);
        finish(f);
        assert_int_equal(f->snapshot->tags[0].outcome[NTK_OUTCOME_COMPLETED], i == 0 ? 1 : 2);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, aggregate_setup, aggregate_teardown)
    const struct CMUnitTest tests[] = {
        TEST(equal_tags_of_two_users_are_counted_separately),
        TEST(equal_communicators_of_two_users_have_different_keys),
        TEST(a_rank_that_left_a_communicator_with_a_lost_rank_is_recorded),
        TEST(a_later_job_that_exits_cleanly_clears_lost_ranks),
        TEST(events_are_sorted_by_time_and_those_without_room_are_counted),
        TEST(a_user_with_many_events_does_not_displace_events_of_others),
        TEST(a_process_with_many_events_does_not_displace_errors_of_others),
        TEST(excess_processes_of_a_user_are_summed_in_one_row),
        TEST(a_process_without_a_row_keeps_its_counts_until_it_gets_one),
        TEST(random_readings_produce_bounded_snapshots),
        TEST(the_totals_of_the_oldest_tag_are_dropped_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
