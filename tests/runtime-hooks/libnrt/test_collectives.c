/* SPDX-License-Identifier: MIT */
/*
 * Collective calls between processes: results, a rank that dies, and a rank that never comes.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/libnrt/runtime.h"
#include "tests/support/observed.h"
#include "tests/support/unit.h"

#define RANKS 2U

static int files_left(const struct runtime *runtime)
{
    DIR *folder = opendir(runtime->folder);
    const struct dirent *entry = NULL;
    int count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        count += strncmp(entry->d_name, "cc-", 3) == 0;
    }
    (void)closedir(folder);
    return count;
}

static void nothing_is_left(const struct runtime *runtime)
{
    assert_int_equal(files_left(runtime), 0);
}

/* Rank ctx of two on its own core: gathers, then waits for all as often as requested. */
static int rank_run(struct observed *parent, void *ctx)
{
    uint32_t rank = *(const char *)ctx == '1' ? 1 : 0;
    uint64_t mine = 100 + rank;
    uint64_t all[RANKS] = { 0, 0 };

    setenv("NEURON_RT_VISIBLE_CORES", ctx, 1);
    setenv("NEURON_RT_ROOT_COMM_ID", "10.0.0.1:46820", 1);
    if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS) {
        return 2;
    }
    observed_send(parent, (uint64_t)nrt_build_global_comm(0, rank, RANKS));
    observed_send(parent, (uint64_t)nrt_all_gather(0, rank, RANKS, sizeof mine, &mine, all));
    observed_send(parent, all[0] * 1000 + all[1]);
    while (observed_receive(parent) != 0) {
        observed_send(parent, (uint64_t)nrt_barrier(0, rank, RANKS));
    }
    nrt_close();
    return 0;
}

static void pair_start(const struct runtime *runtime, struct observed *ranks)
{
    static char names[RANKS][2] = { "0", "1" };

    for (uint32_t i = 0; i < RANKS; i++) {
        ranks[i] = observed_start(runtime->folder, rank_run, names[i]);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(observed_receive(&ranks[i]), NRT_SUCCESS);
        assert_int_equal(observed_receive(&ranks[i]), NRT_SUCCESS);
        assert_int_equal(observed_receive(&ranks[i]), 100 * 1000 + 101);
    }
}

static void all_gather_and_barrier_synchronise_processes(void **state)
{
    struct observed ranks[RANKS];

    pair_start(*state, ranks);
    nothing_is_left(*state); /* also while they are running */
    for (int round = 0; round < 3; round++) {
        observed_send(&ranks[0], 1);
        observed_send(&ranks[1], 1);
        assert_int_equal(observed_receive(&ranks[0]), NRT_SUCCESS);
        assert_int_equal(observed_receive(&ranks[1]), NRT_SUCCESS);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        observed_send(&ranks[i], 0);
        assert_int_equal(observed_finish(&ranks[i], 0), 0);
    }
    nothing_is_left(*state);
}

static void killing_a_rank_fails_the_operations_of_the_others(void **state)
{
    struct observed ranks[RANKS];

    pair_start(*state, ranks);
    observed_send(&ranks[0], 1);
    assert_int_equal(observed_finish(&ranks[1], SIGKILL), 128 + SIGKILL);
    assert_int_equal(observed_receive(&ranks[0]), NRT_EXEC_HW_ERR_COLLECTIVES);
    nothing_is_left(*state);
    observed_send(&ranks[0], 0);
    assert_int_equal(observed_finish(&ranks[0], 0), 0);
    /* The next pair starts without old state. */
    pair_start(*state, ranks);
    for (uint32_t i = 0; i < RANKS; i++) {
        observed_send(&ranks[i], 0);
        assert_int_equal(observed_finish(&ranks[i], 0), 0);
    }
}

static void a_rank_killed_before_all_have_joined_may_join_again(void **state)
{
    const struct runtime *runtime = *state;
    struct observed ranks[RANKS];
    struct observed lonely = observed_start(runtime->folder, rank_run, "0");

    assert_int_equal(observed_receive(&lonely), NRT_SUCCESS); /* it has joined and waits */
    assert_int_equal(observed_finish(&lonely, SIGKILL), 128 + SIGKILL);
    pair_start(runtime, ranks);
    nothing_is_left(runtime);
    for (uint32_t i = 0; i < RANKS; i++) {
        observed_send(&ranks[i], 0);
        assert_int_equal(observed_finish(&ranks[i], 0), 0);
    }
}

static void startup_removes_leftovers_of_killed_ranks(void **state)
{
    const struct runtime *runtime = *state;
    struct observed lonely = observed_start(runtime->folder, rank_run, "0");

    assert_int_equal(observed_receive(&lonely), NRT_SUCCESS);
    /* While the rank lives, its file stays. */
    setenv("NEURON_RT_VISIBLE_CORES", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(files_left(runtime), 1);
    nrt_close();
    assert_int_equal(observed_finish(&lonely, SIGKILL), 128 + SIGKILL);
    assert_int_equal(files_left(runtime), 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    nothing_is_left(runtime);
    unsetenv("NEURON_RT_VISIBLE_CORES");
}

static void operations_with_a_missing_rank_time_out(void **state)
{
    struct test_model_options options = { 0 };
    nrt_model_t *model = NULL;
    size_t bytes;
    uint8_t *neff = test_model_adder(&options, &bytes);
    char mine = 7;
    char all[2] = { 0, 0 };

    setenv("NEURON_RT_EXEC_TIMEOUT", "1", 1);
    assert_int_equal(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
    assert_int_equal(nrt_barrier(0, 0, 2), NRT_TIMEOUT);
    nothing_is_left(*state);
    /* A single rank does not wait. */
    assert_int_equal(nrt_barrier(0, 0, 1), NRT_SUCCESS);
    assert_int_equal(nrt_all_gather(1, 0, 1, 1, &mine, all), NRT_SUCCESS);
    assert_int_equal(all[0], 7);
    assert_int_equal(nrt_barrier(0, 2, 2), NRT_INVALID);
    assert_int_equal(nrt_barrier(2, 0, 1), NRT_INVALID);
    assert_int_equal(nrt_all_gather(0, 0, 1, 1, NULL, all), NRT_INVALID);
    assert_int_equal(nrt_barrier(-2, 0, 1), NRT_INVALID);
    assert_int_equal(nrt_barrier(-1, 0, 1), NRT_SUCCESS);
    assert_int_equal(nrt_cc_create_stream(0), NRT_SUCCESS);
    assert_int_equal(nrt_cc_create_stream(4), NRT_INVALID);
    assert_int_equal(nrt_cc_global_comm_init(0, 0, 0), NRT_INVALID);
    assert_int_equal(nrt_cc_global_comm_init(0, 0, 1), NRT_SUCCESS);
    assert_int_equal(nrt_load_collectives(neff, bytes, 0, -1, 5, 4, &model), NRT_INVALID);
    assert_int_equal(nrt_load_collectives(neff, bytes, 0, -1, 0, 4, &model), NRT_SUCCESS);
    assert_int_equal(nrt_unload(model), NRT_SUCCESS);
    free(neff);
    nrt_close();
    nothing_is_left(*state);
    unsetenv("NEURON_RT_EXEC_TIMEOUT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, runtime_setup, runtime_teardown)
        TEST(all_gather_and_barrier_synchronise_processes),
        TEST(killing_a_rank_fails_the_operations_of_the_others),
        TEST(a_rank_killed_before_all_have_joined_may_join_again),
        TEST(startup_removes_leftovers_of_killed_ranks),
        TEST(operations_with_a_missing_rank_time_out),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
