/* SPDX-License-Identifier: MIT */
/* Numbered graphs on software MLUs: fused and unfused operators output equal bytes, and the host
 * computes equal numbers. */
#include "runtime-hooks/mlugraph/mlu_fuse_graph_executor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/runtime-hooks/mlugraph/mlu_machine.h"
#include "tests/runtime-hooks/mlugraph/random_symbol.h"
#include "tests/support/unit.h"

static int set_up(void **state)
{
    return mlu_machine_set_up(state, "mlu270x4");
}

static void assert_near(const struct mlu_array *got, const struct mlu_array *want, uint64_t seed)
{
    double largest = 0;

    for (size_t i = 0; i < want->count; i++) {
        largest = fmax(largest, fabs(mlu_array_get(want, i)));
    }
    for (size_t i = 0; i < want->count; i++) {
        double difference = fabs(mlu_array_get(got, i) - mlu_array_get(want, i));

        if (!(difference <= 1e-4 * (largest + 1e-3))) {
            fail_msg("seed %llu: element %zu is %g, not %g", (unsigned long long)seed, i,
                     mlu_array_get(got, i), mlu_array_get(want, i));
        }
    }
}

static void segments_on_mlus_output_the_bytes_of_their_operators(void **state)
{
    uint32_t fused = 0;
    uint32_t on_cpu = 0;
    uint32_t operators = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random_symbol random;
        struct graph_executor imperative = { 0 };
        struct graph_executor host = { 0 };
        struct mlu_fuse_graph_executor symbolic = { 0 };
        struct ntk_err err = { 0 };

        random_symbol_make(&random, seed * 7, 2 + (uint32_t)(seed % 12), NULL);
        if (graph_executor_bind(&imperative, &random.symbol, &mlu_device_cnml, random.args, &err) !=
                0 ||
            graph_executor_forward(&imperative, &err) != 0 ||
            mlu_fuse_bind(&symbolic, &random.symbol, &mlu_device_cnml, random.args, &err) != 0 ||
            mlu_run_ops(&symbolic, &err) != 0 ||
            graph_executor_bind(&host, &random.symbol, &mlu_device_host, random.args, &err) != 0 ||
            graph_executor_forward(&host, &err) != 0) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        }
        for (uint32_t h = 0; h < random.symbol.head_count; h++) {
            const struct mlu_array *one = graph_executor_output(&imperative, h, &err);
            const struct mlu_array *other = graph_executor_output(&symbolic.graph, h, &err);
            const struct mlu_array *want = graph_executor_output(&host, h, &err);

            assert_non_null(one);
            assert_non_null(other);
            assert_near(one, want, seed);
            if (memcmp(one->data, other->data, one->count * sizeof(float)) != 0) {
                fail_msg("seed %llu: head %u differs", (unsigned long long)seed, h);
            }
        }
        for (uint32_t i = 0; i < random.symbol.operator_count; i++) {
            operators += imperative.op_nodes[i].stream ? 1 : 0;
            on_cpu += imperative.op_nodes[i].why_on_cpu ? 1 : 0;
        }
        fused += (uint32_t)symbolic.segments.count;
        graph_executor_fini(&imperative);
        graph_executor_fini(&host);
        mlu_fuse_graph_executor_fini(&symbolic);
        random_symbol_fini(&random);
    }
    assert_true(fused > 30);
    assert_true(operators > 200);
    assert_int_equal(on_cpu, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_on_mlus_output_the_bytes_of_their_operators),
    };

    return cmocka_run_group_tests(tests, set_up, mlu_machine_tear_down);
}
