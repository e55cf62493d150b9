/* SPDX-License-Identifier: MIT */
/*
 * report_json - writes a snapshot as one line of neuron-monitor's JSON, and reads it; see
 * report_json.h.
 *
 * A line may come from the vendor's tool, from an older or newer one of ours, or from an attacker:
 * a key with an unexpected type counts as absent, tables have bounds, and the result always
 * satisfies the rules in snapshot.h.
 */
#include "shared/report/report_json.h"

#include <errno.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/report/report_part.h"

#define AT(member) .offset = offsetof(struct ntk_snapshot, member)
const struct report_field report_fields_time[] = {
    REPORT_ROW("time_ns", REPORT_U64, AT(realtime_ns)),
    REPORT_ROW("sequence", REPORT_U64, AT(sequence)),
    REPORT_END,
};
#undef AT

static const struct {
    const char *name;
    enum ntk_report_omit omit;
} omit_names[] = {
    { "loaded_models", NTK_REPORT_OMIT_LOADED_MODELS },
    { "neuron_ext", NTK_REPORT_OMIT_EXT },
    { "usage_breakdown", NTK_REPORT_OMIT_USAGE_BREAKDOWN },
    { "usage_data", NTK_REPORT_OMIT_USAGE_DATA },
    { "v3d", NTK_REPORT_OMIT_PHYSICAL_CORES },
};

int ntk_report_omit_parse(const char *list, unsigned int *out_omit, struct ntk_err *err)
{
    enum { NAMES = sizeof omit_names / sizeof *omit_names };
    unsigned int omit = 0;
    uint32_t bits;
    const char *bad = ntk_str_parse_names(list, omit_names, sizeof *omit_names, NAMES, &bits);

    if (bad) {
        return ntk_err_set(err, -EINVAL, (uint64_t)(bad - list),
                           "expected loaded_models, neuron_ext, usage_breakdown, usage_data or "
                           "v3d, separated by commas");
    }
    for (size_t i = 0; i < NAMES; i++) {
        omit |= bits & 1u << i ? omit_names[i].omit : 0u;
    }
    *out_omit = omit;
    return 0;
}

/* -- writing ----------------------------------------------------------------------------------- */

static void write_report(struct report_writer *w, struct ntk_buf *out)
{
    ntk_json_init(&w->json, out, w->options->pretty);
    ntk_json_object_begin(&w->json);
    ntk_json_key_array_begin(&w->json, "neuron_runtime_data");
    for (size_t i = 0; i < w->snapshot->runtime_count; i++) {
        report_write_runtime(w, &w->snapshot->runtimes[i]);
    }
    ntk_json_array_end(&w->json);
    report_write_system(w);
    report_write_instance(w);
    report_write_hardware(w);
    report_write_k8s(w);
    if (w->extended) {
        report_write_machine_ext(w);
    }
    if (w->options->timestamps) {
        report_write_fields(w, report_fields_time, w->snapshot);
    }
    ntk_json_object_end(&w->json);
    ntk_buf_add_char(out, '\n');
}

int ntk_report_write(const struct ntk_snapshot *snapshot, const struct ntk_report_options *options,
                     struct ntk_buf *out, bool *out_cut)
{
    struct report_writer w = { .snapshot = snapshot,
                               .options = options,
                               .extended = !options->vendor_only &&
                                           !(options->omit & NTK_REPORT_OMIT_EXT) };
    size_t before = out->bytes_count;
    bool cut = false;

    write_report(&w, out);
    if (w.extended && !options->pretty && options->line_bytes_max > 0 &&
        out->bytes_count - before > options->line_bytes_max) {
        out->bytes_count = before;
        w.extended = false;
        cut = true;
        write_report(&w, out);
    }
    if (!ntk_buf_ok(out)) {
        return -ENOMEM;
    }
    if (out_cut) {
        *out_cut = cut;
    }
    return 0;
}

/* -- sums that are not in the line
 * -------------------------------------------------------------- */

static void add_count(struct ntk_count *to, struct ntk_count from)
{
    to->period += from.period;
    to->total += from.total;
}

static void add_core(struct ntk_snapshot *snapshot, struct ntk_core_sample *to,
                     const struct ntk_core_sample *from)
{
    struct ntk_core_sample *part =
        from->unwatched ? ntk_snapshot_alloc(snapshot, 1, sizeof *part) : NULL;

    ntk_snapshot_add_core(to, from);
    to->utilization = report_clamp_ratio(to->utilization);
    if (part) {
        part->core = to->core;
        if (to->unwatched) {
            *part = *to->unwatched;
        }
        ntk_snapshot_add_core(part, from->unwatched);
        to->unwatched = part;
    }
}

/* Returns true if the line contains the work of the cores: the group may not be due. */
static bool tells_cores(const struct ntk_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        if (snapshot->runtimes[i].has & NTK_RUNTIME_HAS_CORES) {
            return true;
        }
    }
    return snapshot->runtime_count == 0;
}

/* Clears the idle state of cores: the software machine does not count the work of a core for
 * another runtime, so the core may be busy. */
static void forget_idle(struct ntk_snapshot *snapshot, const struct ntk_runtime_sample *runtime)
{
    for (size_t k = 0; k < runtime->core_count && !runtime->software; k++) {
        if (runtime->cores[k].core < snapshot->core_count) {
            snapshot->cores[runtime->cores[k].core].has = 0;
        }
    }
}

/* Computes the machine's cores by number and its outcomes, as sums over the runtimes. */
static void sum_runtimes(struct ntk_snapshot *snapshot, const json_t *ext)
{
    const struct ntk_hardware *hardware = &snapshot->hardware;
    size_t machine = report_bounded((size_t)hardware->device_count * hardware->cores_per_device,
                                    REPORT_CORES_MAX);
    uint32_t has = hardware->software && tells_cores(snapshot) ? NTK_CORE_HAS_IDLE : 0u;
    struct ntk_core_sample *given = NULL;
    size_t given_count = 0;

    snapshot->cores = ntk_snapshot_alloc(snapshot, machine, sizeof *snapshot->cores);
    snapshot->core_count = snapshot->cores ? machine : 0;
    for (size_t i = 0; i < snapshot->core_count; i++) {
        snapshot->cores[i].core = (uint32_t)i;
        snapshot->cores[i].has = has;
    }
    if (report_get_object(ext, "neuroncores")) {
        given_count =
            report_read_ext_cores(snapshot, report_get_object(ext, "neuroncores"), &given);
    }
    for (size_t i = 0; i < given_count; i++) {
        if (given[i].core < snapshot->core_count) {
            snapshot->cores[given[i].core] = given[i];
        }
    }
    for (size_t i = 0; i < snapshot->runtime_count && given_count == 0; i++) {
        forget_idle(snapshot, &snapshot->runtimes[i]);
    }
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        for (int k = 0; k < NTK_OUTCOME_COUNT; k++) {
            add_count(&snapshot->outcome[k], runtime->outcome[k]);
        }
        for (int k = 0; k < NTK_ERROR_CLASS_COUNT; k++) {
            add_count(&snapshot->error_class[k], runtime->error_class[k]);
        }
        for (size_t k = 0; k < runtime->core_count && given_count == 0; k++) {
            if (runtime->cores[k].core < snapshot->core_count) {
                add_core(snapshot, &snapshot->cores[runtime->cores[k].core], &runtime->cores[k]);
            }
        }
    }
}

/* -- reading ----------------------------------------------------------------------------------- */

static uint64_t longer(uint64_t longest_ns, const json_t *group)
{
    uint64_t ns = report_get_period_ns(group);

    return ns != NTK_GROUP_ABSENT && ns > longest_ns ? ns : longest_ns;
}

/* The snapshot's period if our part does not contain it: the longest period of any group. */
static uint64_t longest_period(const json_t *root)
{
    const json_t *runtimes = report_get_array(root, "neuron_runtime_data");
    const json_t *system = report_get_object(root, "system_data");
    uint64_t longest = 0;

    for (int i = 0; i < NTK_SYSTEM_GROUP_COUNT; i++) {
        longest = longer(longest, report_get_object(system, ntk_system_group_names[i]));
    }
    for (size_t i = 0; i < json_array_size(runtimes) && i < REPORT_RUNTIMES_MAX; i++) {
        const json_t *report = report_get_object(json_array_get(runtimes, i), "report");
        for (int k = 0; k < NTK_RUNTIME_GROUP_COUNT; k++) {
            longest = longer(longest, report_get_object(report, ntk_runtime_group_names[k]));
        }
    }
    return longest;
}

static void read_report(struct ntk_snapshot *snapshot, const json_t *root)
{
    const json_t *runtimes = report_get_array(root, "neuron_runtime_data");
    const json_t *ext = report_get_object(root, "neuron_ext");

    report_read_machine_ext(snapshot, ext);
    report_read_fields(snapshot, root, report_fields_time, snapshot);
    if (!report_has(ext, "period_ns")) {
        snapshot->period_ns = longest_period(root);
    }
    report_read_hardware(snapshot, report_get_object(root, "neuron_hardware_info"), ext);
    report_read_instance(snapshot, report_get_object(root, "instance_info"));
    report_read_k8s(snapshot, report_get_object(root, "neuron_k8s_info"));
    report_read_system(snapshot, report_get_object(root, "system_data"), ext);
    ntk_snapshot_alloc_runtimes(snapshot,
                                report_bounded(json_array_size(runtimes), REPORT_RUNTIMES_MAX));
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        report_read_runtime(snapshot, &snapshot->runtimes[i], json_array_get(runtimes, i));
    }
    sum_runtimes(snapshot, ext);
}

int ntk_report_read(const char *line, size_t line_bytes, struct ntk_snapshot **out_snapshot,
                    struct ntk_err *err)
{
    json_error_t at;

    if (line_bytes > NTK_REPORT_READ_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "a line of %zu bytes is not a report",
                           line_bytes);
    }
    json_t *root = json_loadb(line, line_bytes, 0, &at);
    if (!root) {
        return ntk_err_set(err, -EBADMSG, at.position < 0 ? 0 : (uint64_t)at.position,
                           "invalid JSON: %s", at.text);
    }
    if (!json_is_object(root) ||
        (!report_has(root, "neuron_runtime_data") && !report_has(root, "system_data"))) {
        json_decref(root);
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                           "JSON, but not a neuron-monitor report");
    }
    struct ntk_snapshot *snapshot = ntk_snapshot_create();
    if (snapshot) {
        read_report(snapshot, root);
    }
    json_decref(root);
    if (!snapshot || !ntk_snapshot_ok(snapshot)) {
        ntk_snapshot_destroy(snapshot);
        return ntk_err_no_memory(err);
    }
    *out_snapshot = snapshot;
    return 0;
}
