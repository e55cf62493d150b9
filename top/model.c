/* SPDX-License-Identifier: MIT */
/* model - the last snapshot, projected to the selected tab; what the user's actions change. */
#include "top/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "top/model_errors.h"
#include "top/model_graphs.h"
#include "top/model_tree.h"

#define CORES_PER_DEVICE_MAX 64

int ntk_top_model_create(struct ntk_top_model **out_model, struct ntk_err *err)
{
    struct ntk_top_model *model = calloc(1, sizeof *model);
    struct ntk_top_tab all = { .is_all = true, .tag = "all" };

    if (!model) {
        return ntk_err_no_memory(err);
    }
    model->version = NTK_VERSION;
    ntk_vec_init(&model->tabs, sizeof(struct ntk_top_tab));
    ntk_vec_init(&model->nodes, sizeof(struct ntk_top_node));
    ntk_top_model_tree_init(model);
    ntk_top_model_graphs_init(&model->graphs);
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view *view = ntk_top_views_get((enum ntk_top_view_id)i);

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
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        ntk_top_table_fini(&model->tables[i]);
    }
    ntk_top_event_log_fini(&model->events);
    ntk_top_model_graphs_fini(&model->graphs);
    ntk_top_model_errors_fini(&model->errors);
    ntk_vec_fini(&model->tabs);
    ntk_vec_fini(&model->nodes);
    ntk_vec_fini(&model->items);
    ntk_map_fini(&model->exceptions);
    free(model->cores);
    free(model);
}

/* ---- projection ---- */

/* NULL in the tab of all applications. */
static const struct ntk_runtime_sample *selected_runtime(const struct ntk_top_model *model)
{
    const struct ntk_top_tab *tab = ntk_top_model_tab_get(model);

    return tab->is_all ? NULL : &model->snapshot->runtimes[tab->runtime_index];
}

bool ntk_top_model_is_in_tab(const struct ntk_top_model *model, size_t runtime_index)
{
    const struct ntk_top_tab *tab = ntk_top_model_tab_get(model);

    return tab->is_all || tab->runtime_index == runtime_index;
}

/* Without a device tree, the machine that the applications say they run on. */
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
        }
    }
    if (!instance_type[0]) {
        instance_type = model->snapshot->instance.type;
    }
    lnc = lnc > 0 ? lnc : 1;
    cores_per_device /= lnc;
    /* A snapshot may come from elsewhere. */
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
    model->core_peak_flops = peak_flops * lnc;
    model->device_count = device_count;
    model->cores_per_device = cores_per_device;
    ntk_str_copy(model->instance_id, sizeof model->instance_id, model->snapshot->instance.id);
    ntk_str_copy(model->instance_type, sizeof model->instance_type, instance_type);
    ntk_str_copy(model->core_version, sizeof model->core_version, core_version);
    return 0;
}

/* What is known of a logical core: of the selected application, or of all. */
static bool find_core(const struct ntk_top_model *model, const struct ntk_runtime_sample *runtime,
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
        if (find_core(model, &snapshot->runtimes[i], logical, out)) {
            return true;
        }
    }
    return false;
}

/* Cores that are not the application's are known to do nothing for it, as far as its own cores are measured. */
static uint32_t told_of_cores(const struct ntk_runtime_sample *runtime)
{
    uint32_t told = 0;

    for (size_t i = 0; i < runtime->core_count; i++) {
        told |= runtime->cores[i].has;
    }
    return told;
}

/* When every application of a report tells of its cores, the others do nothing. */
static uint32_t told_of_idle_cores(const struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    uint32_t told = NTK_CORE_HAS_BUSY;

    if (!model->is_report || !(snapshot->hardware.has & NTK_HARDWARE_HAS_DEVICES)) {
        return 0;
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        uint32_t own = told_of_cores(runtime);

        if (runtime->error[0] || !(own & NTK_CORE_HAS_BUSY)) {
            return 0;
        }
        told |= own;
    }
    return told;
}

static void project_cores(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_runtime_sample *runtime = selected_runtime(model);
    size_t count = (size_t)model->device_count * model->cores_per_device;
    double busy = 0;
    double teraflops = 0;
    size_t busy_count = 0;
    size_t teraflops_count = 0;
    uint32_t known =
        ntk_top_model_tab_get(model)->is_all ? told_of_idle_cores(model) : told_of_cores(runtime);

    for (size_t i = 0; i < count; i++) {
        struct ntk_top_core *core = &model->cores[i];
        struct ntk_core_sample sample;

        if (!find_core(model, runtime, (uint32_t)i, &sample) || sample.has == 0) {
            sample = (struct ntk_core_sample){ .has = known };
        }
        core->busy_percent.present = (sample.has & NTK_CORE_HAS_BUSY) != 0;
        core->busy_percent.value = 100 * sample.utilization;
        core->teraflops.present = (sample.has & NTK_CORE_HAS_EFFECTIVE_FLOPS) != 0;
        core->teraflops.value = ntk_snapshot_rate(snapshot, sample.effective_flops) / 1e12;
        if (core->busy_percent.present) {
            busy += core->busy_percent.value;
            busy_count++;
        }
        if (core->teraflops.present) {
            teraflops += core->teraflops.value;
            teraflops_count++;
        }
    }
    model->busy_percent_mean.present = busy_count > 0;
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

bool ntk_top_model_is_nobody_there(const struct ntk_top_model *model)
{
    const struct ntk_hardware *hardware = &model->snapshot->hardware;

    return model->snapshot->runtime_count == 0 && !model->is_partial &&
           (hardware->software || hardware->device_count == 0);
}

static void project_vcpu(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    bool has_system = (snapshot->system.has & NTK_SYSTEM_HAS_CPU) != 0;
    bool has_runtime = ntk_top_model_is_nobody_there(model); /* nobody uses nothing */
    double user = 0;
    double system = 0;

    model->system_vcpu.user_percent = percent(has_system, snapshot->system.average[NTK_CPU_USER]);
    model->system_vcpu.system_percent =
        percent(has_system, snapshot->system.average[NTK_CPU_SYSTEM]);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        if (ntk_top_model_is_in_tab(model, i) && (runtime->has & NTK_RUNTIME_HAS_CPU)) {
            has_runtime = true;
            user += runtime->cpu_user;
            system += runtime->cpu_system;
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

static void project_memory(struct ntk_top_model *model)
{
    static const uint64_t nothing[NTK_GROUP_COUNT];
    const struct ntk_snapshot *snapshot = model->snapshot;
    struct ntk_top_memory *memory = &model->memory;

    memset(memory, 0, sizeof *memory);
    for (size_t i = 0; i <= snapshot->runtime_count; i++) {
        uint64_t groups[NTK_GROUP_COUNT];
        const uint64_t *add = groups;

        if (i == snapshot->runtime_count) {
            if (!ntk_top_model_is_nobody_there(model)) {
                break;
            }
            add = nothing;
        } else {
            const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

            if (!ntk_top_model_is_in_tab(model, i) || !(runtime->has & NTK_RUNTIME_HAS_MEMORY)) {
                continue;
            }
            ntk_snapshot_memory_sum(runtime, NTK_MEMORY_ANY, NTK_MEMORY_ANY, groups, NULL, NULL);
        }
        for (int g = 0; g < NTK_GROUP_COUNT; g++) {
            enum ntk_top_group group = ntk_top_model_group_of((enum ntk_memory_group)g);

            if (g <= NTK_GROUP_HOST_TENSORS) {
                add_bytes(&memory->host[group], add[g]);
                add_bytes(&memory->host_total, add[g]);
            } else {
                add_bytes(&memory->device[group], add[g]);
                add_bytes(&memory->device_total, add[g]);
            }
        }
    }
}

/* One line, the cause that hides most first. */
static void project_notice(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    const struct ntk_runtime_sample *selected = selected_runtime(model);
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
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        if (ntk_top_model_is_in_tab(model, i) && runtime->error[0]) {
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
        (void)snprintf(model->notice, sizeof model->notice, "no CPU time of %s: %s", selected->tag,
                       selected->cpu_error);
    } else if (snapshot->system.cpu_error[0]) {
        (void)snprintf(model->notice, sizeof model->notice, "no CPU time of the machine: %s",
                       snapshot->system.cpu_error);
    }
}

/* The list of the open view. */
static int project_view(struct ntk_top_model *model)
{
    const struct ntk_top_view *view = ntk_top_views_get(model->view);
    struct ntk_top_table *table = &model->tables[model->view];
    int ret;

    if (!view || !view->project || !model->snapshot) {
        return 0;
    }
    ntk_top_table_begin(table);
    ret = view->project(model, table);
    return ret < 0 ? ret : ntk_top_table_end(table);
}

/* Everything that depends on the tab. */
static int project(struct ntk_top_model *model)
{
    int ret;

    if (!model->snapshot) {
        return 0;
    }
    project_cores(model);
    project_vcpu(model);
    project_memory(model);
    project_notice(model);
    ret = ntk_top_model_tree_collect(model);
    if (ret == 0) {
        ret = ntk_top_model_tree_build(model);
    }
    return ret < 0 ? ret : project_view(model);
}

static int update_tabs(struct ntk_top_model *model)
{
    const struct ntk_snapshot *snapshot = model->snapshot;
    bool had_application = model->tab_index > 0;
    struct ntk_top_tab all = { .is_all = true, .tag = "all" };

    ntk_vec_clear(&model->tabs);
    model->tab_index = 0; /* of an application that is gone: back to all */
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

/* The views see the snapshot that the model has now. */
static int observe(struct ntk_top_model *model)
{
    int ret = 0;

    for (int i = 0; ret == 0 && i < NTK_TOP_VIEW_COUNT; i++) {
        const struct ntk_top_view *view = ntk_top_views_get((enum ntk_top_view_id)i);

        ret = view && view->observe ? view->observe(model) : 0;
    }
    return ret;
}

int ntk_top_model_observe(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                          struct ntk_err *err)
{
    const struct ntk_snapshot *shown = model->snapshot;
    int ret;

    model->snapshot = snapshot;
    ret = observe(model);
    model->snapshot = shown;
    ntk_snapshot_destroy(snapshot);
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory") : 0;
}

int ntk_top_model_update(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err)
{
    const struct ntk_snapshot *old = model->snapshot;
    int ret;

    /* Leaves and rows borrow names from the snapshot they were made of. */
    ntk_vec_clear(&model->items);
    for (int i = 0; i < NTK_TOP_VIEW_COUNT; i++) {
        ntk_top_table_begin(&model->tables[i]);
    }
    model->snapshot = snapshot;
    ntk_snapshot_destroy(old);
    ret = update_tabs(model);
    if (ret == 0) {
        ret = project_machine(model);
    }
    if (ret == 0) {
        ret = observe(model);
    }
    if (ret == 0) {
        ret = project(model);
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory") : 0;
}

/* ---- actions ---- */

static void select_tab(struct ntk_top_model *model, size_t index)
{
    model->tab_index = index;
    if (index > 0) {
        const struct ntk_runtime_sample *runtime = selected_runtime(model);

        model->tab_start_time = runtime->start_time;
        model->tab_pid = runtime->header_pid;
    }
    (void)project(model); /* without memory the tree is shorter until the next snapshot */
}

static void set_expanded(struct ntk_top_model *model, const struct ntk_top_node *node,
                         bool expanded)
{
    ntk_top_model_tree_set_cursor(model, model->cursor_index);
    ntk_top_model_tree_set_expanded(model, node->key, expanded);
    (void)ntk_top_model_tree_build(model);
}

static void collapse(struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);
    size_t parent;

    if (!node) {
        return;
    }
    if (node->is_expanded) {
        set_expanded(model, node, false);
        return;
    }
    parent = ntk_top_model_tree_parent(model, model->cursor_index);
    if (parent != SIZE_MAX) {
        ntk_top_model_tree_set_cursor(model, parent);
    }
}

static void expand(struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);

    if (!node || !node->can_expand) {
        return;
    }
    if (node->is_expanded) {
        ntk_top_model_tree_set_cursor(model, model->cursor_index + 1);
    } else {
        set_expanded(model, node, true);
    }
}

static void toggle(struct ntk_top_model *model)
{
    const struct ntk_top_node *node = ntk_top_model_cursor_get(model);

    if (node && node->can_expand) {
        set_expanded(model, node, !node->is_expanded);
    }
}

void ntk_top_model_expand_all(struct ntk_top_model *model, bool expanded)
{
    model->expanded_by_default = expanded;
    ntk_map_fini(&model->exceptions);
    memset(&model->exceptions, 0, sizeof model->exceptions);
    (void)ntk_top_model_tree_build(model);
}

/* Collapses when nothing is left to expand. */
static void toggle_all(struct ntk_top_model *model)
{
    bool is_all_expanded = true;

    ntk_vec_each(struct ntk_top_node, node, &model->nodes) {
        is_all_expanded = is_all_expanded && (!node->can_expand || node->is_expanded);
    }
    model->has_opened_first = true;
    ntk_top_model_expand_all(model, !is_all_expanded);
}

static size_t page_of(const struct ntk_top_model *model)
{
    return model->tree_page > 1 ? model->tree_page - 1 : 1;
}

/* With the help page open, keys move or close it and do nothing else, so that nothing changes unseen. */
static enum ntk_top_result act_on_help(struct ntk_top_model *model, enum ntk_top_action action)
{
    size_t page = model->help_page > 1 ? model->help_page : 1;

    switch (action) {
    case NTK_TOP_ACTION_NONE:
        return NTK_TOP_NOTHING;
    case NTK_TOP_ACTION_CURSOR_UP:
        model->help_first -= model->help_first > 0;
        break;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        model->help_first++;
        break;
    case NTK_TOP_ACTION_PAGE_UP:
        model->help_first -= model->help_first < page ? model->help_first : page;
        break;
    case NTK_TOP_ACTION_PAGE_DOWN:
        model->help_first += page;
        break;
    default:
        model->with_help = false;
        break;
    }
    return NTK_TOP_REDRAW;
}

/* ---- views ---- */

void ntk_top_model_project_view(struct ntk_top_model *model)
{
    (void)project_view(model); /* without memory the list is shorter until the next snapshot */
}

void ntk_top_model_set_view(struct ntk_top_model *model, enum ntk_top_view_id view)
{
    model->view = view;
    model->wants_events = model->wants_events || view == NTK_TOP_VIEW_EVENTS;
    ntk_top_model_project_view(model);
}

bool ntk_top_model_key(struct ntk_top_model *model, int key)
{
    return !model->with_help && !ntk_top_model_has_settings_open(model) &&
           ntk_top_table_key(&model->tables[model->view], key);
}

/* The application of the selected row in all views, or all applications again. */
static void follow(struct ntk_top_model *model)
{
    const struct ntk_top_row *row = ntk_top_table_cursor_get(&model->tables[model->view]);

    if (row && row->tab > 0 && row->tab < model->tabs.count) {
        select_tab(model, row->tab == model->tab_index ? 0 : row->tab);
    }
}

/* What actions mean in every view but the first. False: what they mean everywhere. */
static bool act_on_view(struct ntk_top_model *model, enum ntk_top_action action, int argument)
{
    const struct ntk_top_view *view = ntk_top_views_get(model->view);
    struct ntk_top_table *table = &model->tables[model->view];

    if (view->act && view->act(model, (int)action, argument)) {
        return true;
    }
    if (table->columns && ntk_top_table_act(table, (int)action, argument)) {
        return true;
    }
    switch (action) {
    case NTK_TOP_ACTION_TOGGLE:
        follow(model);
        return true;
    case NTK_TOP_ACTION_BACK:
        ntk_top_model_set_view(model, NTK_TOP_VIEW_MAIN);
        return true;
    case NTK_TOP_ACTION_VIEW_NEXT:
        ntk_top_model_set_view(model, (model->view + 1) % NTK_TOP_VIEW_COUNT);
        return true;
    case NTK_TOP_ACTION_VIEW_PREVIOUS:
        ntk_top_model_set_view(model, (model->view + NTK_TOP_VIEW_COUNT - 1) % NTK_TOP_VIEW_COUNT);
        return true;
    case NTK_TOP_ACTION_TAB:
    case NTK_TOP_ACTION_TAB_PREVIOUS:
    case NTK_TOP_ACTION_TAB_NEXT:
    case NTK_TOP_ACTION_VIEW:
    case NTK_TOP_ACTION_HELP:
    case NTK_TOP_ACTION_FLOPS:
        return false;
    default:
        return true; /* keys of the tree, which is not seen */
    }
}

bool ntk_top_model_has_settings_open(const struct ntk_top_model *model)
{
    return model->settings && model->settings->is_open;
}

/* On the page of settings, keys of the tree move and change; others do nothing unseen. */
static void act_on_settings(struct ntk_top_settings *settings, enum ntk_top_action action,
                            int argument)
{
    switch (action) {
    case NTK_TOP_ACTION_CURSOR_UP:
        settings->row -= settings->row > 0;
        break;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        settings->row += settings->row + 1 < NTK_TOP_SETTING_COUNT;
        break;
    case NTK_TOP_ACTION_CURSOR_TO:
        settings->row = (size_t)argument;
        break;
    case NTK_TOP_ACTION_COLLAPSE:
    case NTK_TOP_ACTION_EXPAND:
    case NTK_TOP_ACTION_TOGGLE:
    case NTK_TOP_ACTION_FREEZE: /* the space bar */
        ntk_top_settings_step(settings, (enum ntk_top_setting)settings->row,
                              action == NTK_TOP_ACTION_COLLAPSE ? -1 : 1);
        break;
    case NTK_TOP_ACTION_SETTINGS:
    case NTK_TOP_ACTION_BACK:
        settings->is_open = false;
        break;
    default:
        break;
    }
}

enum ntk_top_result ntk_top_model_act(struct ntk_top_model *model, enum ntk_top_action action,
                                      int argument)
{
    size_t cursor = model->cursor_index;
    size_t tab_count = model->tabs.count;

    if (action == NTK_TOP_ACTION_QUIT) {
        return NTK_TOP_QUIT;
    }
    if (model->with_help) {
        return act_on_help(model, action);
    }
    if (action == NTK_TOP_ACTION_NONE) {
        return NTK_TOP_NOTHING;
    }
    if (ntk_top_model_has_settings_open(model)) {
        act_on_settings(model->settings, action, argument);
        return NTK_TOP_REDRAW;
    }
    if (action == NTK_TOP_ACTION_SETTINGS) {
        if (model->settings) {
            model->settings->is_open = true;
        }
        return NTK_TOP_REDRAW;
    }
    if (model->view != NTK_TOP_VIEW_MAIN && act_on_view(model, action, argument)) {
        return NTK_TOP_REDRAW;
    }
    switch (action) {
    case NTK_TOP_ACTION_VIEW:
        if (argument < 0 || argument >= NTK_TOP_VIEW_COUNT) {
            return NTK_TOP_NOTHING;
        }
        /* The key of the open view leads back. */
        ntk_top_model_set_view(model, (int)model->view == argument
                                          ? NTK_TOP_VIEW_MAIN
                                          : (enum ntk_top_view_id)argument);
        break;
    case NTK_TOP_ACTION_VIEW_NEXT:
        ntk_top_model_set_view(model, (enum ntk_top_view_id)1);
        break;
    case NTK_TOP_ACTION_VIEW_PREVIOUS:
        ntk_top_model_set_view(model, (enum ntk_top_view_id)(NTK_TOP_VIEW_COUNT - 1));
        break;
    case NTK_TOP_ACTION_CURSOR_UP:
        ntk_top_model_tree_set_cursor(model, cursor > 0 ? cursor - 1 : 0);
        break;
    case NTK_TOP_ACTION_CURSOR_DOWN:
        ntk_top_model_tree_set_cursor(model, cursor + 1);
        break;
    case NTK_TOP_ACTION_PAGE_UP:
        ntk_top_model_tree_set_cursor(model, cursor > page_of(model) ? cursor - page_of(model) : 0);
        break;
    case NTK_TOP_ACTION_PAGE_DOWN:
        ntk_top_model_tree_set_cursor(model, cursor + page_of(model));
        break;
    case NTK_TOP_ACTION_CURSOR_FIRST:
        ntk_top_model_tree_set_cursor(model, 0);
        break;
    case NTK_TOP_ACTION_CURSOR_LAST:
        ntk_top_model_tree_set_cursor(model, SIZE_MAX);
        break;
    case NTK_TOP_ACTION_CURSOR_TO:
        ntk_top_model_tree_set_cursor(model, (size_t)argument);
        break;
    case NTK_TOP_ACTION_TOGGLE_AT:
        ntk_top_model_tree_set_cursor(model, (size_t)argument);
        toggle(model);
        break;
    case NTK_TOP_ACTION_COLLAPSE:
        collapse(model);
        break;
    case NTK_TOP_ACTION_EXPAND:
        expand(model);
        break;
    case NTK_TOP_ACTION_TOGGLE:
        toggle(model);
        break;
    case NTK_TOP_ACTION_TOGGLE_ALL:
        toggle_all(model);
        break;
    case NTK_TOP_ACTION_TAB_PREVIOUS:
        select_tab(model, (model->tab_index + tab_count - 1) % tab_count);
        break;
    case NTK_TOP_ACTION_TAB_NEXT:
        select_tab(model, (model->tab_index + 1) % tab_count);
        break;
    case NTK_TOP_ACTION_TAB:
        if (argument < 1 || (size_t)argument > tab_count) {
            return NTK_TOP_NOTHING;
        }
        select_tab(model, (size_t)argument - 1);
        break;
    case NTK_TOP_ACTION_FLOPS:
        model->with_flops = !model->with_flops;
        break;
    case NTK_TOP_ACTION_HELP:
        model->with_help = true;
        model->help_first = 0;
        break;
    case NTK_TOP_ACTION_FREEZE: /* of the source, not of the model */
    case NTK_TOP_ACTION_SETTINGS:
    case NTK_TOP_ACTION_DELAY_LONGER:
    case NTK_TOP_ACTION_DELAY_SHORTER:
    case NTK_TOP_ACTION_REPLAY_BACK:
    case NTK_TOP_ACTION_REPLAY_FORWARD:
    case NTK_TOP_ACTION_REPLAY_JUMP_BACK:
    case NTK_TOP_ACTION_REPLAY_JUMP_FORWARD:
    case NTK_TOP_ACTION_REPLAY_SLOWER:
    case NTK_TOP_ACTION_REPLAY_FASTER:
    case NTK_TOP_ACTION_NONE:
    case NTK_TOP_ACTION_QUIT:
    case NTK_TOP_ACTION_BACK: /* of the other views */
    case NTK_TOP_ACTION_FILTER:
    case NTK_TOP_ACTION_SEARCH:
    case NTK_TOP_ACTION_SEARCH_NEXT:
    case NTK_TOP_ACTION_SEARCH_PREVIOUS:
    case NTK_TOP_ACTION_SORT_NEXT:
    case NTK_TOP_ACTION_SORT_PREVIOUS:
    case NTK_TOP_ACTION_SORT_REVERSE:
    case NTK_TOP_ACTION_COLUMNS:
    case NTK_TOP_ACTION_SORT_BY:
    case NTK_TOP_ACTION_DETAIL:
    case NTK_TOP_ACTION_COLUMN_AT:
    case NTK_TOP_ACTION_SCROLL:
    case NTK_TOP_ACTION_FOLLOW:
    case NTK_TOP_ACTION_SPAN_SHORTER:
    case NTK_TOP_ACTION_SPAN_LONGER:
    case NTK_TOP_ACTION_QUANTITY:
    case NTK_TOP_ACTION_COUNT:
        return NTK_TOP_NOTHING;
    }
    return NTK_TOP_REDRAW;
}

/* ---- what views ask ---- */

void ntk_top_model_set_page(struct ntk_top_model *model, size_t rows)
{
    size_t count = model->nodes.count;

    model->tree_page = rows;
    if (model->cursor_index < model->tree_first) {
        model->tree_first = model->cursor_index;
    } else if (model->cursor_index >= model->tree_first + rows) {
        model->tree_first = model->cursor_index - rows + 1;
    }
    /* No empty rows at the end while there is something above. */
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
    return find_core(model, selected_runtime(model), logical, out);
}

bool ntk_top_model_core_find_of_all(const struct ntk_top_model *model, uint32_t logical,
                                    struct ntk_core_sample *out)
{
    return find_core(model, NULL, logical, out);
}
