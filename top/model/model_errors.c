/* SPDX-License-Identifier: MIT */
/*
 * model_errors - keeps counters of errors beyond their snapshots.
 *
 * When time goes back (a recording was rewound), counting starts again, so that nothing counts
 * twice.
 */
#include "top/model/model_errors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "top/base/cells.h"
#include "top/base/format.h"
#include "top/model/model_alerts.h"

#define TEXT_BYTES 64

enum kind {
    KIND_CORRECTED, /* corrected ECC errors */
    KIND_UNCORRECTED,
    KIND_REPAIRABLE, /* ECC errors repaired by a reset */
    KIND_OUTCOME,
    /* Executions by cause: text after the outcomes, in no row and no sum */
    KIND_CLASS,
    KIND_EXIT, /* the application failed; its last sample has the reason */
};

struct counter {
    uint64_t key;
    enum kind kind;
    bool has_total;
    uint64_t total;
    uint64_t period; /* last snapshot with this counter */
    uint64_t at_ns;  /* time of that snapshot */
    uint64_t seen;
    uint64_t last_ns;       /* time of its last increase; 0 for never */
    uint64_t runtime_key;   /* 0 for a device */
    char where[TEXT_BYTES]; /* for an application: its tag */
    uint32_t device_index;
    const char *what;
    struct ntk_exit exit;
    bool was_open; /* its runtime was open */
};

static const struct {
    const char *what;
    enum kind kind;
} ecc_texts[NTK_ECC_COUNT] = {
    [NTK_ECC_MEM_CORRECTED] = { "HBM ECC corrected", KIND_CORRECTED },
    [NTK_ECC_MEM_UNCORRECTED] = { "HBM ECC uncorrected", KIND_UNCORRECTED },
    [NTK_ECC_MEM_REPAIRABLE] = { "HBM ECC repairable", KIND_REPAIRABLE },
    [NTK_ECC_SRAM_CORRECTED] = { "SRAM ECC corrected", KIND_CORRECTED },
    [NTK_ECC_SRAM_UNCORRECTED] = { "SRAM ECC uncorrected", KIND_UNCORRECTED },
};

static const char *const outcome_texts[NTK_OUTCOME_COUNT] = {
#define NTK_OUTCOME(id, symbol, name, text) text,
#include "shared/abi/core_counts.def"
};

void ntk_top_model_errors_fini(struct ntk_top_errors *errors)
{
    ntk_map_each(entry, &errors->counters) {
        free(entry->value);
    }
    ntk_map_fini(&errors->counters);
    *errors = (struct ntk_top_errors){ 0 };
}

int ntk_top_model_errors_dup(const struct ntk_top_errors *errors, struct ntk_top_errors *out_copy)
{
    *out_copy = (struct ntk_top_errors){ .first_ns = errors->first_ns, .last_ns = errors->last_ns };
    ntk_map_each(entry, &errors->counters) {
        struct counter *counter = malloc(sizeof *counter);

        if (!counter || ntk_map_put_number(&out_copy->counters, entry->number, counter) < 0) {
            free(counter);
            ntk_top_model_errors_fini(out_copy);
            return -ENOMEM;
        }
        *counter = *(const struct counter *)entry->value;
    }
    return 0;
}

/* Returns the counter of the key, created if there is space. NULL if not: *out_ret shows if memory
 * is missing. */
static struct counter *take_counter(struct ntk_top_errors *errors, uint64_t key, int *out_ret)
{
    struct counter *counter = ntk_map_get_number(&errors->counters, key);

    if (counter || errors->counters.count >= NTK_TOP_ERRORS_MAX) {
        return counter;
    }
    counter = calloc(1, sizeof *counter);
    if (!counter || ntk_map_put_number(&errors->counters, key, counter) < 0) {
        free(counter);
        *out_ret = -ENOMEM;
        return NULL;
    }
    counter->key = key;
    return counter;
}

static void count(struct counter *counter, const struct ntk_snapshot *snapshot,
                  struct ntk_count value, bool has_total)
{
    counter->has_total = has_total;
    counter->total = value.total;
    counter->period = value.period;
    counter->at_ns = snapshot->realtime_ns;
    counter->seen += value.period;
    if (value.period > 0) {
        counter->last_ns = snapshot->realtime_ns;
    }
}

static int observe_device(struct ntk_top_errors *errors, const struct ntk_snapshot *snapshot,
                          const struct ntk_device_sample *device)
{
    int ret = 0;

    for (int e = 0; device->has & NTK_DEVICE_HAS_ECC && e < NTK_ECC_COUNT; e++) {
        struct counter *counter =
            device->ecc_has >> e & 1
                ? take_counter(errors, (uint64_t)device->index * NTK_ECC_COUNT + (uint64_t)e, &ret)
                : NULL;

        if (counter) {
            counter->kind = ecc_texts[e].kind;
            counter->what = ecc_texts[e].what;
            counter->device_index = device->index;
            count(counter, snapshot, device->ecc[e], device->has & NTK_DEVICE_HAS_ECC_TOTAL);
        }
    }
    return ret;
}

/* Observes a count; counters at zero are not listed, because there are many applications. */
static int observe_count(struct ntk_top_errors *errors, const struct ntk_snapshot *snapshot,
                         const struct ntk_runtime_sample *runtime, enum kind kind, int index)
{
    struct ntk_count value =
        kind == KIND_OUTCOME ? runtime->outcome[index] : runtime->error_class[index];
    bool has_total = (runtime->has & NTK_RUNTIME_HAS_TOTALS) != 0;
    uint64_t runtime_key = ntk_top_cells_runtime_key(runtime);
    uint64_t key =
        runtime_key * 31 + (uint64_t)(kind * NTK_OUTCOME_COUNT + index) * 0x9e3779b97f4a7c15;
    struct counter *counter;
    int ret = 0;

    if (value.period == 0 && !(has_total && value.total > 0) &&
        !ntk_map_get_number(&errors->counters, key)) {
        return 0;
    }
    counter = take_counter(errors, key, &ret);
    if (counter) {
        counter->kind = kind;
        counter->what = kind == KIND_OUTCOME ? outcome_texts[index] : ntk_error_class_names[index];
        counter->runtime_key = runtime_key;
        ntk_str_copy_clean(counter->where, sizeof counter->where, runtime->tag,
                           strlen(runtime->tag));
        count(counter, snapshot, value, has_total);
    }
    return ret;
}

static int observe_exit(struct ntk_top_errors *errors, const struct ntk_snapshot *snapshot,
                        const struct ntk_runtime_sample *runtime)
{
    uint64_t runtime_key = ntk_top_cells_runtime_key(runtime);
    int ret = 0;
    struct counter *counter = take_counter(
        errors, runtime_key * 31 + (uint64_t)(KIND_EXIT * NTK_OUTCOME_COUNT) * 0x9e3779b97f4a7c15,
        &ret);

    if (counter) {
        counter->kind = KIND_EXIT;
        counter->what = "";
        counter->exit = runtime->exit;
        counter->was_open = runtime->killed;
        counter->runtime_key = runtime_key;
        ntk_str_copy_clean(counter->where, sizeof counter->where, runtime->tag,
                           strlen(runtime->tag));
        count(counter, snapshot, (struct ntk_count){ .period = counter->seen == 0 }, false);
    }
    return ret;
}

int ntk_top_model_errors_observe(struct ntk_top_model *model)
{
    struct ntk_top_errors *errors = &model->watch.errors;
    const struct ntk_snapshot *snapshot = model->snapshot;
    int ret = 0;

    if (snapshot->realtime_ns < errors->last_ns) {
        ntk_top_model_errors_fini(errors);
    }
    errors->last_ns = snapshot->realtime_ns;
    errors->first_ns = errors->first_ns > 0 ? errors->first_ns : snapshot->realtime_ns;
    for (size_t d = 0; ret == 0 && d < snapshot->device_count; d++) {
        ret = observe_device(errors, snapshot, &snapshot->devices[d]);
    }
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[r];

        if (ret == 0 && ntk_exit_is_failure(runtime->exit, runtime->killed)) {
            ret = observe_exit(errors, snapshot, runtime);
        }
        if (!(runtime->has & NTK_RUNTIME_HAS_EXECUTIONS)) {
            continue;
        }
        for (int o = NTK_OUTCOME_COMPLETED + 1; ret == 0 && o < NTK_OUTCOME_COUNT; o++) {
            ret = observe_count(errors, snapshot, runtime, KIND_OUTCOME, o);
        }
        for (int c = 0; ret == 0 && c < NTK_ERROR_CLASS_COUNT; c++) {
            ret = observe_count(errors, snapshot, runtime, KIND_CLASS, c);
        }
    }
    return ret;
}

/* Returns the tab of a counter's application; 0 for a device, or if the application is gone. */
static size_t tab_of(const struct ntk_top_model *model, const struct counter *counter)
{
    for (size_t r = 0; counter->runtime_key && r < model->snapshot->runtime_count; r++) {
        if (ntk_top_cells_runtime_key(&model->snapshot->runtimes[r]) == counter->runtime_key) {
            return r + 1;
        }
    }
    return 0;
}

static bool has_counted(const struct counter *counter)
{
    return counter->seen > 0 || (counter->has_total && counter->total > 0);
}

static enum ntk_top_row_kind row_kind(const struct counter *counter, uint64_t now_ns)
{
    bool is_new = counter->last_ns > 0 && counter->last_ns + NTK_TOP_ERRORS_NEW_NS > now_ns;

    if (is_new) {
        return counter->kind == KIND_CORRECTED ? NTK_TOP_ROW_WARNING : NTK_TOP_ROW_ERROR;
    }
    return has_counted(counter) ? NTK_TOP_ROW_NORMAL : NTK_TOP_ROW_DIM;
}

/* Returns the causes of an application's failed executions, such as "7 transient, 1 hardware". */
static const char *causes_of(const struct ntk_top_model *model, struct ntk_top_table *table,
                             uint64_t runtime_key)
{
    const char *text = "";

    ntk_map_each(entry, &model->watch.errors.counters) {
        const struct counter *counter = entry->value;
        uint64_t count = counter->has_total ? counter->total : counter->seen;

        if (counter->kind == KIND_CLASS && counter->runtime_key == runtime_key && count > 0) {
            text = ntk_top_table_text(table, "%s%s%llu %s", text, text[0] ? ", " : "",
                                      (unsigned long long)count, counter->what);
        }
    }
    return text;
}

static int add_row(struct ntk_top_model *model, struct ntk_top_table *table,
                   const struct counter *counter, size_t tab)
{
    uint64_t now_ns = model->snapshot->realtime_ns;
    uint64_t ago_ns = counter->last_ns < now_ns ? now_ns - counter->last_ns : 0;
    struct ntk_top_cell *cells = ntk_top_table_add(table, counter->key, row_kind(counter, now_ns));

    if (!cells) {
        return -ENOMEM;
    }
    ntk_top_table_set_tab(table, tab);
    cells[NTK_TOP_ERRORS_WHERE] = ntk_top_cell_text(
        counter->runtime_key ? ntk_top_table_text(table, "%s", counter->where)
                             : ntk_top_table_text(table, "ND%u", counter->device_index));
    /* Devices are sorted by number, before applications. */
    cells[NTK_TOP_ERRORS_WHERE].value =
        counter->runtime_key ? NTK_SNAPSHOT_DEVICES_MAX : counter->device_index;
    char label[NTK_TOP_LABEL_BYTES];
    const char *what = ntk_top_format_label(label, model->memory_type, counter->what);

    cells[NTK_TOP_ERRORS_WHAT] =
        ntk_top_cell_text(what == label ? ntk_top_table_text(table, "%s", label) : counter->what);
    if (counter->kind == KIND_EXIT) {
        char how[NTK_EXIT_TEXT_BYTES];

        cells[NTK_TOP_ERRORS_WHAT] = ntk_top_cell_text(
            ntk_top_table_text(table, "%s", ntk_exit_text(counter->exit, counter->was_open, how)));
        cells[NTK_TOP_ERRORS_CAUSES] =
            ntk_top_cell_text(counter->was_open ? "exited without closing its runtime" : "");
    } else if (counter->runtime_key) {
        cells[NTK_TOP_ERRORS_CAUSES] =
            ntk_top_cell_text(causes_of(model, table, counter->runtime_key));
    }
    cells[NTK_TOP_ERRORS_NEW] = ntk_top_cell_if(counter->at_ns == now_ns, (double)counter->period);
    cells[NTK_TOP_ERRORS_SEEN] = ntk_top_cell_number((double)counter->seen);
    cells[NTK_TOP_ERRORS_TOTAL] = ntk_top_cell_if(counter->has_total, (double)counter->total);
    cells[NTK_TOP_ERRORS_LAST] = ntk_top_cell_if(counter->last_ns > 0, (double)counter->last_ns);
    cells[NTK_TOP_ERRORS_AGO] = ntk_top_cell_if(counter->last_ns > 0, (double)ago_ns);
    return 0;
}

/* Adds a row for a core that is dead or stuck. */
static int add_core_row(struct ntk_top_model *model, struct ntk_top_table *table, uint32_t core)
{
    uint64_t now_ns = model->snapshot->realtime_ns;
    uint64_t since_ns = ntk_top_model_alerts_since(model, core);
    bool is_dead = ntk_top_model_alerts_core(model, core) == NTK_TOP_CORE_DEAD;
    uint32_t device = core / model->cores_per_device;
    struct ntk_top_cell *cells = ntk_top_table_add(
        table, UINT64_MAX - core, is_dead ? NTK_TOP_ROW_ERROR : NTK_TOP_ROW_WARNING);

    if (!cells) {
        return -ENOMEM;
    }
    cells[NTK_TOP_ERRORS_WHERE] = ntk_top_cell_text(
        ntk_top_table_text(table, "ND%u NC%u", device, core % model->cores_per_device));
    cells[NTK_TOP_ERRORS_WHERE].value = device;
    cells[NTK_TOP_ERRORS_WHAT] = ntk_top_cell_text(is_dead ? "core is dead" : "core is stuck");
    cells[NTK_TOP_ERRORS_CAUSES] = ntk_top_cell_text(is_dead ? "no execution completes on this core"
                                                             : "one execution is still running");
    cells[NTK_TOP_ERRORS_LAST] = ntk_top_cell_number((double)since_ns);
    cells[NTK_TOP_ERRORS_AGO] =
        ntk_top_cell_number(since_ns < now_ns ? (double)(now_ns - since_ns) : 0);
    return 0;
}

int ntk_top_model_errors(struct ntk_top_model *model, struct ntk_top_table *table)
{
    const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);

    for (uint32_t i = 0; i < model->watch.alerts.core_count; i++) {
        bool is_shown = !runtime || ntk_top_model_core_of(model, runtime, i);

        if (is_shown && ntk_top_model_alerts_since(model, i) > 0 &&
            add_core_row(model, table, i) < 0) {
            return -ENOMEM;
        }
    }
    /* Zeros are not listed, because the line above covers them. */
    ntk_map_each(entry, &model->watch.errors.counters) {
        const struct counter *counter = entry->value;
        size_t tab = tab_of(model, counter);

        if ((model->tab_index == 0 || tab == model->tab_index) && has_counted(counter) &&
            counter->kind != KIND_CLASS && add_row(model, table, counter, tab) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

static bool is_uncorrected(const struct counter *counter)
{
    return counter->kind == KIND_UNCORRECTED || counter->kind == KIND_REPAIRABLE;
}

void ntk_top_model_errors_sum(const struct ntk_top_model *model, struct ntk_top_errors_sum *out)
{
    *out = (struct ntk_top_errors_sum){ 0 };
    ntk_map_each(entry, &model->watch.errors.counters) {
        const struct counter *counter = entry->value;

        if (model->tab_index > 0 && tab_of(model, counter) != model->tab_index) {
            continue;
        }
        out->has_ecc = out->has_ecc || !counter->runtime_key;
        out->executions += counter->kind == KIND_OUTCOME ? counter->seen : 0;
        out->corrected += counter->kind == KIND_CORRECTED ? counter->seen : 0;
        out->uncorrected += is_uncorrected(counter) ? counter->seen : 0;
    }
}

/* Returns the uncorrected errors. An uncorrected error remains until the device's driver is loaded
 * again; a repairable error is only shown while it happens. */
static uint64_t not_corrected(const struct counter *counter)
{
    bool is_lasting = counter->kind == KIND_UNCORRECTED && counter->has_total;

    return !is_uncorrected(counter)                       ? 0
           : is_lasting && counter->total > counter->seen ? counter->total
                                                          : counter->seen;
}

void ntk_top_model_errors_news(const struct ntk_top_model *model, uint64_t recent_ns,
                               struct ntk_top_errors_news *out)
{
    uint64_t now_ns = model->watch.errors.last_ns;
    uint64_t devices = 0; /* one bit per device */
    uint64_t last_ns = 0;
    struct ntk_map tags = { 0 };

    *out = (struct ntk_top_errors_news){ .tag = "" };
    ntk_map_each(entry, &model->watch.errors.counters) {
        const struct counter *counter = entry->value;

        if (not_corrected(counter) > 0) {
            out->device_index = out->uncorrected == 0 || counter->device_index < out->device_index
                                    ? counter->device_index
                                    : out->device_index;
            out->uncorrected += not_corrected(counter);
            devices |= UINT64_C(1) << counter->device_index % 64;
        } else if (counter->kind == KIND_OUTCOME && counter->last_ns > 0 &&
                   counter->last_ns + recent_ns > now_ns) {
            out->executions += counter->seen;
            (void)ntk_map_put_number(&tags, counter->runtime_key, &tags);
            if (counter->last_ns > last_ns) {
                last_ns = counter->last_ns;
                out->tag = counter->where;
            }
        }
    }
    out->ago_ns = now_ns - last_ns;
    out->device_count = (uint32_t)__builtin_popcountll(devices);
    out->tag_count = (uint32_t)tags.count;
    ntk_map_fini(&tags);
}
