/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "tests/runtime-hooks/mlugraph/random_graph.h"
#include "tests/support/unit.h"

/* "0,1(0) 3,4(3)": operators and where the segment runs. */
static char *written(const struct mlu_fuse_graph *graph)
{
    struct ntk_vec segments;
    struct ntk_buf text = { 0 };

    assert_int_equal(mlu_segments_find(graph, &segments, NULL), 0);
    ntk_buf_add(&text, "", 0);
    ntk_vec_each(struct mlu_segment, segment, &segments) {
        for (uint32_t i = 0; i < segment->op_count; i++) {
            ntk_buf_add_format(&text, i > 0 ? ",%u" : "%u", segment->ops[i]);
        }
        ntk_buf_add_format(&text, "(%u) ", segment->fire);
    }
    ntk_buf_add_char(&text, '\0');
    mlu_segments_fini(&segments);
    return ntk_buf_take(&text, NULL);
}

static void segments_of_small_graphs_match_a_manual_calculation(void **state)
{
    static const struct {
        const char *graph;
        const char *segments;
    } rows[] = {
        { "m0:e m0:0 cpu:1 m0:2 m0:3 copy:4 m1:5 m1:6H", "0,1(0) 3,4(3) 6,7(6) " },
        { "m0:e m0:0 m0:1 m0:2 m0:3,0H", "0,1,2,3,4(0) " }, /* a residual */
        /* With segment {0,1}, operator 2 would never get its input. */
        { "m0:e m0:0 cpu:0 m0:1,2H", "" },
        { "m0:eH", "" },
        { "m0:e m0:e m0:0H m0:1H", "0,1,2,3(1) " },
        { "m0:e m0:0H m0:e m0:2H", "0,1(0) 2,3(2) " },
        { "m0:e m0:eH m0:0H", "0,2(0) " },
        { "m0:e m0:0 m0:1H", "0,1,2(0) " }, /* weights are bound, so they are not read */
        { "m0:e m0:0H m0:1 m0:2H", "0,1,2,3(0) " },
        { "m0:e m0:0 cpu:e m0:1,2 m0:3H", "0,1,3,4(3) " },
        { "m0:e cpu:0 m0:0 m0:2,1H", "" },
        { "m0:eH m0:0 m0:1H", "1,2(1) " },
        { "m0: m0:0 m0:1H", "0,1,2(0) " }, /* no inputs at all: runs at its first operator */
        { "", "" },
        { "cpu:e cpu:0H", "" },
        { "m1:e m1:0H m0:e m0:2H", "2,3(2) 0,1(0) " }, /* one device after another */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct random_graph random;

        random_graph_parse(&random, rows[i].graph);
        char *text = written(&random.graph);
        if (strcmp(text, rows[i].segments) != 0) {
            fail_msg("%s: %s, not %s", rows[i].graph, text, rows[i].segments);
        }
        free(text);
    }
}

static void inputs_and_outputs_of_a_segment_are_reported(void **state)
{
    struct random_graph random;
    struct ntk_vec segments;
    struct mlu_segment *segment;

    random_graph_parse(&random, "m0:e m0:0 cpu:e m0:1,2 m0:3H");
    assert_int_equal(mlu_segments_find(&random.graph, &segments, NULL), 0);
    segment = ntk_vec_at(&segments, 0);
    assert_int_equal(segment->input_count, 2);
    assert_int_equal(segment->inputs[0], 0);
    assert_int_equal(segment->inputs[1], 3);
    assert_int_equal(segment->output_count, 1);
    assert_int_equal(segment->outputs[0], 4);
    mlu_segments_fini(&segments);

    random_graph_parse(&random, "m0:e m0:0H m0:1 m0:2H");
    assert_int_equal(mlu_segments_find(&random.graph, &segments, NULL), 0);
    segment = ntk_vec_at(&segments, 0);
    assert_int_equal(segment->output_count, 2);
    assert_int_equal(segment->outputs[0], 1);
    assert_int_equal(segment->outputs[1], 3);
    mlu_segments_fini(&segments);
}

/* ---- the definitions of mlu_segments.h, implemented as simply as possible ---- */

static bool reads_from_outside(const struct mlu_fuse_graph *graph, const bool *in, uint32_t n)
{
    const struct mlu_fuse_node *node = &graph->nodes[n];

    for (uint32_t e = node->first_input; e < node->first_input + node->input_count; e++) {
        if (graph->inputs[e].producer == MLU_FUSE_EXTERNAL || !in[graph->inputs[e].producer]) {
            return true;
        }
    }
    return false;
}

static bool gives_to_outside(const struct mlu_fuse_graph *graph, const bool *in, uint32_t n)
{
    const struct mlu_fuse_node *node = &graph->nodes[n];

    for (uint32_t o = 0; o < node->output_count; o++) {
        bool is_read = false;

        if (graph->is_head[node->first_output + o]) {
            return true;
        }
        for (uint32_t c = n + 1; c < graph->node_count; c++) {
            const struct mlu_fuse_node *consumer = &graph->nodes[c];

            for (uint32_t e = 0; e < consumer->input_count; e++) {
                const struct mlu_fuse_input *input = &graph->inputs[consumer->first_input + e];

                if (input->producer == n && input->output == o) {
                    is_read = true;
                    if (!in[c]) {
                        return true;
                    }
                }
            }
        }
        if (!is_read) {
            return true;
        }
    }
    return false;
}

/* The number of operators in a valid set, otherwise 0. */
static uint32_t valid_size(const struct mlu_fuse_graph *graph, const bool *in)
{
    int64_t last_input = -1;
    int64_t first_output = INT64_MAX;
    uint32_t size = 0;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (!in[n]) {
            continue;
        }
        size++;
        if (reads_from_outside(graph, in, n)) {
            last_input = n;
        }
        if (first_output == INT64_MAX && gives_to_outside(graph, in, n)) {
            first_output = n;
        }
    }
    return size >= 2 && last_input < first_output ? size : 0;
}

/* The largest valid set among all sets of the operators left on the device. */
static uint32_t exhaustive_size(const struct mlu_fuse_graph *graph, const bool *left)
{
    uint32_t places[RANDOM_GRAPH_NODES_MAX];
    uint32_t count = 0;
    uint32_t best = 0;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        if (left[n]) {
            places[count++] = n;
        }
    }
    for (uint32_t set = 0; set < UINT32_C(1) << count; set++) {
        bool in[RANDOM_GRAPH_NODES_MAX] = { 0 };

        for (uint32_t i = 0; i < count; i++) {
            in[places[i]] = set >> i & 1;
        }
        uint32_t size = valid_size(graph, in);
        best = size > best ? size : best;
    }
    return best;
}

/* The set of a cut by definition: deletes operators that may not stay until all may. */
static uint32_t fixpoint(const struct mlu_fuse_graph *graph, const bool *left, int64_t cut,
                         bool *in)
{
    uint32_t size = 0;

    memcpy(in, left, graph->node_count * sizeof *in);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            if (in[n] && ((int64_t)n > cut ? reads_from_outside(graph, in, n)
                                           : gives_to_outside(graph, in, n))) {
                in[n] = false;
                changed = true;
            }
        }
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        size += in[n];
    }
    return size;
}

/* The next segment of the device by definition: its size, or 0 if there is none. */
static uint32_t next_by_definition(const struct mlu_fuse_graph *graph, const bool *left, bool *best)
{
    uint32_t best_size = 0;
    bool in[RANDOM_GRAPH_NODES_MAX];

    for (int64_t cut = -1; cut < (int64_t)graph->node_count; cut++) {
        if (cut < 0 || left[cut]) {
            uint32_t size = fixpoint(graph, left, cut, in);

            if (size > best_size) {
                best_size = size;
                memcpy(best, in, sizeof in);
            }
        }
    }
    return best_size >= 2 ? best_size : 0;
}

/* Cuts the graph in both ways; returns how many segments it has. */
static size_t compare(const struct mlu_fuse_graph *graph, uint64_t seed, bool with_search)
{
    struct ntk_vec segments;
    size_t next = 0;

    assert_int_equal(mlu_segments_find(graph, &segments, NULL), 0);
    for (int32_t device = 0; device < 2; device++) {
        bool left[RANDOM_GRAPH_NODES_MAX] = { 0 };
        bool best[RANDOM_GRAPH_NODES_MAX];
        uint32_t size;

        for (uint32_t n = 0; n < graph->node_count; n++) {
            left[n] = graph->nodes[n].device == device && !graph->nodes[n].is_copy;
        }
        while ((size = next_by_definition(graph, left, best)) > 0) {
            const struct mlu_segment *segment =
                next < segments.count ? ntk_vec_at(&segments, next) : NULL;

            if (!segment || segment->device != device || segment->op_count != size) {
                fail_msg("seed %llu: segment %zu does not have %u operators",
                         (unsigned long long)seed, next, size);
            }
            for (uint32_t i = 0; i < size; i++) {
                if (!best[segment->ops[i]]) {
                    fail_msg("seed %llu: %u is in segment %zu", (unsigned long long)seed,
                             segment->ops[i], next);
                }
            }
            if (valid_size(graph, best) != size ||
                (with_search && exhaustive_size(graph, left) != size)) {
                fail_msg("seed %llu: segment %zu is not the largest", (unsigned long long)seed,
                         next);
            }
            for (uint32_t n = 0; n < graph->node_count; n++) {
                left[n] = left[n] && !best[n];
            }
            next++;
        }
        if (with_search && exhaustive_size(graph, left) != 0) {
            fail_msg("seed %llu: a segment is missing", (unsigned long long)seed);
        }
    }
    assert_int_equal(next, segments.count);
    mlu_segments_fini(&segments);
    return next;
}

static void segments_match_an_exhaustive_search(void **state)
{
    size_t found = 0;

    for (uint64_t seed = 1; seed <= 6000; seed++) {
        struct random_graph random;

        random_graph_make(&random, seed, 1 + (uint32_t)(seed % 8));
        found += compare(&random.graph, seed, true);
    }
    assert_true(found > 2000); /* the graphs do have segments */
}

static void segments_of_random_graphs_satisfy_the_definition(void **state)
{
    size_t found = 0;

    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct random_graph random;

        random_graph_make(&random, seed * 77, 9 + (uint32_t)(seed % 40));
        found += compare(&random.graph, seed, false);
    }
    assert_true(found > 2000);
}

/* A segment runs after its inputs were made, and before its outputs are read. */
static void every_segment_input_is_computed_before_its_use(void **state)
{
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct random_graph random;
        uint32_t made_at[RANDOM_GRAPH_NODES_MAX];
        struct ntk_vec segments;

        random_graph_make(&random, seed * 31, 2 + (uint32_t)(seed % 60));
        const struct mlu_fuse_graph *graph = &random.graph;
        assert_int_equal(mlu_segments_find(graph, &segments, NULL), 0);
        for (uint32_t n = 0; n < graph->node_count; n++) {
            made_at[n] = n;
        }
        ntk_vec_each(struct mlu_segment, segment, &segments) {
            for (uint32_t i = 0; i < segment->op_count; i++) {
                /* Each operator is in only one segment. */
                assert_int_equal(made_at[segment->ops[i]], segment->ops[i]);
                made_at[segment->ops[i]] = segment->fire;
            }
        }
        for (uint32_t n = 0; n < graph->node_count; n++) {
            const struct mlu_fuse_node *node = &graph->nodes[n];

            for (uint32_t e = node->first_input; e < node->first_input + node->input_count; e++) {
                uint32_t producer = graph->inputs[e].producer;

                if (producer != MLU_FUSE_EXTERNAL && made_at[producer] > made_at[n]) {
                    fail_msg("seed %llu: %u is made at %u, read by %u at %u",
                             (unsigned long long)seed, producer, made_at[producer], n, made_at[n]);
                }
            }
        }
        mlu_segments_fini(&segments);
    }
}

/* ---- many operators ---- */

#define MANY 10000

struct big_graph {
    struct mlu_fuse_graph graph;
    struct mlu_fuse_node nodes[MANY];
    struct mlu_fuse_input inputs[MANY * 3];
    bool is_head[MANY];
};

enum nature { CHAIN, ALTERNATING, HEADS_AND_INPUTS, RANDOM };

static void make_big(struct big_graph *big, enum nature nature)
{
    uint64_t state = 5;
    uint32_t inputs = 0;

    memset(big, 0, sizeof *big);
    for (uint32_t n = 0; n < MANY; n++) {
        struct mlu_fuse_node *node = &big->nodes[n];
        uint32_t before = n > 0 ? n - 1 : MLU_FUSE_EXTERNAL;

        *node =
            (struct mlu_fuse_node){ .first_input = inputs, .first_output = n, .output_count = 1 };
        big->inputs[inputs++] = (struct mlu_fuse_input){ before, 0 };
        if (nature == ALTERNATING && n % 3 == 2) {
            node->device = -1;
        }
        /* One segment for every two operators, all in one chain. */
        if (nature == HEADS_AND_INPUTS) {
            big->is_head[n] = n % 2 == 1;
            if (n > 0 && n % 2 == 0) {
                big->inputs[inputs++] = (struct mlu_fuse_input){ MLU_FUSE_EXTERNAL, 0 };
            }
        }
        if (nature == RANDOM && n > 20) {
            big->inputs[inputs++] = (struct mlu_fuse_input){ n - 1 - random_below(&state, 20), 0 };
            big->is_head[n] = random_below(&state, 50) == 0;
            node->device = random_below(&state, 200) == 0 ? -1 : 0;
        }
        node->input_count = inputs - node->first_input;
    }
    big->is_head[MANY - 1] = true;
    big->graph =
        (struct mlu_fuse_graph){ big->nodes, MANY, big->inputs, inputs, big->is_head, MANY };
}

static void a_graph_of_ten_thousand_operators_is_segmented(void **state)
{
    static const struct {
        enum nature nature;
        const char *name;
        size_t segments;
    } rows[] = {
        { CHAIN, "chain", 1 },
        { ALTERNATING, "two of three on the MLU", MANY / 3 },
        { HEADS_AND_INPUTS, "every second one a head", MANY / 2 },
        { RANDOM, "random", 0 },
    };
    struct big_graph *big = malloc(sizeof *big);

    assert_non_null(big);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ntk_vec segments;

        make_big(big, rows[i].nature);
        assert_int_equal(mlu_segments_find(&big->graph, &segments, NULL), 0);
        printf("%d operators, %s: %zu segments\n", MANY, rows[i].name, segments.count);
        if (rows[i].segments > 0) {
            assert_int_equal(segments.count, rows[i].segments);
        }
        mlu_segments_fini(&segments);
    }
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_of_small_graphs_match_a_manual_calculation),
        cmocka_unit_test(inputs_and_outputs_of_a_segment_are_reported),
        cmocka_unit_test(segments_match_an_exhaustive_search),
        cmocka_unit_test(segments_of_random_graphs_satisfy_the_definition),
        cmocka_unit_test(every_segment_input_is_computed_before_its_use),
        cmocka_unit_test(a_graph_of_ten_thousand_operators_is_segmented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
