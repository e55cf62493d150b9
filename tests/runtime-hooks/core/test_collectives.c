/* SPDX-License-Identifier: MIT */
/*
 * Ranks as threads of one process: their results, checked against sums computed here, and what
 * happens when their arguments do not match.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_collectives.h"
#include "shared/formats/neff/isa.h"
#include "tests/support/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define RANKS 3U
#define LARGE 700001U /* floats: more than one chunk, and not a multiple of any size */

struct fixture {
    char *folder;
    struct ntk_core *core;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_core_options options = { .lnc = 1 };
    struct ntk_err err = { 0 };

    test_scratch_in_memory();
    f->folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", f->folder, 1);
    setenv("NEURON_HOOKS", "0", 1);
    if (ntk_core_open(&options, &f->core, &err) < 0) {
        return -1;
    }
    *state = f;
    return 0;
}

static int files_left(const struct fixture *f)
{
    DIR *folder = opendir(f->folder);
    const struct dirent *entry = NULL;
    int count = 0;

    while (folder && (entry = readdir(folder)) != NULL) {
        count += strncmp(entry->d_name, "cc-", 3) == 0;
    }
    (void)closedir(folder);
    return count;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_core_close(f->core);
    int left = files_left(f);
    test_scratch_destroy(f->folder);
    free(f);
    return left;
}

struct member {
    pthread_t thread;
    struct fixture *f;
    struct ntk_core_comm_options options;
    int (*run)(struct member *member, struct ntk_core_comm *comm);
    size_t count;
    int result;
    struct ntk_err err;
    void *out;
};

static void *member_run(void *argument)
{
    struct member *member = argument;
    struct ntk_core_comm *comm = NULL;

    member->result = ntk_core_comm_join(member->f->core, &member->options, &comm, &member->err);
    if (member->result == 0) {
        member->result = member->run(member, comm);
        ntk_core_comm_leave(comm);
    }
    return NULL;
}

/* Runs one thread per rank, with these options. */
static void members_start(struct fixture *f, struct member *members, uint32_t count,
                          int (*run)(struct member *, struct ntk_core_comm *))
{
    for (uint32_t i = 0; i < count; i++) {
        members[i].f = f;
        members[i].run = run;
        assert_int_equal(pthread_create(&members[i].thread, NULL, member_run, &members[i]), 0);
    }
}

static void members_join(struct member *members, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(members[i].thread, NULL), 0);
    }
}

static void members_run(struct fixture *f, struct member *members, uint32_t count,
                        int (*run)(struct member *, struct ntk_core_comm *))
{
    members_start(f, members, count, run);
    members_join(members, count);
}

static void world_make(struct member *members)
{
    memset(members, 0, RANKS * sizeof *members);
    for (uint32_t i = 0; i < RANKS; i++) {
        members[i].options =
            (struct ntk_core_comm_options){ .rendezvous = "world", .rank = i, .rank_count = RANKS };
    }
}

/* Small integers, so that sums are exact; a different sequence for each rank. */
static float value_of(uint32_t rank, size_t i)
{
    return (float)((i * 7 + rank * 13) % 101) - 50.0F;
}

static float sum_of(size_t i)
{
    float sum = 0.0F;

    for (uint32_t rank = 0; rank < RANKS; rank++) {
        sum += value_of(rank, i);
    }
    return sum;
}

static float *values_make(uint32_t rank, size_t count)
{
    float *values = calloc(count + 1, sizeof *values);

    for (size_t i = 0; values && i < count; i++) {
        values[i] = value_of(rank, i);
    }
    return values;
}

static int run_gather(struct member *member, struct ntk_core_comm *comm)
{
    float *mine = values_make(ntk_core_comm_rank(comm), member->count);

    member->out = calloc(member->count * RANKS + 1, sizeof(float));
    int ret = ntk_core_comm_all_gather(comm, mine, member->out, member->count * sizeof(float),
                                       &member->err);
    free(mine);
    return ret;
}

static void a_gather_stores_the_data_of_every_rank_at_its_position(void **state)
{
    static const size_t counts[] = { 0, 1, 5, LARGE };
    struct member members[RANKS];

    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        world_make(members);
        for (uint32_t r = 0; r < RANKS; r++) {
            members[r].count = counts[c];
        }
        members_run(*state, members, RANKS, run_gather);
        for (uint32_t r = 0; r < RANKS; r++) {
            const float *out = members[r].out;

            assert_int_equal(members[r].result, 0);
            for (uint32_t from = 0; from < RANKS; from++) {
                for (size_t i = 0; i < counts[c]; i++) {
                    if (out[from * counts[c] + i] != value_of(from, i)) {
                        fail_msg("rank %u: element %zu of rank %u", r, i, from);
                    }
                }
            }
            free(members[r].out);
        }
    }
}

/* Input and output are the same buffer. */
static int run_sum(struct member *member, struct ntk_core_comm *comm)
{
    member->out = values_make(ntk_core_comm_rank(comm), member->count);
    return ntk_core_comm_all_reduce(comm, member->out, member->out, member->count,
                                    NTK_DTYPE_FLOAT32, NTK_CORE_SUM, &member->err);
}

static int run_scatter(struct member *member, struct ntk_core_comm *comm)
{
    float *mine = values_make(ntk_core_comm_rank(comm), member->count * RANKS);

    member->out = calloc(member->count + 1, sizeof(float));
    int ret = ntk_core_comm_reduce_scatter(comm, mine, member->out, member->count,
                                           NTK_DTYPE_FLOAT32, NTK_CORE_SUM, &member->err);
    free(mine);
    return ret;
}

static void reductions_include_the_data_of_all_ranks(void **state)
{
    static const size_t counts[] = { 1, 1025, LARGE };
    struct member members[RANKS];

    for (size_t c = 0; c < 2 * sizeof counts / sizeof *counts; c++) {
        bool scatters = c % 2 == 1;
        size_t count = counts[c / 2];

        world_make(members);
        for (uint32_t r = 0; r < RANKS; r++) {
            members[r].count = count;
        }
        members_run(*state, members, RANKS, scatters ? run_scatter : run_sum);
        for (uint32_t r = 0; r < RANKS; r++) {
            const float *out = members[r].out;

            assert_int_equal(members[r].result, 0);
            for (size_t i = 0; i < count; i++) {
                if (out[i] != sum_of(scatters ? r * count + i : i)) {
                    fail_msg("rank %u: element %zu is %g", r, i, (double)out[i]);
                }
            }
            free(members[r].out);
        }
    }
}

/* Each element type once, packed into one block of results. */
static int run_kinds(struct member *member, struct ntk_core_comm *comm)
{
    uint32_t rank = ntk_core_comm_rank(comm);
    uint64_t large = (UINT64_C(1) << 63) + rank;
    int8_t small[2] = { 100, -3 };
    int32_t signed_words[2] = { (int32_t)rank - 1, 5 - (int32_t)rank };
    uint16_t ones[1] = { 0x3f80 }; /* bfloat16 1.0 */
    uint64_t out_large[2] = { 0, 0 };
    int32_t out_words[2] = { 0, 0 };
    uint64_t *out = calloc(8, sizeof *out);
    int ret = 0;

    small[1] = (int8_t)(-3 - (int)rank);
    ret |= ntk_core_comm_all_reduce(comm, &large, &out_large[0], 1, NTK_DTYPE_UINT64, NTK_CORE_MAX,
                                    &member->err);
    ret |= ntk_core_comm_all_reduce(comm, &large, &out_large[1], 1, NTK_DTYPE_UINT64, NTK_CORE_SUM,
                                    &member->err);
    ret |=
        ntk_core_comm_all_reduce(comm, small, small, 2, NTK_DTYPE_INT8, NTK_CORE_SUM, &member->err);
    ret |= ntk_core_comm_all_reduce(comm, signed_words, out_words, 2, NTK_DTYPE_INT32, NTK_CORE_MIN,
                                    &member->err);
    ret |= ntk_core_comm_all_reduce(comm, ones, ones, 1, NTK_DTYPE_BFLOAT16, NTK_CORE_SUM,
                                    &member->err);
    out[0] = out_large[0];
    out[1] = out_large[1];
    out[2] = (uint64_t)(int64_t)small[0];
    out[3] = (uint64_t)(int64_t)small[1];
    out[4] = (uint64_t)(int64_t)out_words[0];
    out[5] = (uint64_t)(int64_t)out_words[1];
    out[6] = ones[0];
    member->out = out;
    return ret;
}

static void reductions_use_the_arithmetic_of_the_element_type(void **state)
{
    const uint64_t expected[8] = {
        (UINT64_C(1) << 63) + 2, /* maximum of 2^63 + 0..2, as unsigned numbers */
        (UINT64_C(1) << 63) + 3, /* 3 x 2^63 + 3, wrapped */
        44,                      /* 300 in 8 bits */
        (uint64_t)-12,
        (uint64_t)-1,
        3,
        0x4040, /* 3.0 */
        0,
    };
    struct member members[RANKS];

    world_make(members);
    members_run(*state, members, RANKS, run_kinds);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(members[r].result, 0);
        assert_memory_equal(members[r].out, expected, sizeof expected);
        free(members[r].out);
    }
}

static void a_group_of_ranks_gathers_in_the_order_of_the_group(void **state)
{
    static const uint32_t group[2] = { 4, 1 };
    struct member members[2];

    memset(members, 0, sizeof members);
    for (uint32_t i = 0; i < 2; i++) {
        members[i].options = (struct ntk_core_comm_options){
            .rank = group[i], .rank_count = 6, .group = group, .group_count = 2
        };
        members[i].count = 4;
    }
    /* run_gather has room for RANKS; two arrive. */
    members_run(*state, members, 2, run_gather);
    for (uint32_t i = 0; i < 2; i++) {
        const float *out = members[i].out;

        assert_int_equal(members[i].result, 0);
        for (size_t k = 0; k < 8; k++) {
            assert_true(out[k] == value_of((uint32_t)(k / 4), k % 4));
        }
        free(members[i].out);
    }
}

/* Rank 1 calls something else first; afterwards all calls match. */
static int run_differently(struct member *member, struct ntk_core_comm *comm)
{
    char byte = 0;
    char all[RANKS];
    int first = ntk_core_comm_rank(comm) == 1
                    ? ntk_core_comm_all_gather(comm, &byte, all, 1, &member->err)
                    : ntk_core_comm_barrier(comm, &member->err);
    int second = ntk_core_comm_barrier(comm, &member->err);

    return first == -EINVAL && second == 0 ? 0 : -1;
}

static void mismatched_operations_fail_on_all_ranks_and_later_ones_succeed(void **state)
{
    struct member members[RANKS];

    world_make(members);
    members_run(*state, members, RANKS, run_differently);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(members[r].result, 0);
    }
}

static int run_barriers(struct member *member, struct ntk_core_comm *comm)
{
    int ret = 0;

    for (int i = 0; i < 200 && ret == 0; i++) {
        ret = ntk_core_comm_barrier(comm, &member->err);
    }
    return ret;
}

static atomic_uint joined;
static atomic_uint ended;

static int run_late_barrier(struct member *member, struct ntk_core_comm *comm)
{
    atomic_fetch_add(&joined, 1);
    int ret = ntk_core_comm_barrier(comm, &member->err);
    atomic_fetch_add(&ended, 1);
    return ret;
}

static int have_both_joined(void *ctx)
{
    (void)ctx;
    return atomic_load(&joined) == 2;
}

static int have_ended_an_hour_later(void *ctx)
{
    test_clock_advance(ctx, 3600 * NTK_NS_PER_SECOND);
    return atomic_load(&ended) == 2;
}

static void a_rank_timeout_ends_the_operation_and_a_new_one_may_start(void **state)
{
    struct fixture *f = *state;
    struct member members[RANKS];
    struct test_clock clock;

    test_clock_init(&clock);
    world_make(members);
    for (uint32_t r = 0; r < 2; r++) {
        members[r].options.timeout_ns = 3600 * NTK_NS_PER_SECOND;
        members[r].options.clock = &clock.clock;
    }
    members_start(f, members, 2, run_late_barrier);
    assert_true(test_wait_until(have_both_joined, NULL));
    assert_int_equal(atomic_load(&ended), 0);
    assert_true(test_wait_until(have_ended_an_hour_later, &clock));
    members_join(members, 2);
    test_clock_fini(&clock);
    assert_int_equal(members[0].result, -ETIMEDOUT);
    assert_int_equal(members[1].result, -ETIMEDOUT);
    assert_string_equal(members[0].err.text,
                        "rank 0 of 3: rank 2 timed out during a collective operation");
    assert_int_equal(files_left(f), 0);
    world_make(members);
    members_run(f, members, RANKS, run_barriers);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(members[r].result, 0);
    }
    assert_int_equal(files_left(f), 0);
}

static void invalid_rank_numbers_and_groups_are_rejected(void **state)
{
    static const uint32_t twice[2] = { 1, 1 };
    static const uint32_t strange[2] = { 0, 9 };
    const struct ntk_core_comm_options bad[] = {
        { .rank = 0, .rank_count = 0 },
        { .rank = 2, .rank_count = 2 },
        { .rank = 0, .rank_count = NTK_CORE_RANKS_MAX + 1 },
        { .rank = 1, .rank_count = 2, .group = twice, .group_count = 2 },
        { .rank = 0, .rank_count = 2, .group = strange, .group_count = 2 },
        { .rank = 0, .rank_count = 3, .group = &strange[1], .group_count = 0 },
    };
    struct fixture *f = *state;
    struct ntk_core_comm *comm = NULL;
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(ntk_core_comm_join(f->core, &bad[i], &comm, &err), -EINVAL);
        assert_null(comm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_gather_stores_the_data_of_every_rank_at_its_position),
        TEST(reductions_include_the_data_of_all_ranks),
        TEST(reductions_use_the_arithmetic_of_the_element_type),
        TEST(a_group_of_ranks_gathers_in_the_order_of_the_group),
        TEST(mismatched_operations_fail_on_all_ranks_and_later_ones_succeed),
        TEST(a_rank_timeout_ends_the_operation_and_a_new_one_may_start),
        TEST(invalid_rank_numbers_and_groups_are_rejected),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
