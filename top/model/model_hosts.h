/* SPDX-License-Identifier: MIT */
/*
 * model_hosts - lists a row for each of many machines with its state, worst first. Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_HOSTS_H
#define NTK_TOP_MODEL_MODEL_HOSTS_H

#include "shared/base/buf.h"
#include "top/model/model.h"
#include "top/source/hosts.h"

enum ntk_top_hosts_column {
    NTK_TOP_HOSTS_NAME,
    NTK_TOP_HOSTS_STATE,
    NTK_TOP_HOSTS_BUSY,
    NTK_TOP_HOSTS_HBM,
    NTK_TOP_HOSTS_HBM_SHARE,
    NTK_TOP_HOSTS_RATE,
    NTK_TOP_HOSTS_ERROR_RATE,
    NTK_TOP_HOSTS_AGE,
    NTK_TOP_HOSTS_WHY,
    NTK_TOP_HOSTS_CLOCK,
    NTK_TOP_HOSTS_HEALTH,
    NTK_TOP_HOSTS_PAST,
    NTK_TOP_HOSTS_TYPE,
    NTK_TOP_HOSTS_COUNT,
};

/* Names such as "good" or "unreachable". */
extern const char *const ntk_top_host_health_names[NTK_TOP_HOST_HEALTH_COUNT];
enum ntk_top_host_health ntk_top_model_host_health(const struct ntk_top_hosts *hosts,
                                                   const struct ntk_top_host *host);
/* Computes the state of the hosts after a new round. Returns 0 or -ENOMEM. */
int ntk_top_model_hosts_observe(struct ntk_top_model *model);
/* Returns 0 or -ENOMEM. */
int ntk_top_model_hosts(struct ntk_top_model *model, struct ntk_top_table *table);
/* Opens the host of the row. */
bool ntk_top_model_hosts_act(struct ntk_top_model *model, int action, int argument);
/* Writes all hosts as a JSON object in one line. */
void ntk_top_model_hosts_json(const struct ntk_top_model *model, struct ntk_buf *out);

#endif
