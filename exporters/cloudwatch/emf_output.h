/* SPDX-License-Identifier: MIT */
/*
 * emf_output - sends lines of Embedded Metric Format to an agent.
 *
 *   -                  standard output, at once
 *   PATH               appended to a file, which is reopened after it was renamed
 *   tcp://HOST:PORT    a connection of lines
 *   udp://HOST:PORT    a datagram for each line
 *
 * All except standard output use an outbox: unwritten lines are retried, starting with the first
 * incomplete one. A full disk may leave a partial line in a file; the next line starts on a new
 * line.
 *
 * Owner: create / destroy. Threads: one; a second thread writes.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_EMF_OUTPUT_H
#define NTK_EXPORTERS_CLOUDWATCH_EMF_OUTPUT_H

#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Address of the CloudWatch agent if AWS_EMF_AGENT_ENDPOINT is unset. */
#define NTK_EMF_AGENT "tcp://127.0.0.1:25888"

struct ntk_emf_output;

/* spool_folder is NULL for memory only; spool_bytes_max: 0 for the default. err has the problem of
 * the target. */
int ntk_emf_output_create(const char *target, const char *spool_folder, uint64_t spool_bytes_max,
                          struct ntk_emf_output **out_output, struct ntk_err *err);
void ntk_emf_output_destroy(struct ntk_emf_output *output);
/* Takes the lines. -EPIPE if standard output has no reader. */
int ntk_emf_output_put(struct ntk_emf_output *output, struct ntk_buf *lines, uint64_t line_count,
                       struct ntk_err *err);
/* Same as ntk_outbox_drain(). */
int ntk_emf_output_drain(struct ntk_emf_output *output, bool in_haste, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
