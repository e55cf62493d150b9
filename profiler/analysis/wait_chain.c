/* SPDX-License-Identifier: MIT */
/* wait_chain - follows the change that ended a wait back to its maker, to the cause of the maker's
 * wait, and so on. */
#include "profiler/analysis/wait_chain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/core_signals.h"
#include "shared/base/order.h"

#define PASSED_ON 10 /* a link with less than a tenth of the wait is omitted */
#define LINKS_MET 16 /* maximum number of engines and queues per wait; the first ones are used */
/* Maximum number of consecutive steps without going back in time, through overlapping instructions.
 * With longer sequences, which could be needed for each wait, the root is unknown. */
#define STEPS_STILL_MAX 64

struct met {
    struct ntk_chain_link link;
    int64_t longest_ps; /* longest segment of one opcode */
};

struct back {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    const struct ntk_core_dependencies *dependencies;
    size_t waiting_core; /* equal to core_index at first */
    int64_t from_ps, at_ps;
    size_t looks;
    size_t met_count;
    struct met met[LINKS_MET]; /* in the order of the walk */
};

/* Adds the time from start_ps to the current position. */
static void add_part(struct back *back, const struct ntk_chain_link *of, int64_t start_ps)
{
    start_ps = start_ps > back->from_ps ? start_ps : back->from_ps;
    int64_t part_ps = back->at_ps - start_ps;
    struct met *met = NULL;

    if (part_ps <= 0) {
        return;
    }
    back->at_ps = start_ps;
    for (size_t i = 0; i < back->met_count && !met; i++) {
        const struct ntk_chain_link *link = &back->met[i].link;
        if (link->is_transfer == of->is_transfer && link->queue == of->queue &&
            link->is_other_core == of->is_other_core && link->core == of->core &&
            (link->engine == of->engine || link->queue)) {
            met = &back->met[i];
        }
    }
    if (!met && back->met_count < LINKS_MET) {
        met = &back->met[back->met_count++];
        *met = (struct met){ .link = *of };
    }
    if (met) {
        met->link.part_ps += part_ps;
        if (part_ps > met->longest_ps) {
            met->longest_ps = part_ps;
            met->link.opcode = of->opcode;
        }
    }
}

static struct ntk_chain_link link_of(const struct back *back, uint32_t item)
{
    const struct ntk_trace_instruction *one = &back->core->instructions[item];
    struct ntk_chain_link link = { .engine = one->engine, .opcode = one->opcode };

    link.is_other_core = back->core_index != back->waiting_core;
    link.core = link.is_other_core ? (uint16_t)back->core->ntff->core : 0;
    return link;
}

static void add_engine(struct back *back, uint32_t item, int64_t start_ps)
{
    struct ntk_chain_link link = link_of(back, item);

    add_part(back, &link, start_ps);
}

static void turn_to(struct back *back, size_t core_index)
{
    back->core_index = core_index;
    back->core = &back->program->trace->cores[core_index];
    back->dependencies = &back->dependencies->all[core_index];
}

/* Moves to the instruction that made the change that released the item, or started the transfer
 * that made it. */
static uint32_t go_to_maker(struct back *back, uint32_t item)
{
    const struct ntk_release release = back->dependencies->releases[item];
    const char *queue = release.by_transfer ? ntk_release_queue(back->program, back->core_index,
                                                                back->dependencies, item)
                                            : NULL;

    turn_to(back, ntk_release_core(back->core_index, &release));
    int64_t end_ps = back->core->instructions[release.by].end_ps;
    struct ntk_chain_link link = link_of(back, release.by);
    if (release.by_transfer) {
        link.is_transfer = true;
        link.opcode = 0;
        link.queue = queue;
    }
    add_part(back, &link, end_ps); /* for an instruction: its signal */
    return release.by;
}

/* Moves back by one cause; returns NTK_NO_INDEX at the end. */
static uint32_t go_back(struct back *back, uint32_t item, bool *out_is_unknown)
{
    struct ntk_cause cause;

    ntk_cause_get(back->program, back->core_index, back->dependencies, item, back->at_ps, &cause);
    add_engine(back, item, cause.own_ps);
    if (back->at_ps <= back->from_ps) {
        return NTK_NO_INDEX;
    }
    if (cause.is_released && !cause.is_known) {
        *out_is_unknown = true;
        return NTK_NO_INDEX;
    }
    if (cause.is_released) {
        add_engine(back, item, cause.released_ps);
        return go_to_maker(back, item);
    }
    if (cause.holder != NTK_NO_INDEX) {
        int64_t end_ps = back->core->instructions[cause.holder].end_ps;
        if (cause.is_unknown && end_ps < back->at_ps) {
            *out_is_unknown = true;
            return NTK_NO_INDEX;
        }
        add_engine(back, item, end_ps);
    }
    return cause.holder;
}

static void take(const struct back *back, struct ntk_wait_chain *out)
{
    size_t last = 0; /* if no link has a tenth: the largest */

    for (size_t i = 0; i < back->met_count; i++) {
        const struct ntk_chain_link *link = &back->met[i].link;
        last = link->part_ps > back->met[last].link.part_ps ? i : last;
        if (link->part_ps >= out->idle_ps / PASSED_ON) {
            /* The root must be included. */
            out->link_count -= out->link_count == NTK_CHAIN_LINKS;
            out->links[out->link_count++] = *link;
        }
    }
    if (out->link_count == 0 && back->met_count) {
        out->links[out->link_count++] = back->met[last].link;
    }
}

void ntk_wait_chain_get(const struct ntk_program *program, size_t core_index,
                        const struct ntk_core_dependencies *dependencies, uint32_t item,
                        int64_t from_ps, int64_t until_ps, struct ntk_wait_chain *out)
{
    const struct ntk_release *release = &dependencies->releases[item];
    struct back back = { .program = program,
                         .core_index = core_index,
                         .core = &program->trace->cores[core_index],
                         .dependencies = dependencies,
                         .waiting_core = core_index,
                         .from_ps = from_ps,
                         .at_ps = until_ps };

    *out =
        (struct ntk_wait_chain){ .count = 1,
                                 .source =
                                     ntk_change_at(back.core, dependencies, release->event)->source,
                                 .idle_ps = until_ps - from_ps,
                                 .longest_ps = until_ps - from_ps,
                                 .longest_at_ps = from_ps };
    bool is_not_captured = release->is_foreign && ntk_core_signals_lack_cores(program->trace);
    if (release->core_away || is_not_captured) {
        out->source = NTK_SOURCE_OTHER_CORE;
    }
    if (release->by == NTK_NO_INDEX) {
        struct ntk_chain_link link = { .is_transfer = release->by_transfer,
                                       .engine = out->source,
                                       .is_foreign = release->is_foreign,
                                       .is_not_captured = is_not_captured };
        link.queue = release->by_transfer
                         ? ntk_release_queue(program, core_index, dependencies, item)
                         : NULL;
        add_part(&back, &link, from_ps);
        out->is_unknown = !release->by_transfer;
    } else {
        uint32_t at = go_to_maker(&back, item);
        size_t still = 0;
        while (at != NTK_NO_INDEX && back.at_ps > from_ps) {
            int64_t was_ps = back.at_ps;
            at = go_back(&back, at, &out->is_unknown);
            still = back.at_ps < was_ps ? 0 : still + 1;
            if (still == STEPS_STILL_MAX) {
                out->is_unknown = true;
                break;
            }
            if (++back.looks % NTK_TRACE_LOOKS == 0) {
                ntk_dependencies_give_back(back.core, back.dependencies);
            }
        }
    }
    take(&back, out);
}

/* Returns the unknown time before the earliest link. */
static int64_t unknown_ps(const struct ntk_wait_chain *chain)
{
    int64_t known_ps = 0;

    for (size_t i = 0; i < chain->link_count; i++) {
        known_ps += chain->links[i].part_ps;
    }
    return chain->is_unknown || chain->link_count == 0 ? chain->idle_ps - known_ps : 0;
}

const struct ntk_chain_link *ntk_wait_chain_root(const struct ntk_wait_chain *chain)
{
    const struct ntk_chain_link *root = NULL;

    for (size_t i = 0; i < chain->link_count; i++) {
        const struct ntk_chain_link *link = &chain->links[i];
        root = root && root->part_ps > link->part_ps ? root : link;
    }
    return root && root->part_ps >= unknown_ps(chain) ? root : NULL;
}

/* ---- lists ---- */

/* Returns true if links count as one for ntk_wait_chains_root(). */
static bool is_same_maker(const struct ntk_chain_link *a, const struct ntk_chain_link *b)
{
    return a->is_transfer == b->is_transfer && a->is_other_core == b->is_other_core &&
           a->core == b->core && a->is_foreign == b->is_foreign &&
           (a->is_transfer || a->engine == b->engine);
}

bool ntk_wait_chains_root(const struct ntk_wait_chains *chains, unsigned source,
                          struct ntk_chain_link *out_root)
{
    struct ntk_chain_link makers[2 * NTK_SOURCES]; /* the first different ones */
    size_t count = 0;
    int64_t lost_ps = 0;

    *out_root = (struct ntk_chain_link){ 0 };
    for (size_t c = 0; c < chains->count; c++) {
        const struct ntk_wait_chain *chain = &chains->chains[c];
        lost_ps += chain->source == source ? unknown_ps(chain) : 0;
        for (size_t i = 0; chain->source == source && i < chain->link_count; i++) {
            const struct ntk_chain_link *link = &chain->links[i];
            size_t m = 0;
            while (m < count && !is_same_maker(&makers[m], link)) {
                m++;
            }
            if (m < count) {
                makers[m].part_ps += link->part_ps;
                makers[m].queue = makers[m].queue == link->queue ? link->queue : NULL;
                makers[m].opcode = makers[m].opcode == link->opcode ? link->opcode : 0;
            } else if (count < sizeof makers / sizeof *makers) {
                makers[count++] = *link;
            }
        }
    }
    for (size_t m = 0; m < count; m++) {
        *out_root = makers[m].part_ps > out_root->part_ps ? makers[m] : *out_root;
    }
    return out_root->part_ps > 0 && out_root->part_ps >= lost_ps;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) ^ (hash >> 29);
}

static uint64_t hash_of(const struct ntk_wait_chain *chain)
{
    uint64_t hash = mix(chain->source, chain->link_count * 2 + chain->is_unknown);

    for (size_t i = 0; i < chain->link_count; i++) {
        const struct ntk_chain_link *link = &chain->links[i];
        hash =
            mix(hash, (uint64_t)link->core << 24 | (uint64_t)link->is_foreign << 18 |
                          (uint64_t)link->is_other_core << 17 | (uint64_t)link->is_transfer << 16 |
                          (uint64_t)link->engine << 8 | link->opcode);
        hash = mix(hash, (uintptr_t)link->queue);
    }
    return hash;
}

int ntk_wait_chains_add(struct ntk_wait_chains *chains, const struct ntk_wait_chain *one)
{
    struct ntk_wait_chain other = { .count = 1,
                                    .idle_ps = one->idle_ps,
                                    .longest_ps = one->longest_ps,
                                    .longest_at_ps = one->longest_at_ps };
    uintptr_t index = (uintptr_t)ntk_map_get_number(&chains->indices, hash_of(one));

    if (!index && chains->count >= NTK_CHAINS_MAX) {
        one = &other;
        index = (uintptr_t)ntk_map_get_number(&chains->indices, hash_of(one));
    }
    if (!index) {
        struct ntk_wait_chain *grown =
            chains->count & (chains->count - 1)
                ? chains->chains
                : realloc(chains->chains, (chains->count ? 2 * chains->count : 1) * sizeof *grown);
        if (!grown) {
            return -ENOMEM;
        }
        chains->chains = grown;
        chains->chains[chains->count++] = *one;
        return ntk_map_put_number(&chains->indices, hash_of(one),
                                  (void *)(uintptr_t)chains->count); /* NOLINT: an index */
    }
    struct ntk_wait_chain *known = &chains->chains[index - 1];
    known->count++;
    known->idle_ps += one->idle_ps;
    for (size_t i = 0; i < known->link_count; i++) {
        known->links[i].part_ps += one->links[i].part_ps;
    }
    if (one->longest_ps > known->longest_ps) {
        known->longest_ps = one->longest_ps;
        known->longest_at_ps = one->longest_at_ps;
    }
    return 0;
}

NTK_ORDER(compare, struct ntk_wait_chain, NTK_DOWN(idle_ps) NTK_UP(longest_at_ps));

void ntk_wait_chains_sort(struct ntk_wait_chains *chains)
{
    ntk_map_fini(&chains->indices);
    chains->indices = (struct ntk_map){ 0 };
    if (chains->count) {
        qsort(chains->chains, chains->count, sizeof *chains->chains, compare);
    }
}

void ntk_wait_chains_fini(struct ntk_wait_chains *chains)
{
    ntk_map_fini(&chains->indices);
    free(chains->chains);
    *chains = (struct ntk_wait_chains){ 0 };
}

void ntk_chain_link_name(const struct ntk_chain_link *link, char *buf, size_t buf_bytes)
{
    char text[NTK_NTFF_NAME_BYTES];
    char of_core[32] = "";

    if (link->is_other_core) {
        snprintf(of_core, sizeof of_core, " of core %u", link->core);
    }
    if (link->is_foreign) {
        snprintf(buf, buf_bytes, "%s",
                 link->is_not_captured ? "another core, not captured"
                                       : "DMA that no captured instruction started");
    } else if (link->is_transfer && link->queue) {
        ntk_ntff_queue_name_show(link->queue, text, sizeof text);
        snprintf(buf, buf_bytes, "DMA queue %s%s", text, of_core);
    } else if (link->is_transfer) {
        snprintf(buf, buf_bytes, "DMA%s", of_core);
    } else if (!link->opcode) {
        snprintf(buf, buf_bytes, "%s%s", ntk_ntff_engine_title(link->engine), of_core);
    } else {
        snprintf(buf, buf_bytes, "%s %s%s", ntk_ntff_engine_title(link->engine),
                 ntk_ntff_opcode_name(link->opcode, text, sizeof text), of_core);
    }
}
