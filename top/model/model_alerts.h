/* SPDX-License-Identifier: MIT */
/*
 * model_alerts - writes alerts that the user must see in any view: cores that are dead or stuck,
 * errors that memory could not correct, executions that failed. One line reports them, and the
 * cores are marked where they are drawn.
 *
 * Devices that are unhealthy, or have become unknown, are first, with the remedy.
 *
 * A core is dead when its last report is a hardware error or a time-out: nothing completes there
 * until its application restarts. It is stuck if work waits on it and nothing has begun or ended
 * for some time.
 *
 * Owner:   the model; ntk_top_model_alerts_fini() frees the content.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_ALERTS_H
#define NTK_TOP_MODEL_MODEL_ALERTS_H

#include "shared/base/clock.h"
#include "top/model/model.h"

#define NTK_TOP_ALERTS_STUCK_NS (10 * NTK_NS_PER_SECOND)
/* Time for which a failed execution is reported */
#define NTK_TOP_ALERTS_RECENT_NS (60 * NTK_NS_PER_SECOND)

void ntk_top_model_alerts_fini(struct ntk_top_alerts *alerts);
/* Returns 0, or -ENOMEM and an empty copy. */
int ntk_top_model_alerts_dup(const struct ntk_top_alerts *alerts, struct ntk_top_alerts *out_copy);
/* Checks the snapshot of the model. Returns 0 or -ENOMEM. */
int ntk_top_model_alerts_observe(struct ntk_top_model *model);
/* Writes the alert line of the model, which covers all applications in any tab. */
void ntk_top_model_alerts_project(struct ntk_top_model *model);
enum ntk_top_core_state ntk_top_model_alerts_core(const struct ntk_top_model *model,
                                                  uint32_t logical);
/* Returns "dead" or "stuck", "" for a good core; short: "x" or "!". */
const char *ntk_top_model_alerts_word(enum ntk_top_core_state state, bool is_short);
/* Returns the health of a device in the snapshot; healthy if it has none. */
enum ntk_health_verdict ntk_top_model_alerts_device(const struct ntk_top_model *model,
                                                    uint32_t device);
/* Returns the mark after the name of a device: "!" if unhealthy, "?" if unknown, else "". */
const char *ntk_top_model_alerts_mark(const struct ntk_top_model *model, uint32_t device);
/* Returns the start of that state, in ns since 1970; 0 if the core is not in that state. */
uint64_t ntk_top_model_alerts_since(const struct ntk_top_model *model, uint32_t logical);

#endif
