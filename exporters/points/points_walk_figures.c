/* SPDX-License-Identifier: MIT */
/* points_walk_figures - visits the figures that are plain members, with a table and one loop. */
#include "exporters/points/points_visit.h"

#include <assert.h>

enum place { PAGE, PROGRAM, TAG, OUTPUT }; /* PROGRAM: on the page, about this process */
enum type { F64, U64, FLAG, ONE };

struct figure {
    size_t family;
    enum place place;
    enum type type;
    size_t at;  /* offset in the struct of the place */
    size_t has; /* offset of a bool in the same struct; 0 if always known */
    /* Visits a point for each of `count` values, with its name in this label; NULL for a single
     * value. */
    const char *label;
    const char *const *names;
    size_t count;
    bool is_of_executions; /* unknown if executions are not counted */
    bool has_created;      /* the vendor's page shows the start time of the application's counter */
};

/* -- rows -------------------------------------------------------------------------------------- */

#define TYPE(value) _Generic((value), double : F64, uint64_t : U64, bool : FLAG)
#define MEMBER(place_, struct_, member)                              \
    .place = place_, .type = TYPE(((struct struct_ *)NULL)->member), \
    .at = offsetof(struct struct_, member)
#define OF_PAGE(symbol, member) .family = NTK_METRIC_##symbol, MEMBER(PAGE, ntk_points_page, member)
#define OF_TAG(symbol, member) .family = NTK_METRIC_##symbol, MEMBER(TAG, ntk_points_tag, member)
#define OF_OUTPUT(symbol, member) \
    .family = NTK_METRIC_##symbol, MEMBER(OUTPUT, ntk_output_counts, member)
#define PAGE_HAS(member) .has = offsetof(struct ntk_points_page, member)
#define TAG_HAS(member) .has = offsetof(struct ntk_points_tag, member)
#define LIST(label_, names_, count_) .label = label_, .names = names_, .count = count_
#define ITEM(label_, name) LIST(label_, ((const char *const[]){ name }), 1)

static const char *const cpu_usages[NTK_POINTS_CPU_USAGES] = { "system", "user" };
static const char *const hardware_kinds[NTK_POINTS_HARDWARE_KINDS] = { "devices", "physical_cores",
                                                                       "logical_cores" };
static const char *const losses[NTK_POINTS_LOSSES] = { "overwritten", "no_ring", "signal" };
#define CPU_USAGES LIST("usage_type", cpu_usages, NTK_POINTS_CPU_USAGES)
#define OUTCOMES LIST("status_type", ntk_outcome_names, NTK_OUTCOME_COUNT)
#define ERRORS LIST("error_type", ntk_error_class_names, NTK_ERROR_CLASS_COUNT)
#define PERCENTILES LIST("percentile", ntk_percentile_names, NTK_PERCENTILE_COUNT)
#define EXECUTIONS TAG_HAS(has_executions), .is_of_executions = true

enum rank_count {
#define NTK_RANK_COUNT(name, ...) RANK_##name,
#include "shared/metrics/rank.def"
};
/* NTK_METRIC_NONE is the number of another family. */
#define FAMILY_OR_NONE(symbol) \
    (NTK_METRIC_##symbol == NTK_METRIC_NONE ? SIZE_MAX : (size_t)NTK_METRIC_##symbol)

/* Names that every client library uses for its process; these families follow the catalogue. */
#define PROCESS_ROWS(ROW)                                                                     \
    ROW(cpu_seconds, SECONDS, COUNTER, "process_cpu_seconds_total",                           \
        "Total user and system CPU time spent in seconds.")                                   \
    ROW(max_fds, COUNT, GAUGE, "process_max_fds", "Maximum number of open file descriptors.") \
    ROW(open_fds, COUNT, GAUGE, "process_open_fds", "Number of open file descriptors.")       \
    ROW(resident_bytes, BYTES, GAUGE, "process_resident_memory_bytes",                        \
        "Resident memory size in bytes.")                                                     \
    ROW(start_seconds, SECONDS, GAUGE, "process_start_time_seconds",                          \
        "Start time of the process since unix epoch in seconds.")                             \
    ROW(virtual_bytes, BYTES, GAUGE, "process_virtual_memory_bytes",                          \
        "Virtual memory size in bytes.")
enum process_row {
#define ROW(member, ...) PROCESS_##member,
    PROCESS_ROWS(ROW)
#undef ROW
};
static const struct ntk_metric_row process_rows[] = {
#define ROW(member, unit, kind, name, help)                                                          \
    {                                                                                                \
        NTK_METRIC_ORIGIN_VENDOR, NTK_METRIC_UNIT_##unit, NTK_METRIC_KIND_##kind, "", name, "", help \
    },
    PROCESS_ROWS(ROW)
#undef ROW
};
static_assert(sizeof process_rows / sizeof *process_rows == NTK_POINTS_PROCESS_FAMILIES,
              "a row for each");

/* clang-format off */
static const struct figure figures[] = {
    { OF_PAGE(SYSTEM_VCPU_COUNT, cpu_count), PAGE_HAS(has_cpu) },
    { OF_PAGE(SYSTEM_VCPU_USAGE, cpu_usage[0]), PAGE_HAS(has_cpu), CPU_USAGES },
    { OF_PAGE(SYSTEM_VCPU_FIELDS, cpu_fields[0]), PAGE_HAS(has_cpu), LIST("usage_type", ntk_cpu_field_names, NTK_CPU_FIELD_COUNT) },
    { .family = NTK_METRIC_INSTANCE_INFO, .place = PAGE, .type = ONE },
    { OF_PAGE(HARDWARE_COUNTS, hardware[0]), PAGE_HAS(has_hardware), LIST("kind", hardware_kinds, NTK_POINTS_HARDWARE_KINDS) },
    { OF_PAGE(EXECUTIONS, outcome[0]), OUTCOMES },
    { OF_PAGE(EXECUTIONS_PARTIAL, is_partial) },
    { OF_PAGE(ERRORS, error_class[0]), ERRORS },
    { OF_PAGE(EVENTS_LOST, events_lost[0]), LIST("cause", losses, NTK_POINTS_LOSSES) },
    { OF_PAGE(EVENTS_READ, events_read) },
    { OF_PAGE(REPORT_AGE, age.seconds), PAGE_HAS(age.is_known) },
    { OF_PAGE(REPORT_PERIOD, age.period_seconds), PAGE_HAS(age.is_known) },
    { OF_PAGE(COLLECT_DURATION, collect_seconds) },

    { .family = NTK_METRIC_BUILD_INFO, .place = PROGRAM, .type = ONE, ITEM("version", NTK_VERSION) },
#define ROW(member, ...) { .family = NTK_METRIC_COUNT + PROCESS_##member, MEMBER(PROGRAM, ntk_points_page, process.member), PAGE_HAS(process.present) },
    PROCESS_ROWS(ROW)
#undef ROW

    { OF_TAG(RUNTIME_VCPU_USAGE, cpu_usage[0]), TAG_HAS(has_cpu), CPU_USAGES },
    { OF_TAG(RUNTIME_MEMORY_USED, host.bytes), TAG_HAS(host.known), ITEM("memory_location", "host") },
    { OF_TAG(RUNTIME_MEMORY_USED, device.bytes), TAG_HAS(device.known), ITEM("memory_location", "neuron_device") },
    { OF_TAG(RUNTIME_RESIDENT, resident_bytes), TAG_HAS(has_resident) },
    { OF_TAG(EXECUTION_ERRORS, error_class[0]), ERRORS, EXECUTIONS, .has_created = true },
    { OF_TAG(EXECUTION_STATUS, outcome[0]), OUTCOMES, EXECUTIONS, .has_created = true },
    { OF_TAG(EXECUTION_LATENCY, percentile_seconds[0]), TAG_HAS(has_percentiles), PERCENTILES, .is_of_executions = true },
    { OF_TAG(DEVICE_LATENCY, device_percentile_seconds[0]), TAG_HAS(has_device_percentiles), PERCENTILES, .is_of_executions = true },
    { OF_TAG(COLLECTIVES, collectives[0]), TAG_HAS(has_ranks), LIST("operation", ntk_collective_names, NTK_COLLECTIVE_COUNT), .has_created = true },
    { OF_TAG(COLLECTIVE_AGE, in_collective_ns), TAG_HAS(has_ranks) },
#define NTK_RANK_COUNT(name, of, reported, stored, metric) { MEMBER(TAG, ntk_points_tag, rank_counts[RANK_##name]), TAG_HAS(has_ranks), .family = FAMILY_OR_NONE(metric) },
#include "shared/metrics/rank.def"

    { OF_OUTPUT(OUTPUT_CUT, cut_items), .has = offsetof(struct ntk_output_counts, has_cut) },
    { OF_OUTPUT(OUTPUT_COMPLETE, complete_ns), .has = offsetof(struct ntk_output_counts, has_complete) },
    { OF_OUTPUT(OUTPUT_FREE, free_bytes), .has = offsetof(struct ntk_output_counts, has_free) },
    { OF_OUTPUT(OUTPUT_ITEMS, lost_items), ITEM("result", "lost") },
    { OF_OUTPUT(OUTPUT_ITEMS, refused_items), ITEM("result", "refused") },
    { OF_OUTPUT(OUTPUT_ITEMS, sent_items), ITEM("result", "sent") },
    { OF_OUTPUT(OUTPUT_RETRIES, retry_count) },
    { OF_OUTPUT(OUTPUT_WAITING, memory_items), ITEM("place", "memory") },
    { OF_OUTPUT(OUTPUT_WAITING, spool_items), ITEM("place", "spool") },
};

/* clang-format on */

const struct ntk_metric_row *points_process_family(size_t i)
{
    return &process_rows[i];
}

/* -- the loop ---------------------------------------------------------------------------------- */

static void put_value(const struct points_visit *v, const struct ntk_points_label *labels,
                      enum type type, const void *values, size_t i)
{
    switch (type) {
    case F64:
        points_put_f64(v, labels, ((const double *)values)[i]);
        break;
    case U64:
        points_put_u64(v, labels, ((const uint64_t *)values)[i]);
        break;
    case FLAG:
        points_put_u64(v, labels, ((const bool *)values)[i]);
        break;
    case ONE:
        points_put_u64(v, labels, 1);
        break;
    }
}

static void put_figure(const struct points_visit *v, const struct figure *figure, const void *base)
{
    const char *bytes = base;

    if (figure->has && !*(const bool *)(bytes + figure->has)) {
        return;
    }
    if (!figure->label) {
        put_value(v, NO_LABELS, figure->type, bytes + figure->at, 0);
    }
    for (size_t i = 0; figure->label && i < figure->count; i++) {
        put_value(v, LABELS({ figure->label, figure->names[i] }), figure->type, bytes + figure->at,
                  i);
    }
}

/* Visits the family's rows of a place, with values at `base`. */
static void put_figures(const struct points_visit *v, size_t family, enum place place,
                        const void *base)
{
    const struct ntk_points_tag *tag = place == TAG ? base : NULL;

    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const struct figure *figure = &figures[i];

        if (figure->family != family || figure->place != place ||
            (figure->is_of_executions && tag->is_uncounted)) {
            continue;
        }
        struct points_visit of_row = *v;
        of_row.began_ns = tag ? tag->began_ns : v->began_ns;
        of_row.created_seconds = figure->has_created ? tag->created_seconds : v->created_seconds;
        put_figure(&of_row, figure, base);
    }
}

static void of_tag(const struct points_visit *v, const struct ntk_points_tag *tag,
                   const void *family)
{
    put_figures(v, *(const size_t *)family, TAG, tag);
}

static bool has_rows(size_t family, enum place place)
{
    size_t i = 0;

    while (i < sizeof figures / sizeof *figures &&
           (figures[i].family != family || figures[i].place != place)) {
        i++;
    }
    return i < sizeof figures / sizeof *figures;
}

void points_figures_walk(const struct points_visit *v, size_t family)
{
    const struct ntk_points_page *page = v->page;
    struct points_visit of_program = *v;

    if (points_is_first(v)) {
        put_figures(v, family, PAGE, page);
    }
    if (has_rows(family, TAG)) {
        points_each_tag(v, of_tag, &family);
    }
    if (!points_is_last(v)) {
        return;
    }
    of_program.is_of_program = true;
    put_figures(&of_program, family, PROGRAM, page);
    for (size_t i = 0; i < page->output_count; i++) {
        struct points_visit of_output = of_program;
        points_share(&of_output, "output", page->outputs[i].name);
        put_figures(&of_output, family, OUTPUT, &page->outputs[i]);
    }
}
