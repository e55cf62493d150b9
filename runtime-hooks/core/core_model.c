/* SPDX-License-Identifier: MIT */
/* core_model - loads and unloads models: their placement, shared resources of a core, reports to
 * monitors. */
#include "runtime-hooks/core/core_model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_pipeline.h"
#include "runtime-hooks/core/core_trace.h"
#include "shared/base/str.h"

#define CONTIGUOUS_PAGE_BYTES (UINT64_C(64) << 20)

/* --- checks of a file ------------------------------------------------------------------------- */

/* Collects all reasons against a file in one message; code is that of the first reason, 0 if there
 * is none. */
struct refusal {
    int code;
    struct ntk_err *err;
};

__attribute__((format(printf, 3, 4))) static void refusal_add(struct refusal *refusal, int code,
                                                              const char *format, ...)
{
    char before[NTK_ERR_TEXT_BYTES] = "";
    char reason[NTK_ERR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (refusal->code == 0) {
        refusal->code = code;
    } else if (refusal->err) {
        (void)ntk_str_copy(before, sizeof before, refusal->err->text);
    }
    (void)ntk_err_set(refusal->err, refusal->code, NTK_ERR_NO_OFFSET, "%s%s%s", before,
                      *before ? "; " : "", reason);
}

static void versions_check(const struct ntk_neff_header *header,
                           const struct ntk_core_load_options *options, struct refusal *refusal)
{
    struct ntk_err why = { 0 };
    int ret = ntk_neff_check_versions(header, options->features_mask, &why);

    if (ret < 0) {
        refusal_add(refusal, ret, "%s", why.text);
    }
}

static void lnc_check(const struct ntk_core *core, const struct ntk_neff_header *header,
                      struct refusal *refusal)
{
    uint32_t lnc = ntk_neff_lnc(header);
    const char *name = core->options.lnc_name;
    char way_out[64] = "";

    if (lnc == core->lnc) {
        return;
    }
    if (name && lnc <= core->row->facts.largest_lnc) {
        (void)snprintf(way_out, sizeof way_out, " (change it with %s=%u)", name, lnc);
    }
    refusal_add(refusal, -EINVAL,
                "the NEFF requires logical cores with %u physical cores, but this process has %u%s",
                lnc, core->lnc, way_out);
}

static void target_check(const struct ntk_core *core, const struct ntk_neff *neff,
                         struct refusal *refusal)
{
    static const char *const targets[NTK_ENGINE_GENERATION_MAX + 1] = {
        "", "", "sunda", "cayman", "mariana", "", "",
    };
    const char *ours = targets[core->row->facts.generation];

    for (uint32_t i = 0; i < neff->kelf_count; i++) {
        const char *target = neff->kelfs[i].target;

        if (*target && strcmp(target, "*") != 0 && strcmp(target, ours) != 0) {
            refusal_add(refusal, -EINVAL, "the NEFF is compiled for %s, but %s requires %s", target,
                        core->row->facts.instance, *ours ? ours : "*");
            return;
        }
    }
}

static void cpu_nodes_check(const struct ntk_neff *neff, const char *why, struct refusal *refusal)
{
    for (uint32_t n = 0; n < neff->node_count; n++) {
        if (neff->nodes[n].kind == NTK_NEFF_NODE_CPU) {
            refusal_add(refusal, -EPERM,
                        "node '%s' runs on the CPU, which is not allowed for this NEFF%s%s%s",
                        neff->nodes[n].name, why ? " (" : "", why ? why : "", why ? ")" : "");
            return;
        }
    }
}

static void file_check(const struct ntk_core *core, const struct ntk_neff *neff,
                       const struct ntk_core_load_options *options, struct refusal *refusal)
{
    versions_check(&neff->header, options, refusal);
    if (options->validate_hash && neff->hash == NTK_NEFF_HASH_DIFFERS) {
        refusal_add(refusal, -EBADMSG, "the NEFF's hash does not match its content");
    }
    if (neff->is_vendor && !options->run_opaque) {
        const char *way_out = options->opaque_way_out;

        refusal_add(refusal, -ENOTSUP,
                    "the NEFF holds vendor-compiled engine code, which software NeuronCores cannot "
                    "run (neuron-packager info lists its contents%s%s%s)",
                    way_out ? ", " : "", way_out ? way_out : "",
                    way_out ? " runs it without computing" : "");
    }
    lnc_check(core, &neff->header, refusal);
    if (!options->allow_legacy) {
        target_check(core, neff, refusal);
    }
    if (!options->allow_cpu_nodes) {
        cpu_nodes_check(neff, options->cpu_nodes_why, refusal);
    }
}

/* --- the shared scratchpad of a core ---------------------------------------------------------- */

static uint64_t scratchpad_page(const struct ntk_core *core)
{
    return core->options.contiguous_scratchpad ? CONTIGUOUS_PAGE_BYTES
                                               : core->options.scratchpad_page_bytes;
}

/* The scratchpad size that a physical core needs: the maximum over its models. The caller holds
 * core->lock. */
static uint64_t scratchpad_need(const struct ntk_core *core, uint32_t nc, uint32_t index)
{
    uint64_t need = 0;

    ntk_vec_each(struct ntk_core_model *, model, &core->models) {
        for (uint32_t s = 0; s < (*model)->step_count; s++) {
            const struct core_step *step = &(*model)->steps[s];

            if (!step->is_cpu && step->nc == nc && index < step->subgraph_count &&
                need < step->subgraphs[index].scratchpad_bytes) {
                need = step->subgraphs[index].scratchpad_bytes;
            }
        }
    }
    return need > 0 ? core_round_up(need, scratchpad_page(core)) : 0;
}

/* Resizes a core's scratchpads for its models. Waits for running executions. */
static int scratchpad_fit(struct ntk_core *core, uint32_t nc, struct ntk_err *err)
{
    struct core_nc *place = &core->ncs[nc];
    int ret = 0;

    pthread_mutex_lock(&place->execution_lock);
    pthread_mutex_lock(&core->lock);
    for (uint32_t i = 0; i < core->lnc && ret == 0; i++) {
        struct core_memory_request request = { .physical_core = place->first_physical + i,
                                               .category = NTK_MEMORY_SHARED_SCRATCHPAD,
                                               .bytes = scratchpad_need(core, nc, i),
                                               .name = "shared scratchpad" };
        uint64_t had = place->scratchpad[i].bytes;

        if (request.bytes == had) {
            continue;
        }
        core_memory_release(core, &place->scratchpad[i]);
        if (request.bytes > 0) {
            ret = core_memory_take(core, &request, &place->scratchpad[i], err);
        }
        if (ret < 0 && had > 0) {
            /* Restore the old size, which was just released. */
            request.bytes = had;
            (void)core_memory_take(core, &request, &place->scratchpad[i], NULL);
        }
    }
    pthread_mutex_unlock(&core->lock);
    pthread_mutex_unlock(&place->execution_lock);
    return ret;
}

static int scratchpads_fit(struct ntk_core_model *model, struct ntk_err *err)
{
    int ret = 0;

    for (uint32_t i = 0; i < model->nc_count && ret == 0; i++) {
        ret = scratchpad_fit(model->core, model->nc + i, err);
    }
    return ret;
}

/* --- load and unload -------------------------------------------------------------------------- */

static void models_remove(struct ntk_core_model *model)
{
    struct ntk_core *core = model->core;

    pthread_mutex_lock(&core->lock);
    for (size_t i = 0; i < core->models.count; i++) {
        if (*(struct ntk_core_model **)ntk_vec_at(&core->models, i) == model) {
            ntk_vec_remove(&core->models, i);
            break;
        }
    }
    pthread_mutex_unlock(&core->lock);
}

/* Chooses the core with the fewest models (of equal ones the lowest) that has room for count
 * cores. */
static uint32_t nc_choose(const struct ntk_core *core, uint32_t count)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i + count <= core->core_count; i++) {
        if (atomic_load(&core->ncs[i].model_count) < atomic_load(&core->ncs[best].model_count)) {
            best = i;
        }
    }
    return best;
}

/* Where a model's copies are: `count` copies with `needed` cores each, consecutive from nc on. */
struct placement {
    uint32_t nc;
    uint32_t needed;
    uint32_t count;
    bool takes_turns;
};

/* Guesses the model's core before the file is read. The guess is wrong if the model needs more
 * cores than the options specify, or if another model is loaded in the meantime. */
static uint32_t nc_expect(const struct ntk_core *core, const struct ntk_core_load_options *options)
{
    if (options->nc < core->core_count) {
        return options->nc;
    }
    return nc_choose(core, options->core_count > 1 ? options->core_count : 1);
}

static int place_choose(const struct ntk_core *core, const struct ntk_neff *neff,
                        const struct ntk_core_load_options *options,
                        struct placement *out_placement, struct ntk_err *err)
{
    uint32_t nc = options->nc;
    uint32_t needed = 0;
    uint32_t longest = 1; /* length of the longest pipeline */
    const char *longest_name = "";
    bool takes_turns = false;
    char why[NTK_ERR_TEXT_BYTES] = "";

    for (uint32_t n = 0; n < neff->node_count; n++) {
        uint32_t length = core_pipeline_length(core, neff, &neff->nodes[n]);

        needed += length;
        if (length > longest) {
            longest = length;
            longest_name = neff->nodes[n].name;
        }
    }
    if (longest > 1) {
        (void)snprintf(why, sizeof why, " (node '%.200s' has %u subgraphs, and each requires one)",
                       longest_name, longest);
    }
    /* A model that runs only on the host also gets a core. */
    needed = needed > 0 ? needed : 1;
    if (options->core_limit > 0 && needed > options->core_limit) {
        takes_turns = options->nodes_may_take_turns && longest <= options->core_limit;
        if (!takes_turns) {
            return ntk_err_set(err, -ECHRNG, NTK_ERR_NO_OFFSET,
                               "the NEFF requires %u NeuronCores%s, but may use only %u", needed,
                               why, options->core_limit);
        }
        needed = longest;
    }
    if (nc != NTK_CORE_ANY && nc >= core->core_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core %u: the process has %u",
                           nc, core->core_count);
    }
    if (options->core_count > 1 && options->core_count % needed != 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "the NEFF requires %u NeuronCores%s: %u is not a multiple of that",
                           needed, why, options->core_count);
    }
    uint32_t wanted = options->core_count > needed ? options->core_count : needed;
    uint32_t available = core->core_count - (nc == NTK_CORE_ANY ? 0 : nc);
    if (wanted > available) {
        return ntk_err_set(err, -ECHRNG, NTK_ERR_NO_OFFSET,
                           "the NEFF requires %u NeuronCores%s, but only %u are available", wanted,
                           why, available);
    }
    *out_placement = (struct placement){ .nc = nc == NTK_CORE_ANY ? nc_choose(core, wanted) : nc,
                                         .needed = needed,
                                         .count = wanted / needed,
                                         .takes_turns = takes_turns };
    return 0;
}

static void model_counts_add(struct ntk_core_model *model, uint32_t amount)
{
    for (uint32_t i = 0; i < model->nc_count; i++) {
        atomic_fetch_add(&model->core->ncs[model->nc + i].model_count, amount);
    }
}

/* The device memory that the model itself holds. */
static uint64_t model_device_bytes(const struct ntk_core_model *model)
{
    uint64_t bytes = 0;

    for (uint32_t s = 0; s < model->step_count; s++) {
        for (uint32_t i = 0; i < model->steps[s].subgraph_count; i++) {
            const struct core_subgraph *subgraph = &model->steps[s].subgraphs[i];

            bytes += subgraph->code.bytes + subgraph->rings_io.bytes + subgraph->rings_spill.bytes;
            for (uint32_t v = 0; v < subgraph->variable_count; v++) {
                bytes += subgraph->variables[v].allocation.bytes;
            }
        }
    }
    for (uint32_t i = 0; i < model->param_count; i++) {
        bytes += model->params[i].allocation.bytes;
    }
    for (uint32_t i = model->first_passed; i < model->slot_count; i++) {
        bytes += model->depth * model->slots[i].bytes;
    }
    return bytes;
}

static void hooks_model_begin(struct ntk_core_model *model,
                              const struct ntk_core_load_options *options)
{
    const struct ntk_core *core = model->core;
    const struct ntk_hooks_rank rank = { .rendezvous = options->rendezvous,
                                         .world_rank = options->rank,
                                         .world_count = options->rank_count };
    struct ntk_hooks_model hook = {
        .id = model->id,
        .name = model->name,
        .neff_path = model->name,
        .core = (uint16_t)core->ncs[model->nc].first_physical,
        .core_count = (uint16_t)(model->nc_count * core->lnc),
        /* The operations of an opaque program are unknown. */
        .flags = model->is_opaque ? NTK_PROCESS_ESTIMATED : NTK_PROCESS_MODEL_FLOPS,
        .rank = options->rank_count > 0 ? &rank : NULL,
    };

    memcpy(hook.uuid, model->uuid, sizeof hook.uuid);
    ntk_hooks_model_begin(&hook, &model->hook);
}

static void trace_load_begin(const struct ntk_core_model *model, enum ntk_core_trace_kind kind,
                             struct ntk_core_trace_span *span)
{
    struct ntk_core_trace_data data = { .model_id = model->id, .name = model->name };

    if (ntk_core_trace_is_on()) {
        ntk_core_trace_span_begin(span, kind, model->nc, &data);
    }
}

static void trace_load_end(const struct ntk_core_trace_span *span,
                           const struct ntk_core_model *model)
{
    struct ntk_core_trace_data data = { .model_id = model->id, .name = model->name };

    ntk_core_trace_span_end(span, &data);
}

/* Fills the parts of a model that depend on its file and place; the caller frees it on failure. */
static int model_fill(struct ntk_core_model *model, const struct ntk_neff *neff,
                      bool *out_is_listed, struct ntk_err *err)
{
    struct ntk_core *core = model->core;
    int ret = core_model_build(model, neff, err);

    if (ret < 0) {
        return ret;
    }
    pthread_mutex_lock(&core->lock);
    ret = ntk_vec_push(&core->models, &model);
    pthread_mutex_unlock(&core->lock);
    *out_is_listed = ret == 0;
    return ret < 0 ? ntk_err_no_memory(err) : scratchpads_fit(model, err);
}

/* Loads one copy of the model on the cores from nc on. */
static int model_load_at(struct core_constants *constants, const struct ntk_neff *neff,
                         const struct ntk_core_load_options *options,
                         const struct placement *placement, uint32_t replica,
                         struct ntk_core_model **out_model, struct ntk_err *err)
{
    struct ntk_core *core = constants->core;
    uint64_t start = ntk_hooks_now();
    struct ntk_core_trace_span span = { 0 };
    bool is_listed = false;
    struct ntk_core_model *model = calloc(1, sizeof *model);

    if (!model) {
        return ntk_err_no_memory(err);
    }
    model->core = core;
    model->constants = constants;
    model->timeout_ns = options->execution_timeout_ns;
    model->depth = placement->takes_turns && options->depth > 1 ? 1 : options->depth;
    model->rounds_by_chance = options->rounds_by_chance;
    model->hangs_last = options->hangs_last || core->options.is_paced;
    model->nc = placement->nc + replica * placement->needed;
    model->nc_count = placement->needed;
    model->takes_turns = placement->takes_turns;
    model->is_for_stack = options->tensors_on_stack;
    model->group_nc = placement->nc;
    model->group_nc_count = placement->needed * placement->count;
    ntk_vec_init(&model->libraries, sizeof(struct core_library));
    pthread_mutex_init(&model->context_lock, NULL);
    model->is_opaque = neff->is_vendor;
    memcpy(model->uuid, neff->header.uuid, sizeof model->uuid);
    const char *name = *neff->header.name ? neff->header.name : neff->info.name;
    ntk_str_copy_clean(model->name, sizeof model->name, name, strlen(name));
    model->id = core_model_id_next();
    trace_load_begin(model, NTK_CORE_TRACE_LOAD, &span);
    hooks_model_begin(model, options);

    int ret = model_fill(model, neff, &is_listed, err);
    if (ret < 0) {
        struct ntk_hooks_model_ref hook = model->hook;

        trace_load_end(&span, model);
        if (is_listed) {
            models_remove(model);
            (void)scratchpads_fit(model, NULL);
        }
        core_model_free(model);
        ntk_hooks_model_loaded(hook, start, core_status(ntk_core_outcome_of(ret)), 0);
        return ret;
    }
    model->constants = NULL;
    model_counts_add(model, 1);
    for (uint32_t p = 0; p < model->nc_count * core->lnc; p += core->lnc) {
        ntk_core_soft_count_add(
            &core->soft->state->core[core->ncs[model->nc].first_physical + p].model_load_count, 1);
    }
    ntk_hooks_model_loaded(model->hook, start, core_status(NTK_CORE_COMPLETED),
                           model_device_bytes(model));
    *out_model = model;
    trace_load_end(&span, model);
    return 0;
}

/* Unloads one copy; the caller handles the other copies. */
static void model_unload_one(struct ntk_core_model *model)
{
    uint64_t start = ntk_hooks_now();
    struct ntk_hooks_model_ref hook = model->hook;
    struct ntk_core_trace_data data = { .model_id = model->id };
    struct ntk_core_trace_span span = { 0 };

    trace_load_begin(model, NTK_CORE_TRACE_UNLOAD, &span);
    core_capture_finish(model);
    model_counts_add(model, (uint32_t)-1);
    models_remove(model);
    (void)scratchpads_fit(model, NULL);
    core_model_free(model);
    ntk_hooks_model_unloaded(hook, start, core_status(NTK_CORE_COMPLETED));
    ntk_core_trace_span_end(&span, &data);
}

int ntk_core_model_load(struct ntk_core *core, const void *file, size_t file_bytes,
                        const struct ntk_core_load_options *options,
                        struct ntk_core_model **out_model, struct ntk_err *err)
{
    struct ntk_core_model *first = NULL;
    struct placement placement = { 0 };
    struct ntk_neff *neff = NULL;
    const struct core_nc *expected = &core->ncs[nc_expect(core, options)];
    struct core_constants constants = { .core = core,
                                        .physical_core = expected->first_physical,
                                        .is_shared = options->share_weights };
    struct ntk_neff_landing landing = { core_constants_take, CORE_LANDING_BYTES_MIN, &constants };
    struct ntk_neff_open_options open_options = { &landing, options->validate_hash };
    struct refusal refusal = { 0, err };
    struct ntk_err why = { 0 };
    int ret = 0;

    if (constants.is_shared) {
        ret = ntk_neff_digest(file, file_bytes, constants.digest, err);
    }
    if (ret == 0) {
        ret = ntk_neff_open_with(file, file_bytes, &open_options, &neff, err);
    }
    if (ret < 0 || !neff) {
        core_constants_fini(&constants);
        return ret;
    }
    file_check(core, neff, options, &refusal);
    ret = place_choose(core, neff, options, &placement, &why);
    if (ret < 0) {
        refusal_add(&refusal, ret, "%s", why.text);
    }
    ret = refusal.code;
    if (ret == 0) {
        ret = model_load_at(&constants, neff, options, &placement, 0, &first, err);
    }
    struct ntk_core_model **end = first ? &first->next_replica : NULL;
    for (uint32_t i = 1; i < placement.count && ret == 0; i++) {
        ret = model_load_at(&constants, neff, options, &placement, i, end, err);
        if (ret == 0) {
            end = &(*end)->next_replica;
            first->replica_count++;
        }
    }
    ntk_neff_close(neff);
    core_constants_fini(&constants);
    if (ret < 0) {
        ntk_core_model_unload(first);
        return ret;
    }
    *out_model = first;
    return 0;
}

void ntk_core_model_unload(struct ntk_core_model *model)
{
    while (model) {
        struct ntk_core_model *next = model->next_replica;

        model_unload_one(model);
        model = next;
    }
}

void ntk_core_model_started(struct ntk_core_model *model)
{
    ntk_hooks_model_started(model->hook, ntk_hooks_now(), core_status(NTK_CORE_COMPLETED));
}

void ntk_core_model_stop_begin(struct ntk_core_model *model)
{
    model->stop_ticks = ntk_hooks_now();
}

void ntk_core_model_stopped(struct ntk_core_model *model, enum ntk_core_outcome outcome)
{
    uint64_t begin = model->stop_ticks > 0 ? model->stop_ticks : ntk_hooks_now();

    model->stop_ticks = 0;
    ntk_hooks_model_stopped(model->hook, begin, core_status(outcome));
}

struct ntk_core_model *core_model_turn(struct ntk_core_model *model)
{
    if (model->replica_count == 0) {
        return model;
    }
    uint32_t turn = atomic_fetch_add_explicit(&model->turn, 1, memory_order_relaxed) %
                    (model->replica_count + 1);
    while (turn-- > 0) {
        model = model->next_replica;
    }
    return model;
}

const struct ntk_core_io *ntk_core_model_io_get(const struct ntk_core_model *model,
                                                size_t *out_count)
{
    *out_count = model->io_count;
    return model->ios;
}

uint32_t ntk_core_model_id(const struct ntk_core_model *model)
{
    return model->id;
}

const uint8_t *ntk_core_model_uuid(const struct ntk_core_model *model)
{
    return model->uuid;
}

const char *ntk_core_model_name(const struct ntk_core_model *model)
{
    return model->name;
}

uint32_t ntk_core_model_nc(const struct ntk_core_model *model)
{
    return model->nc;
}

uint32_t ntk_core_model_nc_count(const struct ntk_core_model *model)
{
    return model->group_nc_count;
}

bool ntk_core_model_takes_turns(const struct ntk_core_model *model)
{
    return model->takes_turns;
}

uint32_t ntk_core_model_instance_count(const struct ntk_core_model *model)
{
    return (model->takes_turns ? 1 : model->step_count) * (model->replica_count + 1);
}
