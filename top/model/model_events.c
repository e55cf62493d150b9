/* SPDX-License-Identifier: MIT */
/* model_events - lists events: the memory log, errors, loads, captures, marks. */
#include "top/model/model_events.h"

#include <errno.h>
#include <string.h>

#include "shared/base/str.h"
#include "top/base/cells.h"
#include "top/base/format.h"

/* prefix of names in the device tree: all statuses here belong to executions */
#define PREFIX "execute_"

static const char *const kind_names[NTK_TOP_EVENT_END + 1] = {
    [NTK_EVENT_MEM_ALLOC] = "alloc",       [NTK_EVENT_MEM_FREE] = "free",
    [NTK_EVENT_MODEL_LOAD] = "load",       [NTK_EVENT_MODEL_UNLOAD] = "unload",
    [NTK_EVENT_ERROR] = "error",           [NTK_EVENT_PROFILE_START] = "profile",
    [NTK_EVENT_PROFILE_STOP] = "profiled", [NTK_EVENT_MARK] = "mark",
    [NTK_EVENT_MODEL_START] = "start",     [NTK_EVENT_MODEL_STOP] = "stop",
    [NTK_TOP_EVENT_END] = "end",
};

static const char *const error_code_names[NTK_ERROR_CODE_COUNT] = {
    [NTK_ERROR_CODE_STATUS] = "",
    [NTK_ERROR_CODE_ECC_MEM_CORRECTED] = "HBM ECC corrected",
    [NTK_ERROR_CODE_ECC_MEM_UNCORRECTED] = "HBM ECC uncorrected",
    [NTK_ERROR_CODE_ECC_MEM_REPAIRABLE] = "HBM ECC repairable",
    [NTK_ERROR_CODE_ECC_SRAM_CORRECTED] = "SRAM ECC corrected",
    [NTK_ERROR_CODE_ECC_SRAM_UNCORRECTED] = "SRAM ECC uncorrected",
    [NTK_ERROR_CODE_RESET] = "device reset",
};

/* Returns a status such as "5 timeout", with the name of its folder in the device tree. */
static const char *status_text(struct ntk_top_table *table, uint32_t status)
{
    static const char *const folders[] = {
#define NTK_STATUS(id, symbol, folder, datastore_id) [id] = folder,
#include "shared/abi/status.def"
#undef NTK_STATUS
    };
    enum ntk_status_counter counter = ntk_status_counter_of_status(status);
    const char *name = folders[counter];

    if (counter == NTK_STATUS_GENERIC) {
        return ntk_top_table_text(table, "status %u", (unsigned int)status);
    }
    name += ntk_str_starts_with(name, PREFIX) ? sizeof PREFIX - 1 : 0;
    return ntk_top_table_text(table, "%u %s", (unsigned int)status, name);
}

static struct ntk_exit exit_of(const struct ntk_event_sample *end)
{
    return (struct ntk_exit){ (enum ntk_exit_kind)end->error_code, end->status };
}

/* Returns the object that was allocated or freed, or that failed and the reason. "" if the kind is
 * enough. */
static const char *what(const struct ntk_top_model *model, struct ntk_top_table *table,
                        const struct ntk_event_sample *sample)
{
    char label[NTK_TOP_LABEL_BYTES];
    char how[NTK_EXIT_TEXT_BYTES];

    switch (sample->kind) {
    case NTK_EVENT_MEM_ALLOC:
    case NTK_EVENT_MEM_FREE:
        return sample->category < NTK_MEMORY_CATEGORY_COUNT
                   ? ntk_memory_category_names[sample->category]
                   : "";
    case NTK_EVENT_ERROR:
        if (sample->error_code > 0 && sample->error_code < NTK_ERROR_CODE_COUNT) {
            const char *name = ntk_top_format_label(label, model->memory_type,
                                                    error_code_names[sample->error_code]);

            return sample->value > 0 /* a recording lacks it */
                       ? ntk_top_table_text(table, "%s, %llu", name,
                                            (unsigned long long)sample->value)
                       : ntk_top_table_text(table, "%s", name);
        }
        if (sample->status == 0) {
            return "hardware error"; /* older recordings only have this */
        }
        if (sample->error_class < NTK_ERROR_CLASS_COUNT) {
            return ntk_top_table_text(table, "%s: %s", ntk_error_class_names[sample->error_class],
                                      status_text(table, sample->status));
        }
        return status_text(table, sample->status);
    case NTK_EVENT_MODEL_LOAD:
    case NTK_EVENT_MODEL_UNLOAD:
    case NTK_EVENT_MODEL_START:
    case NTK_EVENT_MODEL_STOP:
    case NTK_EVENT_PROFILE_START:
    case NTK_EVENT_PROFILE_STOP:
        return sample->status != 0 ? status_text(table, sample->status) : "";
    case NTK_EVENT_MARK:
        return sample->value > 0
                   ? ntk_top_table_text(table, "%llu", (unsigned long long)sample->value)
                   : "";
    case NTK_TOP_EVENT_END:
        return ntk_top_table_text(table, "%s",
                                  ntk_exit_text(exit_of(sample), sample->value > 0, how));
    default:
        return "";
    }
}

static bool has_bytes(const struct ntk_event_sample *sample)
{
    return sample->kind == NTK_EVENT_MEM_ALLOC || sample->kind == NTK_EVENT_MEM_FREE ||
           ((sample->kind == NTK_EVENT_MODEL_LOAD || sample->kind == NTK_EVENT_PROFILE_STOP) &&
            sample->bytes > 0);
}

/* Keeps a text, because the log continues while a frozen screen shows an earlier state. */
static struct ntk_top_cell keep(struct ntk_top_table *table, const char *text)
{
    return ntk_top_cell_text(text[0] ? ntk_top_table_text(table, "%s", text) : "");
}

static void fill(const struct ntk_top_model *model, struct ntk_top_table *table,
                 const struct ntk_top_event *event, struct ntk_top_cell *cells)
{
    const struct ntk_event_sample *sample = &event->sample;

    cells[NTK_TOP_EVENTS_TIME] = ntk_top_cell_number((double)sample->realtime_ns);
    cells[NTK_TOP_EVENTS_KIND] = ntk_top_cell_text(
        sample->kind <= NTK_TOP_EVENT_END && kind_names[sample->kind] ? kind_names[sample->kind]
                                                                      : "");
    cells[NTK_TOP_EVENTS_APP] = keep(table, event->tag);
    if (sample->core != NTK_NO_CORE) {
        uint32_t core = sample->core / model->lnc;

        cells[NTK_TOP_EVENTS_CORE] = ntk_top_cell_text(
            model->cores_per_device > 0
                ? ntk_top_table_text(table, "ND%u NC%u", core / model->cores_per_device,
                                     core % model->cores_per_device)
                : ntk_top_table_text(table, "%u", core));
        cells[NTK_TOP_EVENTS_CORE].value = core;
    }
    cells[NTK_TOP_EVENTS_WHAT] = ntk_top_cell_text(what(model, table, sample));
    cells[NTK_TOP_EVENTS_BYTES] = ntk_top_cell_if(has_bytes(sample), (double)sample->bytes);
    cells[NTK_TOP_EVENTS_DURATION] =
        ntk_top_cell_if(sample->duration_ns > 0, (double)sample->duration_ns);
    cells[NTK_TOP_EVENTS_NAME] = keep(table, event->name);
    if (event->model[0]) {
        cells[NTK_TOP_EVENTS_MODEL] = keep(table, event->model);
    } else if (sample->model_id > 0) {
        cells[NTK_TOP_EVENTS_MODEL] =
            ntk_top_cell_text(ntk_top_table_text(table, "%u", sample->model_id));
    }
    if (sample->kind == NTK_EVENT_MEM_ALLOC || sample->kind == NTK_EVENT_MEM_FREE) {
        cells[NTK_TOP_EVENTS_ADDRESS] = ntk_top_cell_text(
            ntk_top_table_text(table, "0x%llx", (unsigned long long)sample->address));
        cells[NTK_TOP_EVENTS_ADDRESS].value = (double)sample->address;
    }
    cells[NTK_TOP_EVENTS_EXECUTION] = ntk_top_cell_if(
        sample->kind == NTK_EVENT_ERROR && sample->execution_id > 0, (double)sample->execution_id);
    cells[NTK_TOP_EVENTS_PID] = ntk_top_cell_if(sample->pid > 0, sample->pid);
    cells[NTK_TOP_EVENTS_THREAD] = ntk_top_cell_if(sample->tid > 0, sample->tid);
}

/* Returns the tab of an event's process, 0 if it is gone. Neighbours often have the same
 * process. */
static size_t tab_of(const struct ntk_snapshot *snapshot, const struct ntk_event_sample *sample,
                     size_t last)
{
    if (last > 0 && ntk_runtime_has_event(&snapshot->runtimes[last - 1], sample)) {
        return last;
    }
    for (size_t r = 0; r < snapshot->runtime_count; r++) {
        if (ntk_runtime_has_event(&snapshot->runtimes[r], sample)) {
            return r + 1;
        }
    }
    return 0;
}

/* Returns the kind of row: an event without a failure, such as a corrected bit, is a warning. */
static enum ntk_top_row_kind kind_of(const struct ntk_event_sample *sample)
{
    bool is_failure = sample->kind == NTK_TOP_EVENT_END
                          ? ntk_exit_is_failure(exit_of(sample), sample->value > 0)
                          : sample->status != 0;

    return is_failure                        ? NTK_TOP_ROW_ERROR
           : sample->kind == NTK_EVENT_ERROR ? NTK_TOP_ROW_WARNING
                                             : NTK_TOP_ROW_NORMAL;
}

/* Returns true if the event is later than the shown moment: the log has the newest events even
 * while an earlier moment is shown. A snapshot may list events that are slightly later than
 * itself. */
static bool is_later(const struct ntk_top_model *model, const struct ntk_top_event *event)
{
    uint64_t shown_ns = model->snapshot ? model->snapshot->realtime_ns : UINT64_MAX;

    return model->is_behind && event->sample.realtime_ns > shown_ns && event->listed_ns > shown_ns;
}

uint64_t ntk_top_model_events_count(const struct ntk_top_model *model)
{
    size_t kept = ntk_top_event_log_kept(&model->events);
    uint64_t count = 0;

    if (!model->is_behind) {
        return model->events.count;
    }
    for (size_t i = 0; i < kept; i++) {
        count += !is_later(model, ntk_top_event_log_get(&model->events, i));
    }
    return count;
}

int ntk_top_model_events_observe(struct ntk_top_model *model)
{
    ntk_str_copy(model->events_note, sizeof model->events_note,
                 model->is_report && !model->snapshot->lists_events
                     ? "these reports contain no events: they come from an older neuron-monitor, "
                       "or lack neuron_ext"
                     : "");
    return ntk_top_event_log_add(&model->events, model->snapshot);
}

/* Returns true if two events differ only in time and memory address. */
static bool is_repeated(const struct ntk_top_event *a, const struct ntk_top_event *b)
{
    const struct ntk_event_sample *x = &a->sample;
    const struct ntk_event_sample *y = &b->sample;

    return x->kind == y->kind && x->pid == y->pid && x->core == y->core &&
           x->category == y->category && x->status == y->status && x->error_code == y->error_code &&
           x->error_class == y->error_class && x->model_id == y->model_id &&
           strcmp(a->tag, b->tag) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->model, b->model) == 0;
}

/* Counts the event in one of the last rows if that row has an equal event; the row has the time of
 * the newest, the bytes and durations of all, and the identity of the oldest. */
static bool fold(struct ntk_top_table *table, const struct ntk_top_event **newest,
                 const struct ntk_top_event *event)
{
    size_t count = table->rows.count;

    for (size_t back = 0; back < NTK_TOP_EVENTS_FOLD_ROWS && back < count; back++) {
        struct ntk_top_row *row = ntk_vec_at(&table->rows, count - 1 - back);
        struct ntk_top_cell *cells = ntk_vec_at(&table->cells, row->first_cell);

        if (!is_repeated(newest[(count - 1 - back) % NTK_TOP_EVENTS_FOLD_ROWS], event)) {
            continue;
        }
        row->key = event->number;
        cells[NTK_TOP_EVENTS_TIMES] = ntk_top_cell_number(
            cells[NTK_TOP_EVENTS_TIMES].present ? cells[NTK_TOP_EVENTS_TIMES].value + 1 : 2);
        if (cells[NTK_TOP_EVENTS_BYTES].present) {
            cells[NTK_TOP_EVENTS_BYTES].value += (double)event->sample.bytes;
        }
        if (cells[NTK_TOP_EVENTS_DURATION].present) {
            cells[NTK_TOP_EVENTS_DURATION].value += (double)event->sample.duration_ns;
        }
        /* Each event has a different address. */
        cells[NTK_TOP_EVENTS_ADDRESS].present = false;
        cells[NTK_TOP_EVENTS_EXECUTION].present = false;
        if (cells[NTK_TOP_EVENTS_THREAD].value != event->sample.tid) {
            cells[NTK_TOP_EVENTS_THREAD].present = false;
        }
        return true;
    }
    return false;
}

bool ntk_top_model_events_act(struct ntk_top_model *model, int action, int argument)
{
    (void)argument;
    if (action != NTK_TOP_ACTION_TOGGLE_ALL) {
        return false;
    }
    model->each_event = !model->each_event;
    ntk_top_model_project_view(model);
    return true;
}

int ntk_top_model_events(struct ntk_top_model *model, struct ntk_top_table *table)
{
    /* Events of the rows added last, by number. */
    const struct ntk_top_event *newest[NTK_TOP_EVENTS_FOLD_ROWS];
    size_t count = ntk_top_event_log_kept(&model->events);
    size_t tab = 0;

    /* From the newest to the oldest, so that events of one moment are also in that order. */
    for (size_t i = count; i-- > 0;) {
        const struct ntk_top_event *event = ntk_top_event_log_get(&model->events, i);
        const struct ntk_event_sample *sample = &event->sample;
        struct ntk_top_cell *cells;

        if (is_later(model, event)) {
            continue;
        }
        tab = tab_of(model->snapshot, sample, tab);
        if (model->tab_index > 0 && tab != model->tab_index) {
            continue;
        }
        if (!model->each_event && fold(table, newest, event)) {
            continue;
        }
        newest[table->rows.count % NTK_TOP_EVENTS_FOLD_ROWS] = event;
        cells = ntk_top_table_add(table, event->number, kind_of(sample));
        if (!cells) {
            return -ENOMEM;
        }
        ntk_top_table_set_tab(table, tab);
        fill(model, table, event, cells);
    }
    return 0;
}
