/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/mlugraph/random_graph.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

static struct mlu_fuse_node *begin(struct random_graph *random, int32_t device)
{
    struct mlu_fuse_graph *graph = &random->graph;
    struct mlu_fuse_node *node = &random->nodes[graph->node_count++];

    *node = (struct mlu_fuse_node){ .device = device,
                                    .first_input = graph->input_count,
                                    .first_output = graph->output_count };
    return node;
}

static void read_from(struct random_graph *random, struct mlu_fuse_node *node, uint32_t producer,
                      uint32_t output)
{
    random->inputs[random->graph.input_count++] = (struct mlu_fuse_input){ producer, output };
    node->input_count++;
}

static void start(struct random_graph *random)
{
    memset(random, 0, sizeof *random);
    random->graph.nodes = random->nodes;
    random->graph.inputs = random->inputs;
    random->graph.is_head = random->is_head;
}

void random_graph_make(struct random_graph *random, uint64_t seed, uint32_t node_count)
{
    uint64_t state = seed;
    /* Each graph has its own probabilities: of operators on other devices, of external inputs, of
     * heads. */
    uint32_t elsewhere = random_below(&state, 4);
    uint32_t external = random_below(&state, 5);
    uint32_t heads = random_below(&state, 4);
    uint32_t reach = 1 + random_below(&state, 4);

    assert(node_count <= RANDOM_GRAPH_NODES_MAX);
    start(random);
    for (uint32_t n = 0; n < node_count; n++) {
        int32_t device =
            random_below(&state, 8) < elsewhere ? (int32_t)random_below(&state, 3) - 1 : 0;
        struct mlu_fuse_node *node = begin(random, device);
        uint32_t inputs = random_below(&state, RANDOM_GRAPH_INPUTS_MAX);

        node->is_copy = random_below(&state, 24) < elsewhere;
        if (n > 0 && inputs == 0) {
            inputs = random_below(&state, 6) > 0 ? 1 : 0;
        }
        for (uint32_t i = 0; i < inputs; i++) {
            if (n == 0 || random_below(&state, 12) < external) {
                read_from(random, node, MLU_FUSE_EXTERNAL, 0);
            } else {
                uint32_t back = 1 + random_below(&state, reach);
                uint32_t producer = back > n ? 0 : n - back;

                read_from(random, node, producer,
                          random_below(&state, random->nodes[producer].output_count));
            }
        }
        node->output_count = random_below(&state, 8) == 0 ? 2 : 1;
        for (uint32_t o = 0; o < node->output_count; o++) {
            random->is_head[node->first_output + o] = random_below(&state, 12) < heads;
        }
        random->graph.output_count += node->output_count;
    }
}

void random_graph_parse(struct random_graph *random, const char *text)
{
    start(random);
    while (*text) {
        struct mlu_fuse_node *node = begin(random, *text == 'm' ? text[1] - '0' : -1);

        node->is_copy = strncmp(text, "copy", 4) == 0;
        if (node->is_copy) {
            node->device = 0; /* an MLU on at least one side */
        }
        node->output_count = 1;
        text = strchr(text, ':') + 1;
        for (; *text && *text != ' '; text++) {
            if (*text == 'H') {
                random->is_head[node->first_output] = true;
            } else if (*text == 'e') {
                read_from(random, node, MLU_FUSE_EXTERNAL, 0);
            } else if (isdigit((unsigned char)*text)) {
                read_from(random, node, (uint32_t)strtoul(text, (char **)&text, 10), 0);
                text--;
            }
        }
        random->graph.output_count++;
        text += *text == ' ';
    }
}
