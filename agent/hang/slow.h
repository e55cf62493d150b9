/* SPDX-License-Identifier: MIT */
/*
 * slow - writes the output of neuron-monitor slow.
 *
 * Threads: any.
 */
#ifndef NTK_AGENT_HANG_SLOW_H
#define NTK_AGENT_HANG_SLOW_H

#include <stdbool.h>

#include "agent/hang/hang.h"
#include "shared/base/buf.h"
#include "shared/metrics/ranks_pace.h"

void ntk_slow_write_text(const struct ntk_pace *pace, const struct ntk_host *hosts, bool all,
                         struct ntk_buf *out);
void ntk_slow_write_json(const struct ntk_pace *pace, const struct ntk_host *hosts,
                         size_t host_count, struct ntk_buf *out);

#endif
