/* SPDX-License-Identifier: MIT */
/* model - projects the last snapshot to the selected tab. */
#include "top/model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/abi/core_number.h"
#include "shared/base/str.h"
#include "top/model/model_alerts.h"
#include "top/model/model_errors.h"
#include "top/model/model_graphs.h"
#include "top/model/model_page.h"
#include "top/model/model_tree.h"
#include "top/model/model_watch.h"

#define CORES_PER_DEVICE_MAX 64

int ntk_top_model_create(const struct ntk_top_view *const *views, struct ntk_top_model **out_model,
                         struct ntk_err *err)
{
    struct ntk_top_model *model = calloc(1, sizeof *model);
    struct ntk_top_tab all = { .is_all = true, .tag = "all" };

    if (!model) {
        return ntk_err_no_memory(err);
    }
    model->version = NTK_VERSION;
    model->views = views;
    ntk_vec_init(&model->tabs, sizeof(struct ntk_top_tab));
    ntk_vec_init(&model->nodes, sizeof(struct ntk_top_node));
    ntk_top_model_tree_init(model);
    ntk_top_model_graphs_init(&model->graphs);
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view *view = views[i];

        ntk_top_table_init(&model->tables[i], view ? view->columns : NULL);
    }
    if (ntk_vec_push(&model->tabs, &all) < 0) {
        ntk_top_model_destroy(model);
        return ntk_err_no_memory(err);
    }
    *out_model = model;
    return 0;
}

void ntk_top_model_destroy(struct ntk_top_model *model)
{
    if (!model) {
        return;
    }
    ntk_snapshot_destroy(model->snapshot);
    ntk_top_model_destroy(model->host_scratch);
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        ntk_top_table_fini(&model->tables[i]);
    }
    ntk_top_event_log_fini(&model->events);
    ntk_top_model_graphs_fini(&model->graphs);
    ntk_top_watch_fini(&model->watch);
    ntk_top_watch_fini(&model->watch_now);
    ntk_top_watch_fini(&model->watch_before);
    ntk_vec_fini(&model->tabs);
    ntk_vec_fini(&model->nodes);
    ntk_vec_fini(&model->items);
    ntk_map_fini(&model->exceptions);
    free(model->cores);
    free(model);
}

/* ---- projection ---- */

/* Returns NULL in the tab of all applications. */
const struct ntk_runtime_sample *ntk_top_model_tab_runtime(const struct ntk_top_model *model)
{
    const struct ntk_top_tab *tab = ntk_top_model_tab_get(model);

    return tab->is_all ? NULL : &model->snapshot->runtimes[tab->runtime_index];
}

bool ntk_top_model_is_in_tab(const struct ntk_top_model *model, size_t runtime_index)
{
    const struct ntk_top_tab *tab = ntk_top_model_tab_get(model);

    return tab->is_all || tab->runtime_index == runtime_index;
}

bool ntk_top_model_is_listed(const struct ntk_top_model *model, size_t runtime_index)
{
    return ntk_top_model_is_in_tab(model, runtime_index) &&
           (!model->only_mine ||
            strcmp(model->snapshot->runtimes[runtime_index].user, model->my_user) == 0);
}

/* Returns the machine that the applications report, where no device tree exists. */
static const struct ntk_machine *machine_of_runtimes(const struct ntk_snapshot *snapshot,
                                                     uint32_t *out_lnc)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_machine *machine = ntk_machine_find(snapshot->runtimes[i].instance_type);

        if (machine) {
            *out_lnc = snapshot->runtimes[i].lnc;
            return machine;
        }
    }
    return NULL;
}

static int project_machine(struct ntk_top_model *model)
{
    const struct ntk_hardware *hardware = &model->snapshot->hardware;
    const char *instance_type = hardware->instance_type;
    const char *core_version = hardware->core_version;
    uint32_t device_count = hardware->device_count;
    uint32_t cores_per_device = hardware->cores_per_device;
    uint32_t lnc = hardware->lnc;
    const char *memory_type = ntk_machine_memory_type(hardware);
    double peak_flops = hardware->has & NTK_HARDWARE_HAS_PEAK ? hardware->tensor_peak_flops : 0;
    size_t count;
    struct ntk_top_core *cores;

    if (device_count == 0) {
        const struct ntk_machine *machine = machine_of_runtimes(model->snapshot, &lnc);

        if (machine) {
            instance_type = machine->instance_type;
            core_version = lnc > 1 ? machine->core_version_lnc2 : machine->core_version;
            device_count = machine->device_count;
            cores_per_device = machine->cores_per_device;
            peak_flops = machine->tensor_peak_flops;
            memory_type = machine->memory_type;
        }
    }
    if (!instance_type[0]) {
        instance_type = model->snapshot->instance.type;
    }
    lnc = lnc > 0 ? lnc : 1;
    cores_per_device /= lnc;
    /* A snapshot may come from another machine. */
    device_count =
        device_count > NTK_SNAPSHOT_DEVICES_MAX ? NTK_SNAPSHOT_DEVICES_MAX : device_count;
    cores_per_device =
        cores_per_device > CORES_PER_DEVICE_MAX ? CORES_PER_DEVICE_MAX : cores_per_device;
    count = (size_t)device_count * cores_per_device;
    cores = realloc(model->cores, (count > 0 ? count : 1) * sizeof *cores);
    if (!cores) {
        return -ENOMEM;
    }
    model->cores = cores;
    model->lnc = lnc;
    model->memory_type = memory_type;
    model->core_peak_flops = peak_flops * lnc;
    model->device_count = device_count;
    model->cores_per_device = cores_per_device;
    ntk_str_copy(model->instance_id, sizeof model->instance_id, model->snapshot->instance.id);
    ntk_str_copy(model->instance_type, sizeof model->instance_type, instance_type);
    ntk_str_copy(model->core_version, sizeof model->core_version, core_version);
    return 0;
}

/* Finds the snapshot's data of a logical core: for the application, or for all. */
static bool find_listed(const struct ntk_top_model *model, const struct ntk_runtime_sample *runtime,
                        uint32_t logical, struct ntk_core_sample *out)
{
    const struct ntk_snapshot *snapshot = model->snapshot;

    if (runtime) {
        return ntk_snapshot_watched_logical_core(runtime->cores, runtime->core_count, model->lnc,
                                                 logical, out);
    }
    if (snapshot->core_count > 0) {
        return ntk_snapshot_watched_logical_core(snapshot->cores, snapshot->core_count, model->lnc,
                                                 logical, out);
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        if (find_listed(model, &snapshot->runtimes[i], logical, out)) {
            return true;
        }
    }
    return false;
}

/* Same, except that a core that is known to be idle because it is not listed has zeros. */
static bool find_core(const struct ntk_top_model *model, const struct ntk_runtime_sample *runtime,
                      uint32_t logical, struct ntk_core_sample *out)
{
    if (find_listed(model, runtime, logical, out) && out->has != 0) {
        if (ntk_top_model_alerts_core(model, logical) == NTK_TOP_CORE_DEAD) {
            out->utilization = 0; /* failed executions do no work */
        }
        return true;
    }
    *out = (struct ntk_core_sample){ .core = logical, .has = runtime ? 0 : model->idle_has };
    return out->has != 0;
}

/* Returns the known fields: cores of other applications are idle for this one, if its cores are
 * measured. */
static uint32_t core_fields_of(const struct ntk_runtime_sample *runtime)
{
    uint32_t reported = 0;

    for (size_t i = 0; i < runtime->core_count; i++) {
        reported |= runtime->cores[i].has;
    }
    return reported;
}

/* Returns the known fields of idle cores: if only cores in use are listed, and every application
 * reports its cores, the others are idle. */
static uint32_t idle_core_fields_of(const struct ntk_top_model *model,
                                    const struct ntk_snapshot *snapshot)
{
    uint32_t reported = NTK_CORE_HAS_BUSY;

    if (!snapshot || !model->is_report || !(snapshot->hardware.has & NTK_HARDWARE_HAS_DEVICES)) {
        return 0;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        uint32_t own = core_fields_of(runtime);

        if (runtime->error[0] || !(own & NTK_CORE_HAS_BUSY)) {
            return 0;
        }
        reported |= own;
    }
    return reported;
}

const struct ntk_snapshot *ntk_top_model_look_at(struct ntk_top_model *model,
                                                 const struct ntk_snapshot *snapshot)
{
    const struct ntk_snapshot *before = model->snapshot;

    model->snapshot = snapshot;
    model->idle_has = idle_core_fields_of(model, snapshot);
    return before;
}

static void project_cores(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);
    size_t count = (size_t)model->device_count * model->cores_per_device;
    double busy = 0;
    double teraflops = 0;
    size_t busy_count = 0;
    size_t teraflops_count = 0;
    uint32_t known = runtime ? core_fields_of(runtime) : 0;
    bool is_estimated = false;

    for (size_t i = 0; i < count; i++) {
        struct ntk_top_core *core = &model->cores[i];
        struct ntk_core_sample sample;

        if (!find_core(model, runtime, (uint32_t)i, &sample)) {
            sample = (struct ntk_core_sample){ .has = known };
        }
        core->state = ntk_top_model_alerts_core(model, (uint32_t)i);
        core->busy_percent.present = (sample.has & NTK_CORE_HAS_BUSY) != 0;
        core->busy_percent.value = 100 * sample.utilization;
        core->busy_percent.estimated = sample.busy_of_calls;
        core->teraflops.present = (sample.has & NTK_CORE_HAS_EFFECTIVE_FLOPS) != 0;
        core->teraflops.value = ntk_snapshot_rate(snapshot, sample.effective_flops) / 1e12;
        if (core->busy_percent.present) {
            busy += core->busy_percent.value;
            busy_count++;
            is_estimated = is_estimated || core->busy_percent.estimated;
        }
        if (core->teraflops.present) {
            teraflops += core->teraflops.value;
            teraflops_count++;
        }
    }
    model->busy_percent_mean.present = busy_count > 0;
    model->busy_percent_mean.estimated = is_estimated;
    model->busy_percent_mean.value = busy_count > 0 ? busy / (double)busy_count : 0;
    model->teraflops_total.present = teraflops_count > 0;
    model->teraflops_total.value = teraflops;
    model->teraflops_mean.present = teraflops_count > 0;
    model->teraflops_mean.value = teraflops_count > 0 ? teraflops / (double)teraflops_count : 0;
}

static struct ntk_top_number percent(bool present, double ratio)
{
    return (struct ntk_top_number){ present ? 100 * ratio : 0, present };
}

bool ntk_top_model_has_no_application(const struct ntk_top_model *model)
{
    const struct ntk_hardware *hardware = &model->snapshot->hardware;

    return model->snapshot->runtime_count == 0 && !model->is_partial &&
           (hardware->software || hardware->device_count == 0);
}

static void project_vcpu(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    bool has_system = (snapshot->system.has & NTK_SYSTEM_HAS_CPU) != 0;
    /* without a process, the use is zero */
    bool has_runtime = ntk_top_model_has_no_application(model);
    double user = 0;
    double system = 0;

    model->system_vcpu.user_percent = percent(has_system, snapshot->system.average[NTK_CPU_USER]);
    model->system_vcpu.system_percent =
        percent(has_system, snapshot->system.average[NTK_CPU_SYSTEM]);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        if (ntk_top_model_is_in_tab(model, i) && (runtime->has & NTK_RUNTIME_HAS_CPU)) {
            has_runtime = true;
            user += runtime->vcpu_user;
            system += runtime->vcpu_system;
        }
    }
    model->runtime_vcpu.user_percent = percent(has_runtime, user);
    model->runtime_vcpu.system_percent = percent(has_runtime, system);
}

static void add_bytes(struct ntk_top_bytes *bytes, uint64_t value)
{
    bytes->value += value;
    bytes->present = true;
}

static void add_total(struct ntk_top_bytes *bytes, const struct ntk_memory_total *total,
                      bool *is_unreported)
{
    bytes->value += total->bytes;
    bytes->estimated = bytes->estimated || total->estimated;
    *is_unreported = *is_unreported || !total->known;
}

/* Computes sums of reported values: a sum is unknown if there are none and an application does not
 * report. */
static void project_memory(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    struct ntk_top_memory *memory = &model->memory;
    uint64_t groups[NTK_GROUP_COUNT] = { 0 };
    bool is_unreported[NTK_GROUP_COUNT] = { 0 };
    bool is_host_unreported = false;
    bool is_device_unreported = false;
    bool is_known = ntk_top_model_has_no_application(model);

    memset(memory, 0, sizeof *memory);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        struct ntk_memory_total host;
        struct ntk_memory_total device;

        if (!ntk_top_model_is_in_tab(model, i) || !(runtime->has & NTK_RUNTIME_HAS_MEMORY)) {
            continue;
        }
        is_known = true;
        ntk_snapshot_memory_add(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, groups, NULL, NULL);
        ntk_snapshot_memory_total(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, &host, &device);
        add_total(&memory->host_total, &host, &is_host_unreported);
        add_total(&memory->device_total, &device, &is_device_unreported);
        for (int g = 0; g < NTK_GROUP_COUNT; g++) {
            is_unreported[g] =
                is_unreported[g] || !ntk_snapshot_tells_group(runtime, (enum ntk_memory_group)g);
        }
    }
    memory->host_total.present = is_known && (memory->host_total.value > 0 || !is_host_unreported);
    memory->device_total.present =
        is_known && (memory->device_total.value > 0 || !is_device_unreported);
    for (int g = 0; g < NTK_GROUP_COUNT; g++) {
        enum ntk_top_group group = ntk_top_model_group_of((enum ntk_memory_group)g);

        if (is_known && (groups[g] > 0 || !is_unreported[g])) {
            add_bytes(g <= NTK_GROUP_HOST_TENSORS ? &memory->host[group] : &memory->device[group],
                      groups[g]);
        }
    }
}

/* Returns NULL for a runtime that the tab does not show. */
static const struct ntk_runtime_sample *runtime_in_tab(const struct ntk_top_model *model, size_t i)
{
    return ntk_top_model_is_in_tab(model, i) ? &model->snapshot->runtimes[i] : NULL;
}

/* Notes sums with values that only some applications report. */
static void notice_memory(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    size_t count = 0;
    size_t unreported = 0;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = runtime_in_tab(model, i);

        if (runtime && runtime->has & NTK_RUNTIME_HAS_MEMORY) {
            count++;
            unreported +=
                runtime->hooks != NTK_HOOKS_UNKNOWN && !ntk_snapshot_tells_memory(runtime);
        }
    }
    if (unreported > 0 && unreported < count) {
        (void)snprintf(
            model->notice, sizeof model->notice,
            "%zu of %zu applications report tensors only: their other memory has no category",
            unreported, count);
    }
}

static bool is_uncounted(const struct ntk_runtime_sample *runtime)
{
    return runtime->executions_counted != NTK_EXECUTIONS_ALL;
}

/* Notes facts about an application that are unknown to hooks around another runtime. */
static void notice_hooks(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_runtime_sample *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = runtime_in_tab(model, i);

        if (runtime && (is_uncounted(runtime) || runtime->cores_guessed)) {
            first = first && is_uncounted(first) ? first : runtime;
            count++;
        }
    }
    if (!first) {
        notice_memory(model);
        return;
    }
    int length = snprintf(model->notice, sizeof model->notice, "%s: %s%s%s", first->tag,
                          is_uncounted(first) ? "too many executions to observe" : "",
                          is_uncounted(first) && first->cores_guessed ? ", " : "",
                          first->cores_guessed ? "its core assignment is a guess" : "");
    if (count > 1 && length > 0 && (size_t)length < sizeof model->notice) {
        (void)snprintf(model->notice + length, sizeof model->notice - (size_t)length,
                       " (and %zu more)", count - 1);
    }
}

/* Writes one line, with the most important cause first. */
static void project_notice(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_runtime_sample *selected = ntk_top_model_tab_runtime(model);
    const struct ntk_runtime_sample *first = NULL;
    size_t count = 0;

    model->notice[0] = '\0';
    if (model->note[0]) {
        ntk_str_copy(model->notice, sizeof model->notice, model->note);
        return;
    }
    if (snapshot->hardware.error[0]) {
        ntk_str_copy(model->notice, sizeof model->notice, snapshot->hardware.error);
        return;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = runtime_in_tab(model, i);

        if (runtime && runtime->error[0]) {
            first = first ? first : runtime;
            count++;
        }
    }
    if (count > 1) {
        (void)snprintf(model->notice, sizeof model->notice, "%s: %s (and %zu more)", first->tag,
                       first->error, count - 1);
    } else if (count == 1) {
        (void)snprintf(model->notice, sizeof model->notice, "%s: %s", first->tag, first->error);
    } else if (selected && selected->cpu_error[0]) {
        (void)snprintf(model->notice, sizeof model->notice, "no CPU time for %s: %s", selected->tag,
                       selected->cpu_error);
    } else if (snapshot->system.cpu_error[0]) {
        (void)snprintf(model->notice, sizeof model->notice, "no CPU time for the machine: %s",
                       snapshot->system.cpu_error);
    } else {
        notice_hooks(model);
    }
}

static int project_list(struct ntk_top_model *model, enum ntk_top_view_id id)
{
    const struct ntk_top_view *view = model->views[id];
    struct ntk_top_table *table = &model->tables[id];
    int ret;

    if (!view || !view->project || !model->snapshot) {
        return 0;
    }
    ntk_top_table_begin(table);
    ret = view->project(model, table);
    return ret < 0 ? ret : ntk_top_table_end(table);
}

/* Projects the list or the tree of the open view. */
static int project_view(struct ntk_top_model *model)
{
    int ret;

    if (model->view != NTK_TOP_VIEW_TREE) {
        return project_list(model, model->view);
    }
    ret = ntk_top_model_tree_collect(model);
    return ret < 0 ? ret : ntk_top_model_tree_build(model);
}

/* Projects all data that depends on the tab. */
static int project(struct ntk_top_model *model)
{
    if (!model->snapshot) {
        return 0;
    }
    project_cores(model);
    project_vcpu(model);
    project_memory(model);
    project_notice(model);
    ntk_top_model_alerts_project(model);
    return project_view(model);
}

static int update_tabs(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    bool had_application = model->tab_index > 0;
    struct ntk_top_tab all = { .is_all = true, .tag = "all" };

    ntk_vec_clear(&model->tabs);
    model->tab_index = 0; /* its application is gone: back to all */
    if (ntk_vec_push(&model->tabs, &all) < 0) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        struct ntk_top_tab *tab = ntk_vec_add(&model->tabs);

        if (!tab) {
            return -ENOMEM;
        }
        tab->runtime_index = i;
        tab->ended = runtime->ended;
        ntk_str_copy_clean(tab->tag, sizeof tab->tag, runtime->tag, strlen(runtime->tag));
        if (had_application && runtime->start_time == model->tab_start_time &&
            runtime->header_pid == model->tab_pid) {
            model->tab_index = i + 1;
        }
    }
    return 0;
}

void ntk_top_model_set_note(struct ntk_top_model *model, const char *note)
{
    if (strncmp(model->note, note, sizeof model->note - 1) != 0) {
        ntk_str_copy(model->note, sizeof model->note, note);
        if (model->snapshot) {
            project_notice(model);
        }
    }
}

static int take(struct ntk_top_model *model, const struct ntk_snapshot *snapshot, bool is_new,
                struct ntk_err *err)
{
    int ret;

    /* Leaves and rows borrow names from their snapshot. */
    ntk_vec_clear(&model->items);
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        ntk_top_table_begin(&model->tables[i]);
    }
    ntk_snapshot_destroy(ntk_top_model_look_at(model, snapshot));
    ret = update_tabs(model);
    if (ret == 0) {
        ret = project_machine(model);
    }
    if (ret == 0 && is_new) {
        ntk_top_model_return_to_now(model);
        ret = ntk_top_model_watch(model);
    }
    if (ret == 0) {
        ret = project(model);
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory") : 0;
}

int ntk_top_model_update(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err)
{
    return take(model, snapshot, true, err);
}

int ntk_top_model_show(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                       struct ntk_err *err)
{
    return take(model, snapshot, false, err);
}

void ntk_top_model_select_tab(struct ntk_top_model *model, size_t index)
{
    model->tab_index = index;
    if (index > 0) {
        const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);

        model->tab_start_time = runtime->start_time;
        model->tab_pid = runtime->header_pid;
    }
    (void)project(model); /* out of memory: the tree is shorter until the next snapshot */
}

const struct ntk_runtime_sample *ntk_top_model_selected(const struct ntk_top_model *model)
{
    const struct ntk_top_table *table = &model->tables[model->view];
    const struct ntk_top_row *row = table->columns ? ntk_top_table_cursor_get(table) : NULL;
    size_t tab = row && row->tab > 0 ? row->tab : model->tab_index;

    if (model->page.is_open) {
        return ntk_top_model_page_find(model).runtime;
    }
    return model->snapshot && tab > 0 && tab <= model->snapshot->runtime_count
               ? &model->snapshot->runtimes[tab - 1]
               : NULL;
}

void ntk_top_model_project_list(struct ntk_top_model *model, enum ntk_top_view_id id)
{
    (void)project_list(model, id); /* out of memory: the list is shorter until the next snapshot */
}

void ntk_top_model_project_view(struct ntk_top_model *model)
{
    (void)project_view(model); /* out of memory: the list is shorter until the next snapshot */
}

/* ---- for views ---- */

void ntk_top_model_set_page(struct ntk_top_model *model, size_t rows)
{
    size_t count = model->nodes.count;

    model->tree_page = rows;
    if (model->cursor_index < model->tree_first) {
        model->tree_first = model->cursor_index;
    } else if (model->cursor_index >= model->tree_first + rows) {
        model->tree_first = model->cursor_index - rows + 1;
    }
    /* There must be no empty rows at the end if rows are scrolled out above. */
    if (model->tree_first + rows > count) {
        model->tree_first = count > rows ? count - rows : 0;
    }
}

const struct ntk_top_node *ntk_top_model_cursor_get(const struct ntk_top_model *model)
{
    return model->cursor_index < model->nodes.count ? ntk_vec_at(&model->nodes, model->cursor_index)
                                                    : NULL;
}

const struct ntk_top_tab *ntk_top_model_tab_get(const struct ntk_top_model *model)
{
    return ntk_vec_at(&model->tabs, model->tab_index);
}

bool ntk_top_model_core_find(const struct ntk_top_model *model, uint32_t logical,
                             struct ntk_core_sample *out)
{
    return find_core(model, ntk_top_model_tab_runtime(model), logical, out);
}

bool ntk_top_model_core_find_of_all(const struct ntk_top_model *model, uint32_t logical,
                                    struct ntk_core_sample *out)
{
    return find_core(model, NULL, logical, out);
}

bool ntk_top_model_device_has(const struct ntk_top_model *model,
                              const struct ntk_runtime_sample *runtime, uint32_t device)
{
    uint32_t first = ntk_core_number(device, model->cores_per_device, 0);

    for (uint32_t c = 0; c < model->cores_per_device; c++) {
        if (ntk_top_model_core_of(model, runtime, first + c)) {
            return true;
        }
    }
    return false;
}

struct ntk_top_number ntk_top_model_device_busy(const struct ntk_top_model *model, uint32_t device)
{
    uint32_t first = ntk_core_number(device, model->cores_per_device, 0);
    const struct ntk_runtime_sample *runtime = ntk_top_model_tab_runtime(model);
    const struct ntk_top_core *cores = &model->cores[first];
    struct ntk_top_number mean = { 0, false, false };
    uint32_t known = 0;
    bool has_own = runtime && ntk_top_model_device_has(model, runtime, device);

    for (uint32_t c = 0; c < model->cores_per_device; c++) {
        bool is_other = has_own && !ntk_top_model_core_of(model, runtime, first + c);

        if (cores[c].busy_percent.present && !is_other) {
            mean.value += cores[c].busy_percent.value;
            mean.estimated = mean.estimated || cores[c].busy_percent.estimated;
            known++;
        }
    }
    mean.present = known > 0;
    mean.value = known > 0 ? mean.value / known : 0;
    return mean;
}

const struct ntk_core_sample *ntk_top_model_core_of(const struct ntk_top_model *model,
                                                    const struct ntk_runtime_sample *runtime,
                                                    uint32_t logical)
{
    for (size_t c = 0; c < runtime->core_count; c++) {
        if (runtime->cores[c].core / model->lnc == logical) {
            return &runtime->cores[c];
        }
    }
    return NULL;
}
