/* SPDX-License-Identifier: MIT */
/* dependencies - finds the release of each instruction, overtaken instructions, and the pipeline of
 * each engine. */
#include "profiler/analysis/dependencies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/release_search.h"
#include "profiler/analysis/transfers.h"

/* LDWEIGHTS loads up to four columns while a MATMUL streams one. */
#define LOAD_COLUMNS 4

/* ---- instructions that were overtaken ---- */

/* Number of remembered instructions of an engine: descriptors of this many transfers are generated
 * while the engine issues later instructions. */
#define RECENT 16

struct recent {
    struct {
        uint32_t item;
        int64_t free_ps; /* end of earlier work on the engine */
    } items[RECENT];
    uint32_t slots[RECENT]; /* slots of the items */
    uint32_t highest;       /* highest of these slots */
    size_t count;           /* number of instructions so far */
};

static uint32_t slot_of(const struct ntk_release_search *index, size_t item)
{
    return index->core->instructions[item].slot;
}

/* Returns true if a recent instruction has this slot: the program repeats and did not overtake. */
static bool has_slot(const struct recent *recent, uint32_t slot)
{
    for (size_t i = 0; i < recent->count && i < RECENT; i++) {
        if (recent->slots[i] == slot) {
            return true;
        }
    }
    return false;
}

static int64_t change_ps(const struct ntk_release_search *index, const struct ntk_release *release)
{
    return release->event == NTK_NO_INDEX
               ? INT64_MIN
               : ntk_change_at(index->core, index->dependencies, release->event)->time_ps;
}

static void recent_add(struct recent *recent, uint32_t item, uint32_t slot, int64_t free_ps)
{
    size_t at = recent->count++ % RECENT;
    bool drops_highest = recent->slots[at] == recent->highest;

    recent->slots[at] = slot;
    recent->items[at].item = item;
    recent->items[at].free_ps = free_ps;
    if (slot >= recent->highest) {
        recent->highest = slot;
    } else if (drops_highest) {
        recent->highest = 0;
        for (size_t i = 0; i < RECENT; i++) {
            uint32_t other = recent->slots[i];
            recent->highest = other > recent->highest ? other : recent->highest;
        }
    }
}

/* Notes an overtaken instruction. An engine issues in program order. An instruction that starts
 * before an earlier instruction of the program was issued after the earlier one had waited, so it
 * has the same wait. */
static void see_overtaken(struct ntk_release_search *index, uint32_t item, int64_t free_ps,
                          struct recent *recent, struct ntk_release *releases)
{
    uint32_t slot = slot_of(index, item);
    bool is_late = recent->count > 0 && slot <= recent->highest && !has_slot(recent, slot);

    for (size_t i = 0; is_late && i < recent->count && i < RECENT; i++) {
        uint32_t before = recent->items[i].item;
        struct ntk_release *own = &releases[before];
        struct ntk_release other = *own;

        if (recent->slots[i] < slot || recent->slots[i] > slot + RECENT) {
            continue;
        }
        other.event = NTK_NO_INDEX;
        other.by = NTK_NO_INDEX;
        other.by_transfer = false;
        other.is_foreign = false;
        other.core_away = 0;
        ntk_release_find(index, item, before, recent->items[i].free_ps, &other);
        if (change_ps(index, &other) > change_ps(index, own)) {
            *own = other;
        }
    }
    recent_add(recent, item, slot, free_ps);
}

/* ---- the pipeline of an engine ---- */

struct overlap {
    int64_t shortest_ps; /* shortest instruction with the opcode; 0 if none so far */
    int64_t longest_ps;  /* longest overlap with an instruction that has to wait for it */
    int64_t end_ps;      /* end of the last instruction */
};

static void see_overlap(struct overlap *of, int64_t start_ps)
{
    if (of->shortest_ps && of->end_ps - start_ps > of->longest_ps) {
        of->longest_ps = of->end_ps - start_ps;
    }
}

/* Finds drains; the next MATMUL needs the weights that LDWEIGHTS loads. */
static int find_drains(const struct ntk_trace_core *core, struct ntk_core_dependencies *out)
{
    struct overlap(*overlaps)[256] = calloc(NTK_NTFF_ENGINE_COUNT, sizeof *overlaps);

    if (!overlaps) {
        return -ENOMEM;
    }
    ntk_trace_each_instruction(core, one) {
        struct overlap *own = &overlaps[one->engine][one->opcode];
        int64_t length_ps = one->end_ps - one->start_ps;

        if (ntk_only_waits(one) || length_ps <= 0) {
            continue;
        }
        if (one->opcode == NTK_NTFF_OPCODE_MATMUL) {
            see_overlap(&overlaps[one->engine][NTK_NTFF_OPCODE_LDWEIGHTS], one->start_ps);
        }
        if (one->opcode != NTK_NTFF_OPCODE_LDWEIGHTS) {
            see_overlap(own, one->start_ps);
        }
        if (!own->shortest_ps || length_ps < own->shortest_ps) {
            own->shortest_ps = length_ps;
        }
        own->end_ps = one->end_ps;
    }
    for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
        for (unsigned o = 0; o < 256; o++) {
            const struct overlap *of = &overlaps[e][o];
            out->drain_ps[e][o] =
                of->longest_ps < of->shortest_ps ? of->longest_ps : of->shortest_ps;
        }
    }
    free(overlaps);
    return 0;
}

/* Instruction of an engine with the latest end so far. */
struct holder {
    uint32_t item; /* NTK_NO_INDEX if none */
    int64_t until_ps;
};

static bool loads_more(const struct ntk_release_search *index, size_t load, size_t product)
{
    const struct ntk_slot_fact *loaded = ntk_release_search_fact(index, load);
    const struct ntk_slot_fact *streamed = ntk_release_search_fact(index, product);

    return loaded->code->has_onchip && streamed->code->has_onchip &&
           loaded->code->sbuf_read_bytes / LOAD_COLUMNS >= streamed->code->sbuf_read_bytes;
}

/* Updates the holder after an instruction was issued. */
static void hold(const struct ntk_release_search *index,
                 const struct ntk_core_dependencies *dependencies, size_t item,
                 struct ntk_release *release, struct holder *holder)
{
    const struct ntk_trace_instruction *all = index->core->instructions;
    const struct ntk_trace_instruction *one = &all[item];
    int64_t until_ps = ntk_executes_until_ps(dependencies, one);

    if (holder->item != NTK_NO_INDEX && one->start_ps < holder->until_ps) {
        if (one->opcode == NTK_NTFF_OPCODE_LDWEIGHTS &&
            all[holder->item].opcode == NTK_NTFF_OPCODE_MATMUL) {
            if (!loads_more(index, item, holder->item)) {
                return;
            }
            release->cuts_holder = true;
        } else {
            release->cuts_holder = ntk_only_waits(&all[holder->item]);
        }
        holder->until_ps = release->cuts_holder ? one->start_ps : holder->until_ps;
    }
    if (holder->item == NTK_NO_INDEX || until_ps >= holder->until_ps) {
        *holder = (struct holder){ (uint32_t)item, until_ps };
    }
}

static uint32_t back_to(const struct holder *holder, size_t item)
{
    size_t back = holder->item == NTK_NO_INDEX ? 0 : item - holder->item;

    return back > NTK_HOLDER_BACK_MAX ? 0 : (uint32_t)back;
}

/* ---- all instructions ---- */

static int core_dependencies(const struct ntk_program *program, size_t core_index,
                             bool finds_hidden, const struct ntk_transfers *transfers,
                             struct ntk_core_dependencies *out)
{
    struct ntk_release_search *index = calloc(1, sizeof *index);
    uint32_t previous[NTK_NTFF_ENGINE_COUNT];
    struct holder holders[NTK_NTFF_ENGINE_COUNT];
    struct recent recent[NTK_NTFF_ENGINE_COUNT] = { 0 };

    if (!index) {
        return -ENOMEM;
    }
    index->program = program;
    index->core_index = core_index;
    index->finds_hidden = finds_hidden;
    index->core = &program->trace->cores[core_index];
    index->dependencies = out;
    ntk_long_list_init(&out->list, program->trace, sizeof(struct ntk_release),
                       program->trace->core_count);
    int ret = ntk_long_list_resize(&out->list, index->core->instruction_count);
    struct ntk_release *releases = out->list.items;
    out->releases = releases;
    if (ret == 0) {
        ret = find_drains(index->core, out);
    }
    if (ret == 0) {
        ret = ntk_lost_changes_find(program, core_index, transfers, &out->lost);
    }
    if (ret == 0) {
        ntk_code_load_find(program, core_index, &out->code_load);
        ret = ntk_release_search_init(index);
    }
    memset(previous, 0xff, sizeof previous);
    memset(holders, 0xff, sizeof holders);
    for (size_t i = 0; ret == 0 && i < index->core->instruction_count; i++) {
        unsigned engine = index->core->instructions[i].engine;

        releases[i] = (struct ntk_release){ .previous = previous[engine],
                                            .event = NTK_NO_INDEX,
                                            .by = NTK_NO_INDEX,
                                            .holder_back = back_to(&holders[engine], i) };
        previous[engine] = (uint32_t)i;
        int64_t free_ps =
            holders[engine].item == NTK_NO_INDEX ? INT64_MIN : holders[engine].until_ps;
        ntk_release_find(index, i, i, free_ps, &releases[i]);
        see_overtaken(index, (uint32_t)i, free_ps, &recent[engine], releases);
        hold(index, out, i, &releases[i], &holders[engine]);
        if (i % NTK_TRACE_LOOKS == 0) {
            ntk_dependencies_give_back(index->core, out);
            ntk_release_search_give_back(index);
        }
    }
    ntk_dependencies_give_back(index->core, out);
    memcpy(out->last, previous, sizeof previous);
    ntk_release_search_fini(index);
    free(index);
    return ret;
}

const char *ntk_release_queue(const struct ntk_program *program, size_t core_index,
                              const struct ntk_core_dependencies *dependencies, uint32_t item)
{
    const struct ntk_trace *trace = program->trace;
    const struct ntk_trace_core *core = &trace->cores[core_index];
    const struct ntk_release *release = &dependencies->releases[item];
    const struct ntk_trace_event *change = ntk_change_at(core, dependencies, release->event);
    const char *queue = NULL;

    if (release->by != NTK_NO_INDEX) {
        size_t by_core = ntk_release_core(core_index, release);
        queue = ntk_program_fact(program, by_core, &trace->cores[by_core].instructions[release->by])
                    ->code->queue;
    }
    if (!queue && change->is_semaphore) {
        queue = ntk_program_queue_of(core, change->number);
    }
    return ntk_release_loads_code(dependencies, release) ? dependencies->code_load.queue : queue;
}

void ntk_dependencies_give_back(const struct ntk_trace_core *core,
                                const struct ntk_core_dependencies *dependencies)
{
    ntk_trace_give_back(core);
    ntk_long_list_give_back(&dependencies->list);
}

/* Finds all dependencies. If transfers is NULL, finds them too, but only for lost changes. */
static int find_all(const struct ntk_program *program, bool finds_hidden,
                    const struct ntk_transfers *transfers,
                    struct ntk_dependencies *out_dependencies)
{
    struct ntk_dependencies result = { .core_count = program->trace->core_count };
    struct ntk_transfers own = { 0 };
    int ret = 0;

    result.cores = calloc(result.core_count + 1, sizeof *result.cores);
    if (!result.cores) {
        return -ENOMEM;
    }
    if (program->dropped.changes.lost && !transfers) {
        ret = ntk_transfers_init(&own, program);
        transfers = &own;
    }
    for (size_t c = 0; c < result.core_count && ret == 0; c++) {
        result.cores[c].all = result.cores;
        ret = core_dependencies(program, c, finds_hidden, transfers, &result.cores[c]);
    }
    ntk_transfers_fini(&own);
    if (ret < 0) {
        ntk_dependencies_fini(&result);
        return ret;
    }
    *out_dependencies = result;
    return 0;
}

int ntk_analysis_dependencies(const struct ntk_program *program,
                              struct ntk_dependencies *out_dependencies)
{
    return find_all(program, false, NULL, out_dependencies);
}

int ntk_analysis_dependencies_hidden(const struct ntk_program *program,
                                     const struct ntk_transfers *transfers,
                                     struct ntk_dependencies *out_dependencies)
{
    return find_all(program, true, transfers, out_dependencies);
}

void ntk_dependencies_fini(struct ntk_dependencies *dependencies)
{
    for (size_t c = 0; dependencies->cores && c < dependencies->core_count; c++) {
        ntk_long_list_fini(&dependencies->cores[c].list);
        ntk_lost_changes_fini(&dependencies->cores[c].lost);
    }
    free(dependencies->cores);
    *dependencies = (struct ntk_dependencies){ 0 };
}
