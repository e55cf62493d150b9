/* SPDX-License-Identifier: MIT */
/* tier - which columns a tier has, and how each is merged. */
#include "shared/store/tier.h"

#include "shared/base/clock.h"
#include "shared/store/store_counts.h"

const char *const ntk_tier_names[NTK_STORE_TIER_COUNT] = { "second", "minute", "hour" };
const uint64_t ntk_tier_step_ns[NTK_STORE_TIER_COUNT] = {
    NTK_NS_PER_SECOND,
    60 * NTK_NS_PER_SECOND,
    3600 * NTK_NS_PER_SECOND,
};
const char *const ntk_tier_suffixes[NTK_STORE_TIER_COUNT] = { "_sample", "_minute", "_hour" };
static const char *const families[NTK_FAMILY_COUNT] = {
    [NTK_FAMILY_MACHINE] = "machine",     [NTK_FAMILY_DEVICE] = "device",
    [NTK_FAMILY_PROCESS] = "process",     [NTK_FAMILY_CORE] = "core",
    [NTK_FAMILY_EXECUTION] = "execution", [NTK_FAMILY_MODEL] = "model",
    [NTK_FAMILY_RANK] = "rank",
};

enum merge {
    KEY,
    SUM,
    LARGEST,
    NEWEST,
    HISTOGRAM,
    DERIVED, /* computed from the merged columns */
    /* sums of many columns (store_counts.h): name is the list of them, from the merged one */
    COUNTS,
};

struct column {
    const char *name;
    enum merge merge;
    const char *from; /* of one second's row, the name where NULL; DERIVED: of the merged row */
};

#define P(histogram, percent) "histogram_percentile(" histogram ", " percent ")"
#define VCPU_COLUMNS                                                                       \
    { "vcpu_period_ns", SUM, "CASE WHEN vcpu_user_ratio IS NOT NULL THEN period_ns END" }, \
        { "vcpu_user_ns", SUM, "CAST(vcpu_user_ratio * period_ns AS INTEGER)" },           \
        { "vcpu_system_ns", SUM, "CAST(vcpu_system_ratio * period_ns AS INTEGER)" },       \
    {                                                                                      \
        "vcpu_ratio_max", LARGEST, "vcpu_user_ratio + vcpu_system_ratio"                   \
    }

static const struct column machine_columns[] = {
    { "samples", SUM, "1" },
    { "period_ns", SUM, NULL },
    VCPU_COLUMNS,
    { "memory_used_bytes_max", LARGEST, "memory_used_bytes" },
    { "memory_used_bytes_last", NEWEST, "memory_used_bytes" },
    { "memory_total_bytes", NEWEST, NULL },
    { "swap_used_bytes_max", LARGEST, "swap_used_bytes" },
    { "events_read", SUM, NULL },
    { "events_lost", SUM, NULL },
    { "events_unlisted", SUM, NULL },
    { "context_switches", SUM, NULL },
    { 0 },
};

static const struct column device_columns[] = {
    { "device", KEY, NULL },
    { "samples", SUM, "1" },
    { "memory_used_bytes_max", LARGEST, "memory_used_bytes" },
    { "memory_used_bytes_last", NEWEST, "memory_used_bytes" },
    { "mem_ecc_corrected", SUM, NULL },
    { "mem_ecc_uncorrected", SUM, NULL },
    { "sram_ecc_uncorrected", SUM, NULL },
    { "sram_ecc_corrected", SUM, NULL },
    { "mem_ecc_repairable_uncorrected", SUM, NULL },
    { "power_period_ns", SUM, NULL },
    { "power_ns", SUM, NULL },
    { 0 },
};

static const struct column process_columns[] = {
    { "process_id", KEY, NULL },
    { "samples", SUM, "1" },
    { "period_ns", SUM, NULL },
    VCPU_COLUMNS,
    { "rss_bytes_max", LARGEST, "rss_bytes" },
    { "rss_bytes_last", NEWEST, "rss_bytes" },
    { "host_memory_bytes_max", LARGEST, "host_memory_bytes" },
    { "host_memory_bytes_last", NEWEST, "host_memory_bytes" },
    { "device_memory_bytes_max", LARGEST, "device_memory_bytes" },
    { "device_memory_bytes_last", NEWEST, "device_memory_bytes" },
    { "in_flight_max", LARGEST, "in_flight" },
    { "events_lost", SUM, NULL },
    { 0 },
};

/* Cores are read a little before or after the period's ends: one that was busy for longer than the
 * period was watched for as long. */
#define BUSY_PERIOD "max(period_ns, busy_ns)"

static const struct column core_columns[] = {
    { "process_id", KEY, NULL },
    { "core", KEY, NULL },
    { "samples", SUM, "1" },
    { "period_ns", SUM, NULL },
    { "busy_period_ns", SUM, BUSY_PERIOD },
    { "busy_ratio_max", LARGEST, "1.0 * busy_ns / " BUSY_PERIOD },
    { "{core|, %}", COUNTS, "{core|, add_up(%) AS %}" },
    { "busy_of_calls_ns", SUM, NULL },
    { "in_flight_max", LARGEST, "in_flight" },
    { "busy_total_ns", NEWEST, NULL },
    { 0 },
};

static const struct column execution_columns[] = {
    { "process_id", KEY, NULL },
    { "core", KEY, NULL },
    { "samples", SUM, "1" },
    { "period_ns", SUM, NULL },
    { "{execution|, %}", COUNTS, "{execution|, add_up(%) AS %}" },
    { "latency_p50_ns", DERIVED, P("latency_histogram", "50") },
    { "latency_p99_ns", DERIVED, P("latency_histogram", "99") },
    { "latency_max_ns", LARGEST, NULL },
    { "device_latency_p50_ns", DERIVED, P("device_latency_histogram", "50") },
    { "device_latency_p99_ns", DERIVED, P("device_latency_histogram", "99") },
    { "latency_histogram", HISTOGRAM, NULL },
    { "device_latency_histogram", HISTOGRAM, NULL },
    { 0 },
};

static const struct column model_columns[] = {
    { "process_id", KEY, NULL },
    { "model_id", KEY, NULL },
    { "samples", SUM, "1" },
    { "period_ns", SUM, NULL },
    { "executions", SUM, NULL },
    { "errors", SUM, NULL },
    { "latency_p50_ns", DERIVED, P("latency_histogram", "50") },
    { "latency_p99_ns", DERIVED, P("latency_histogram", "99") },
    { "latency_histogram", HISTOGRAM, NULL },
    { "device_latency_histogram", HISTOGRAM, NULL },
    { 0 },
};

static const struct column rank_columns[] = {
    { "process_id", KEY, NULL }, { "communicator", KEY, NULL }, { "rank", KEY, NULL },
    { "samples", SUM, "1" },     { "period_ns", SUM, NULL },    { "operations", SUM, NULL },
    { "errors", SUM, NULL },     { "moved_bytes", SUM, NULL },  { "in_operations_ns", SUM, NULL },
    { "wait_ns", SUM, NULL },    { "core_busy_ns", SUM, NULL }, { 0 },
};

static const struct column *const columns[NTK_FAMILY_COUNT] = {
    [NTK_FAMILY_MACHINE] = machine_columns,     [NTK_FAMILY_DEVICE] = device_columns,
    [NTK_FAMILY_PROCESS] = process_columns,     [NTK_FAMILY_CORE] = core_columns,
    [NTK_FAMILY_EXECUTION] = execution_columns, [NTK_FAMILY_MODEL] = model_columns,
    [NTK_FAMILY_RANK] = rank_columns,
};

uint64_t ntk_tier_start(enum ntk_store_tier tier, uint64_t time_ns)
{
    uint64_t step_ns = ntk_tier_step_ns[tier];

    return time_ns == 0 ? 0 : (time_ns - 1) / step_ns * step_ns;
}

/* ", name": that name, or the columns of the list. */
static void add_name(struct ntk_buf *sql, const struct column *column, const char *name)
{
    if (column->merge == COUNTS) {
        ntk_store_counts_tell(sql, column->name);
    } else {
        ntk_buf_add_format(sql, ", %s", name);
    }
}

void ntk_tier_add_select(struct ntk_buf *sql, enum ntk_tier_family family, enum ntk_store_tier tier)
{
    ntk_buf_add_text(sql, "SELECT time_ns");
    for (const struct column *column = columns[family]; column->name; column++) {
        if (column->merge == DERIVED) {
            continue;
        }
        if (tier == NTK_STORE_SECOND && column->from && column->merge != COUNTS) {
            ntk_buf_add_format(sql, ", %s AS %s", column->from, column->name);
        } else {
            add_name(sql, column, column->name);
        }
    }
    ntk_buf_add_format(sql, " FROM %s%s", families[family], ntk_tier_suffixes[tier]);
}

static void add_merged(struct ntk_buf *sql, const struct column *column)
{
    static const char *const functions[] = {
        [SUM] = "add_up",
        [LARGEST] = "max",
        [NEWEST] = "newest",
        [HISTOGRAM] = "histogram_merge",
    };

    if (column->merge == KEY) {
        ntk_buf_add_format(sql, ", %s", column->name);
    } else if (column->merge == COUNTS) {
        ntk_store_counts_tell(sql, column->from);
    } else {
        ntk_buf_add_format(sql, ", %s(%s%s) AS %s", functions[column->merge], column->name,
                           column->merge == NEWEST ? ", time_ns" : "", column->name);
    }
}

void ntk_tier_add_merge(struct ntk_buf *sql, enum ntk_tier_family family, enum ntk_store_tier tier)
{
    const struct column *all = columns[family];

    ntk_buf_add_format(sql, "INSERT OR REPLACE INTO %s%s (time_ns", families[family],
                       ntk_tier_suffixes[tier]);
    for (const struct column *column = all; column->name; column++) {
        add_name(sql, column, column->name);
    }
    ntk_buf_add_text(sql, ") SELECT ?2");
    for (const struct column *column = all; column->name; column++) {
        add_name(sql, column, column->merge == DERIVED ? column->from : column->name);
    }
    ntk_buf_add_text(sql, " FROM (SELECT count(*) AS rows");
    for (const struct column *column = all; column->name; column++) {
        if (column->merge != DERIVED) {
            add_merged(sql, column);
        }
    }
    ntk_buf_add_text(sql, " FROM (");
    ntk_tier_add_select(sql, family, (enum ntk_store_tier)(tier - 1));
    ntk_buf_add_text(sql, " WHERE time_ns > ?1 AND time_ns <= ?2)");
    const char *separator = " GROUP BY ";
    for (const struct column *column = all; column->name; column++) {
        if (column->merge == KEY) {
            ntk_buf_add_format(sql, "%s%s", separator, column->name);
            separator = ", ";
        }
    }
    ntk_buf_add_text(sql, ") WHERE rows > 0"); /* machine: a group of its own, even of nothing */
}
