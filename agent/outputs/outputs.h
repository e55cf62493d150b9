/* SPDX-License-Identifier: MIT */
/*
 * outputs - feeds all exporters of an agent.
 *
 * Owner:   the caller provides the storage, zeroed if empty; ntk_outputs_fini() ends all exporters.
 * Threads: one.
 */
#ifndef NTK_AGENT_OUTPUTS_OUTPUTS_H
#define NTK_AGENT_OUTPUTS_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "exporters/exporter.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_output {
    const struct ntk_exporter *exporter;
    void *state;
    bool said; /* true after a failure of put() was logged */
};

struct ntk_outputs {
    struct ntk_output rows[NTK_EXPORTER_COUNT];
    size_t count;
    const struct ntk_clock *clock; /* for the drain; NULL for the system clock */
};

/* Opens the exporters requested on the command line; with_pages: also exporters that have a
 * page. */
int ntk_outputs_open(struct ntk_outputs *outputs, const struct ntk_exporter_options *options,
                     bool with_pages, struct ntk_err *err);
/* Returns the spans that an exporter expects in snapshots; NULL if none. Called before
 * ntk_outputs_open(). */
const struct ntk_span_rules *ntk_outputs_span_rules(void);
/* Sets the counts of an earlier agent, before the first put. */
void ntk_outputs_resume(struct ntk_outputs *outputs, const struct ntk_snapshot *totals);
/* Puts a page to exporters that have one, and a report to the others. A failure is logged once and
 * does not affect the others. */
void ntk_outputs_put(struct ntk_outputs *outputs, const struct ntk_snapshot *snapshot,
                     bool is_page);
bool ntk_outputs_have_pages(const struct ntk_outputs *outputs);
/* Returns true if the served data is too old. Any thread may call it. */
bool ntk_outputs_are_stale(const struct ntk_outputs *outputs);
/* Waits until all exporters have sent all data, within their own limits and NTK_OUTPUTS_DRAIN_NS in
 * total. Stops waiting once is_in_haste(ctx) is true. Returns 0, or the first failure with its
 * message; others are logged. */
#define NTK_OUTPUTS_DRAIN_NS UINT64_C(6000000000)
int ntk_outputs_drain(struct ntk_outputs *outputs, bool (*is_in_haste)(void *ctx), void *ctx,
                      struct ntk_err *err);
void ntk_outputs_fini(struct ntk_outputs *outputs);

#ifdef __cplusplus
}
#endif
#endif
