/* SPDX-License-Identifier: MIT */
/*
 * monitor_config - holds the reported groups, their applications and periods.
 *
 * Reads neuron-monitor's configuration file (JSON) or creates the default without a file: every
 * group of every application every 5 s. The result is a table of distinct periods, and for each
 * filter of applications and the system the period of each group.
 *
 * Owner:   the caller provides the storage; ntk_monitor_config_fini() frees the content. A zeroed
 *          struct is allowed.
 * Threads: one at a time per config (matching included).
 */
#ifndef NTK_AGENT_REPORT_MONITOR_CONFIG_H
#define NTK_AGENT_REPORT_MONITOR_CONFIG_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_MONITOR_PERIOD_DEFAULT_NS (5 * NTK_NS_PER_SECOND)
#define NTK_MONITOR_PERIOD_MIN_NS (100 * NTK_NS_PER_MS) /* shorter periods are raised to this */
#define NTK_MONITOR_PERIOD_MAX_NS (24 * 3600 * NTK_NS_PER_SECOND)

/* Limits of a file; larger files are rejected. */
#define NTK_MONITOR_CONFIG_BYTES_MAX (1024 * 1024)
#define NTK_MONITOR_FILTERS_MAX 64
#define NTK_MONITOR_PERIODS_MAX 16 /* maximum number of distinct periods */

#define NTK_MONITOR_NOT_ASKED (-1)

/* Index into periods_ns per group, or NTK_MONITOR_NOT_ASKED. */
struct ntk_monitor_runtime_groups {
    int period[NTK_RUNTIME_GROUP_COUNT];
    bool by_address; /* set by the match: a filter has its address */
};

enum ntk_monitor_filter_kind {
    NTK_MONITOR_FILTER_ALL, /* every application */
    NTK_MONITOR_FILTER_TAG, /* applications with a tag that matches the regular expression */
    NTK_MONITOR_FILTER_ADDRESS,
};

struct ntk_monitor_filter {
    enum ntk_monitor_filter_kind kind;
    regex_t tag_regex;
    char *address; /* address of a daemon: its whole tag */
    struct ntk_monitor_runtime_groups groups;
};

struct ntk_monitor_config {
    uint64_t periods_ns[NTK_MONITOR_PERIODS_MAX]; /* distinct, each used by at least one group */
    size_t period_count;
    struct ntk_monitor_filter filters[NTK_MONITOR_FILTERS_MAX];
    size_t filter_count;
    int system_period[NTK_SYSTEM_GROUP_COUNT];
    bool k8s_info; /* set like the option --k8s-info */
};

/* Initialises a configuration without groups; _fini restores this state. */
void ntk_monitor_config_init(struct ntk_monitor_config *config);
/* All groups of all applications with one period; only a file can request self_stats. */
void ntk_monitor_config_default(struct ntk_monitor_config *config, uint64_t period_ns);
/* Reads the file. Error messages have file, line and key: unknown or duplicate keys, values with a
 * wrong type or out of range. Raised periods and obsolete keys are logged as warnings. */
int ntk_monitor_config_read(struct ntk_monitor_config *config, const char *path,
                            struct ntk_err *err);
/* Like ntk_monitor_config_read(), for bytes in memory. */
int ntk_monitor_config_parse(struct ntk_monitor_config *config, const char *text, size_t text_bytes,
                             struct ntk_err *err);
void ntk_monitor_config_fini(struct ntk_monitor_config *config);

/* Returns the index with the shorter period, out of two indices into periods_ns (or
 * NTK_MONITOR_NOT_ASKED). */
int ntk_monitor_config_shorter(const struct ntk_monitor_config *config, int a, int b);

/* Gives every requested group this one period. */
void ntk_monitor_config_set_period(struct ntk_monitor_config *config, uint64_t period_ns);

/* Finds the groups of the application with this tag: the union of all matching filters, with the
 * shortest period of each group. Returns false if no filter matches: the application is not
 * reported. */
bool ntk_monitor_config_match(const struct ntk_monitor_config *config, const char *tag,
                              struct ntk_monitor_runtime_groups *out_groups);

#ifdef __cplusplus
}
#endif
#endif
