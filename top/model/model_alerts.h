/* SPDX-License-Identifier: MIT */
/*
 * model_alerts - alerts that the user must see in any view: cores that are dead or stuck, errors
 * that memory could not correct, executions that failed. One line reports them, and the cores are
 * marked where they are drawn.
 *
 * Devices that are unhealthy, or have become unknown, come first, with the remedy.
 *
 * A core is dead when its last report is a hardware error or a time-out: nothing completes there
 * until its application begins again. It is stuck when work waits on it and nothing began or ended
 * for a while.
 *
 * Owner:   the model; ntk_top_model_alerts_fini() frees.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_ALERTS_H
#define NTK_TOP_MODEL_MODEL_ALERTS_H

#include "shared/base/clock.h"
#include "top/model/model.h"

#define NTK_TOP_ALERTS_STUCK_NS (10 * NTK_NS_PER_SECOND)
/* a failed execution is reported for this long */
#define NTK_TOP_ALERTS_RECENT_NS (60 * NTK_NS_PER_SECOND)

void ntk_top_model_alerts_fini(struct ntk_top_alerts *alerts);
/* 0 or -ENOMEM, and an empty copy. */
int ntk_top_model_alerts_dup(const struct ntk_top_alerts *alerts, struct ntk_top_alerts *out_copy);
/* Checks the snapshot of the model. 0 or -ENOMEM. */
int ntk_top_model_alerts_observe(struct ntk_top_model *model);
/* Writes the alert line of the model. It covers all applications, whichever tab is shown. */
void ntk_top_model_alerts_project(struct ntk_top_model *model);
enum ntk_top_core_state ntk_top_model_alerts_core(const struct ntk_top_model *model,
                                                  uint32_t logical);
/* "dead", "stuck", "" for a good core; short: "x", "!". */
const char *ntk_top_model_alerts_word(enum ntk_top_core_state state, bool is_short);
/* The health of a device in the snapshot; healthy if it has none. */
enum ntk_health_verdict ntk_top_model_alerts_device(const struct ntk_top_model *model,
                                                    uint32_t device);
/* The mark after the name of a device: "!" unhealthy, "?" unknown, else "". */
const char *ntk_top_model_alerts_mark(const struct ntk_top_model *model, uint32_t device);
/* Start of that state, 1970 in ns; 0: it is not in that state. */
uint64_t ntk_top_model_alerts_since(const struct ntk_top_model *model, uint32_t logical);

#endif
