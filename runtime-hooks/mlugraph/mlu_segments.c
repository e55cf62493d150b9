/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/bits.h"
#include "shared/base/order.h"

#define NONE UINT32_MAX

/* Concatenated lists of numbers: list x is at[first[x]] to at[first[x + 1] - 1]. */
struct lists {
    uint32_t *first;
    uint32_t *at;
};

/* The operators of one device, numbered 0 to count - 1 in their order. */
struct device {
    const struct mlu_fuse_graph *graph;
    uint32_t *nodes; /* node in the graph, per operator */
    uint32_t count;
    uint32_t *local; /* per node of the graph: its number in this device, or NONE */
    struct lists producers;
    struct lists consumers;
    bool *reads_outside; /* an input is produced elsewhere */
    bool *gives_outside; /* an output is a head, read elsewhere, or unread */
    uint32_t *part_of;   /* component of each operator */
    uint32_t *place_in;  /* number of each operator in its component */
    struct part *parts;
    uint32_t part_count;
    uint32_t *members;   /* members of all components, concatenated */
    int64_t *difference; /* by cut: size of its set minus the size of the previous set */
    uint32_t *stack;
    /* positions in a component of operators that read from outside, and of operators with results
     * used outside */
    uint32_t *readers;
    uint32_t *givers;
    uint32_t *taken;   /* positions of operators in the new segment */
    uint32_t *reached; /* per component: number of operators before a cut */
};

/*
 * A connected component of operators. Its cut c is between its operators c - 1 and c: operators
 * before the cut have no outputs used outside, operators after it read nothing from outside.
 */
struct part {
    const uint32_t *members; /* in ascending order */
    uint32_t count;
    uint32_t words;       /* number of 64-bit words per set */
    uint64_t *alive;      /* count + 1 sets */
    uint32_t *sizes;      /* sizes of these sets */
    uint32_t taken_count; /* number of its operators in the new segment */
};

/* ---- connected operators ---- */

static uint32_t find_root(uint32_t *parents, uint32_t x)
{
    while (parents[x] != x) {
        parents[x] = parents[parents[x]];
        x = parents[x];
    }
    return x;
}

static int find_parts(struct device *d)
{
    uint32_t *root_part = calloc((size_t)d->count + 1, sizeof *root_part);
    uint32_t *parents = calloc((size_t)d->count + 1, sizeof *parents);
    uint32_t *filled = NULL;
    int ret = -ENOMEM;

    if (!root_part || !parents) {
        goto out;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        parents[i] = i;
        root_part[i] = NONE;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        for (uint32_t p = d->producers.first[i]; p < d->producers.first[i + 1]; p++) {
            parents[find_root(parents, d->producers.at[p])] = find_root(parents, i);
        }
    }
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t root = find_root(parents, i);

        if (root_part[root] == NONE) {
            root_part[root] = d->part_count++;
        }
        d->part_of[i] = root_part[root];
    }
    d->parts = calloc((size_t)d->part_count + 1, sizeof *d->parts);
    d->reached = calloc((size_t)d->part_count + 1, sizeof *d->reached);
    filled = calloc((size_t)d->part_count + 1, sizeof *filled);
    if (!d->parts || !d->reached || !filled) {
        goto out;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        struct part *part = &d->parts[d->part_of[i]];

        d->place_in[i] = part->count++;
    }
    uint32_t first = 0;
    for (uint32_t p = 0; p < d->part_count; p++) {
        d->parts[p].members = d->members + first;
        filled[p] = first;
        first += d->parts[p].count;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        d->members[filled[d->part_of[i]]++] = i;
    }
    ret = 0;
out:
    free(root_part);
    free(parents);
    free(filled);
    return ret;
}

/* ---- the sets of the cuts ---- */

/* Notes that the set of a cut changed its size; it represents the cuts of the device up to the next
 * cut in the component. */
static void change_size(struct device *d, const struct part *part, uint32_t cut, int64_t change)
{
    uint32_t from = cut == 0 ? 0 : part->members[cut - 1] + 1;
    uint32_t to = cut == part->count ? d->count : part->members[cut];

    d->difference[from] += change;
    d->difference[to + 1] -= change;
}

static bool is_alive(const struct part *part, uint32_t cut, uint32_t place)
{
    return ntk_bits_has(part->alive + (size_t)cut * part->words, place);
}

/* Removes an operator from the set of a cut, with all operators that depend on it; returns their
 * number. */
static uint32_t remove_from(struct device *d, struct part *part, uint32_t cut, uint32_t first)
{
    uint64_t *alive = part->alive + (size_t)cut * part->words;
    uint32_t depth = 0;
    uint32_t removed = 0;

    if (!is_alive(part, cut, first)) {
        return 0;
    }
    d->stack[depth++] = part->members[first];
    ntk_bits_remove(alive, first);
    while (depth > 0) {
        uint32_t gone = d->stack[--depth];

        removed++;
        for (uint32_t c = d->consumers.first[gone]; c < d->consumers.first[gone + 1]; c++) {
            uint32_t place = d->place_in[d->consumers.at[c]];

            if (place >= cut && ntk_bits_has(alive, place)) {
                ntk_bits_remove(alive, place);
                d->stack[depth++] = d->consumers.at[c];
            }
        }
        for (uint32_t p = d->producers.first[gone]; p < d->producers.first[gone + 1]; p++) {
            uint32_t place = d->place_in[d->producers.at[p]];

            if (place < cut && ntk_bits_has(alive, place)) {
                ntk_bits_remove(alive, place);
                d->stack[depth++] = d->producers.at[p];
            }
        }
    }
    return removed;
}

static int make_sets(struct device *d, struct part *part)
{
    part->words = (part->count + 63) / 64;
    part->alive = malloc(((size_t)part->count + 1) * part->words * sizeof *part->alive);
    part->sizes = calloc((size_t)part->count + 1, sizeof *part->sizes);
    if (!part->alive || !part->sizes) {
        return -ENOMEM;
    }
    memset(part->alive, 0xff, ((size_t)part->count + 1) * part->words * sizeof *part->alive);
    uint32_t readers = 0;
    uint32_t givers = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        if (d->reads_outside[part->members[i]]) {
            d->readers[readers++] = i;
        }
        if (d->gives_outside[part->members[i]]) {
            d->givers[givers++] = i;
        }
    }
    for (uint32_t cut = 0; cut <= part->count; cut++) {
        uint32_t size = part->count;

        for (uint32_t g = 0; g < givers && d->givers[g] < cut; g++) {
            size -= remove_from(d, part, cut, d->givers[g]);
        }
        for (uint32_t r = readers; r > 0 && d->readers[r - 1] >= cut; r--) {
            size -= remove_from(d, part, cut, d->readers[r - 1]);
        }
        part->sizes[cut] = size;
        change_size(d, part, cut, size);
    }
    return 0;
}

/* Removes members at these positions, which are now in a segment, from the set of a cut, together
 * with members that depend on them. */
static void shrink_set(struct device *d, struct part *part, uint32_t cut, const uint32_t *places,
                       uint32_t place_count)
{
    uint64_t *alive = part->alive + (size_t)cut * part->words;
    uint32_t before = part->sizes[cut];
    uint32_t members = 0;

    for (uint32_t i = 0; before > 0 && i < place_count; i++) {
        members += is_alive(part, cut, places[i]);
    }
    if (members == 0) {
        return;
    }
    for (uint32_t i = 0; i < place_count; i++) {
        if (members == before) { /* all members are removed: nothing to propagate */
            ntk_bits_remove(alive, places[i]);
        } else {
            part->sizes[cut] -= remove_from(d, part, cut, places[i]);
        }
    }
    if (members == before) {
        part->sizes[cut] = 0;
    }
    change_size(d, part, cut, (int64_t)part->sizes[cut] - before);
}

/* Marks operators that are now in a segment as outside for all others. ops: ascending numbers in
 * the graph. */
static void take_out(struct device *d, const uint32_t *ops, uint32_t op_count)
{
    for (uint32_t p = 0; p < d->part_count; p++) {
        d->parts[p].taken_count = 0;
    }
    for (uint32_t i = 0; i < op_count; i++) {
        d->parts[d->part_of[d->local[ops[i]]]].taken_count++;
    }
    for (uint32_t i = 0; i < op_count; i++) {
        uint32_t p = d->part_of[d->local[ops[i]]];
        struct part *part = &d->parts[p];
        uint32_t count = 0;

        if (part->taken_count == 0) {
            continue; /* already handled with the first operator of its component */
        }
        for (uint32_t k = i; count < part->taken_count; k++) {
            uint32_t op = d->local[ops[k]];

            if (d->part_of[op] == p) {
                d->taken[count++] = d->place_in[op];
            }
        }
        part->taken_count = 0;
        for (uint32_t cut = 0; cut <= part->count; cut++) {
            shrink_set(d, part, cut, d->taken, count);
        }
    }
}

/* Returns the first cut of the largest size; cut j is after the first j operators. */
static uint32_t largest(const struct device *d, int64_t *out_size)
{
    int64_t size = 0;
    uint32_t best = 0;

    *out_size = -1;
    for (uint32_t j = 0; j <= d->count; j++) {
        size += d->difference[j];
        if (size > *out_size) {
            *out_size = size;
            best = j;
        }
    }
    return best;
}

/* ---- one segment ---- */

/* Finds the operators in a segment that read from outside or have outputs used outside; in_set is
 * per node of the graph. */
static void find_ends(const struct device *d, const bool *in_set, const bool *is_read_outside,
                      struct mlu_segment *segment)
{
    const struct mlu_fuse_graph *graph = d->graph;

    for (uint32_t i = 0; i < segment->op_count; i++) {
        const struct mlu_fuse_node *node = &graph->nodes[segment->ops[i]];
        bool reads = false;
        bool gives = false;

        for (uint32_t e = node->first_input; e < node->first_input + node->input_count; e++) {
            uint32_t producer = graph->inputs[e].producer;

            reads = reads || producer == MLU_FUSE_EXTERNAL || !in_set[producer];
        }
        for (uint32_t o = node->first_output; o < node->first_output + node->output_count; o++) {
            gives = gives || is_read_outside[o];
        }
        if (reads) {
            segment->inputs[segment->input_count++] = segment->ops[i];
        }
        if (gives) {
            segment->outputs[segment->output_count++] = segment->ops[i];
        }
    }
    segment->fire =
        segment->input_count > 0 ? segment->inputs[segment->input_count - 1] : segment->ops[0];
}

/* State of the device between segments. */
struct scratch {
    bool *in_set;          /* per node of the graph */
    bool *is_read_outside; /* per output of the graph, true also if unread */
    bool *is_read;         /* per output of the graph */
    uint32_t *use_first;   /* per node: start of the list of nodes that read it */
    uint32_t *uses;
    uint32_t *use_output;
};

static void scratch_fini(struct scratch *s)
{
    free(s->in_set);
    free(s->is_read_outside);
    free(s->is_read);
    free(s->use_first);
    free(s->uses);
    free(s->use_output);
}

static int scratch_init(const struct mlu_fuse_graph *graph, struct scratch *s)
{
    uint32_t *filled = calloc((size_t)graph->node_count + 1, sizeof *filled);

    s->in_set = calloc((size_t)graph->node_count + 1, sizeof *s->in_set);
    s->is_read_outside = calloc((size_t)graph->output_count + 1, sizeof *s->is_read_outside);
    s->is_read = calloc((size_t)graph->output_count + 1, sizeof *s->is_read);
    s->use_first = calloc((size_t)graph->node_count + 1, sizeof *s->use_first);
    s->uses = calloc((size_t)graph->input_count + 1, sizeof *s->uses);
    s->use_output = calloc((size_t)graph->input_count + 1, sizeof *s->use_output);
    if (!filled || !s->in_set || !s->is_read_outside || !s->is_read || !s->use_first || !s->uses ||
        !s->use_output) {
        free(filled);
        return -ENOMEM;
    }
    for (uint32_t e = 0; e < graph->input_count; e++) {
        if (graph->inputs[e].producer != MLU_FUSE_EXTERNAL) {
            s->use_first[graph->inputs[e].producer + 1]++;
        }
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        s->use_first[n + 1] += s->use_first[n];
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct mlu_fuse_node *node = &graph->nodes[n];

        for (uint32_t e = node->first_input; e < node->first_input + node->input_count; e++) {
            uint32_t producer = graph->inputs[e].producer;

            if (producer != MLU_FUSE_EXTERNAL) {
                uint32_t slot = s->use_first[producer] + filled[producer]++;

                s->uses[slot] = n;
                s->use_output[slot] = graph->inputs[e].output;
            }
        }
    }
    free(filled);
    return 0;
}

/* Finds the outputs of one operator that are needed outside the set, or unread. */
static void look_outside(const struct mlu_fuse_graph *graph, struct scratch *s, uint32_t n)
{
    const struct mlu_fuse_node *node = &graph->nodes[n];
    bool *outside = s->is_read_outside + node->first_output;
    bool *read = s->is_read + node->first_output;

    memcpy(outside, graph->is_head + node->first_output, node->output_count * sizeof *outside);
    memset(read, 0, node->output_count * sizeof *read);
    for (uint32_t u = s->use_first[n]; u < s->use_first[n + 1]; u++) {
        read[s->use_output[u]] = true;
        outside[s->use_output[u]] |= !s->in_set[s->uses[u]];
    }
    for (uint32_t o = 0; o < node->output_count; o++) {
        outside[o] |= !read[o];
    }
}

static int add_segment(struct device *d, struct scratch *s, uint32_t cut, uint32_t size,
                       struct ntk_vec *segments)
{
    struct mlu_segment *segment = ntk_vec_add(segments);

    if (!segment) {
        return -ENOMEM;
    }
    segment->device = d->graph->nodes[d->nodes[0]].device;
    segment->ops = calloc((size_t)size + 1, sizeof *segment->ops);
    segment->inputs = calloc((size_t)size + 1, sizeof *segment->inputs);
    segment->outputs = calloc((size_t)size + 1, sizeof *segment->outputs);
    if (!segment->ops || !segment->inputs || !segment->outputs) {
        return -ENOMEM;
    }
    memset(d->reached, 0, d->part_count * sizeof *d->reached);
    for (uint32_t i = 0; i < cut; i++) {
        d->reached[d->part_of[i]]++;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        if (is_alive(&d->parts[d->part_of[i]], d->reached[d->part_of[i]], d->place_in[i])) {
            segment->ops[segment->op_count++] = d->nodes[i];
            s->in_set[d->nodes[i]] = true;
        }
    }
    for (uint32_t i = 0; i < segment->op_count; i++) {
        look_outside(d->graph, s, segment->ops[i]);
    }
    find_ends(d, s->in_set, s->is_read_outside, segment);
    for (uint32_t i = 0; i < segment->op_count; i++) {
        s->in_set[segment->ops[i]] = false;
    }
    take_out(d, segment->ops, segment->op_count);
    return 0;
}

/* ---- one device ---- */

static void device_fini(struct device *d)
{
    for (uint32_t p = 0; d->parts && p < d->part_count; p++) {
        free(d->parts[p].alive);
        free(d->parts[p].sizes);
    }
    free(d->nodes);
    free(d->local);
    free(d->producers.first);
    free(d->producers.at);
    free(d->consumers.first);
    free(d->consumers.at);
    free(d->reads_outside);
    free(d->gives_outside);
    free(d->part_of);
    free(d->place_in);
    free(d->parts);
    free(d->members);
    free(d->difference);
    free(d->stack);
    free(d->readers);
    free(d->givers);
    free(d->taken);
    free(d->reached);
}

static bool belongs(const struct mlu_fuse_node *node, int32_t device)
{
    return node->device == device && !node->is_copy;
}

static int allocate(struct device *d, const struct mlu_fuse_graph *graph)
{
    size_t n = (size_t)graph->node_count + 2;
    size_t e = (size_t)graph->input_count + 1;

    d->graph = graph;
    d->nodes = calloc(n, sizeof *d->nodes);
    d->local = calloc(n, sizeof *d->local);
    d->producers.first = calloc(n, sizeof *d->producers.first);
    d->producers.at = calloc(e, sizeof *d->producers.at);
    d->consumers.first = calloc(n, sizeof *d->consumers.first);
    d->consumers.at = calloc(e, sizeof *d->consumers.at);
    d->reads_outside = calloc(n, sizeof *d->reads_outside);
    d->gives_outside = calloc(n, sizeof *d->gives_outside);
    d->part_of = calloc(n, sizeof *d->part_of);
    d->place_in = calloc(n, sizeof *d->place_in);
    d->members = calloc(n, sizeof *d->members);
    d->difference = calloc(n, sizeof *d->difference);
    d->stack = calloc(n, sizeof *d->stack);
    d->readers = calloc(n, sizeof *d->readers);
    d->givers = calloc(n, sizeof *d->givers);
    d->taken = calloc(n, sizeof *d->taken);
    return d->nodes && d->local && d->producers.first && d->producers.at && d->consumers.first &&
                   d->consumers.at && d->reads_outside && d->gives_outside && d->part_of &&
                   d->place_in && d->members && d->difference && d->stack && d->readers &&
                   d->givers && d->taken
               ? 0
               : -ENOMEM;
}

/* Finds the readers of each operator on the device, and its connections to the outside. */
static void link_operators(struct device *d, struct scratch *s, int32_t device)
{
    const struct mlu_fuse_graph *graph = d->graph;
    uint32_t producers = 0;
    uint32_t consumers = 0;

    for (uint32_t n = 0; n < graph->node_count; n++) {
        bool is_here = belongs(&graph->nodes[n], device);

        d->local[n] = is_here ? d->count : NONE;
        s->in_set[n] = is_here;
        if (is_here) {
            d->nodes[d->count++] = n;
        }
    }
    for (uint32_t i = 0; i < d->count; i++) {
        const struct mlu_fuse_node *node = &graph->nodes[d->nodes[i]];

        for (uint32_t e = node->first_input; e < node->first_input + node->input_count; e++) {
            uint32_t producer = graph->inputs[e].producer;

            if (producer == MLU_FUSE_EXTERNAL || d->local[producer] == NONE) {
                d->reads_outside[i] = true;
            } else {
                d->producers.at[producers++] = d->local[producer];
            }
        }
        d->producers.first[i + 1] = producers;
        for (uint32_t u = s->use_first[d->nodes[i]]; u < s->use_first[d->nodes[i] + 1]; u++) {
            if (d->local[s->uses[u]] != NONE) {
                d->consumers.at[consumers++] = d->local[s->uses[u]];
            }
        }
        d->consumers.first[i + 1] = consumers;
        look_outside(graph, s, d->nodes[i]);
        for (uint32_t o = node->first_output; o < node->first_output + node->output_count; o++) {
            d->gives_outside[i] = d->gives_outside[i] || s->is_read_outside[o];
        }
    }
    memset(s->in_set, 0, graph->node_count * sizeof *s->in_set);
}

static int cut_device(const struct mlu_fuse_graph *graph, struct scratch *s, int32_t device,
                      struct ntk_vec *segments)
{
    struct device d = { 0 };
    int ret = allocate(&d, graph);

    if (ret < 0) {
        goto out;
    }
    link_operators(&d, s, device);
    ret = find_parts(&d);
    for (uint32_t p = 0; ret == 0 && p < d.part_count; p++) {
        ret = make_sets(&d, &d.parts[p]);
    }
    while (ret == 0) {
        int64_t size;
        uint32_t cut = largest(&d, &size);

        if (size < 2) {
            break;
        }
        ret = add_segment(&d, s, cut, (uint32_t)size, segments);
    }
out:
    device_fini(&d);
    return ret;
}

NTK_ORDER_NUMBERS(compare_devices, int32_t);

int mlu_segments_find(const struct mlu_fuse_graph *graph, struct ntk_vec *out_segments,
                      struct ntk_err *err)
{
    struct ntk_vec devices = NTK_VEC_INIT(int32_t);
    struct scratch scratch = { 0 };
    int ret;

    ntk_vec_init(out_segments, sizeof(struct mlu_segment));
    ret = scratch_init(graph, &scratch);
    for (uint32_t n = 0; ret == 0 && n < graph->node_count; n++) {
        if (graph->nodes[n].device >= 0 && !graph->nodes[n].is_copy) {
            ret = ntk_vec_push(&devices, &graph->nodes[n].device);
        }
    }
    if (ret == 0 && devices.count > 0) {
        ntk_vec_sort(&devices, compare_devices);
    }
    for (size_t i = 0; ret == 0 && i < devices.count; i++) {
        const int32_t *device = ntk_vec_at(&devices, i);

        if (i == 0 || device[-1] != device[0]) {
            ret = cut_device(graph, &scratch, *device, out_segments);
        }
    }
    scratch_fini(&scratch);
    ntk_vec_fini(&devices);
    if (ret < 0) {
        mlu_segments_fini(out_segments);
        return ntk_err_no_memory(err);
    }
    return 0;
}

void mlu_segments_fini(struct ntk_vec *segments)
{
    ntk_vec_each(struct mlu_segment, segment, segments) {
        free(segment->ops);
        free(segment->inputs);
        free(segment->outputs);
    }
    ntk_vec_fini(segments);
}
