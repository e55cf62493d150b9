/* SPDX-License-Identifier: MIT */
/*
 * emf_output - sends lines of Embedded Metric Format to an agent.
 *
 *   -                  standard output, at once
 *   PATH               appended to a file, which is opened again when it was moved away
 *   tcp://HOST:PORT    a connection of lines
 *   udp://HOST:PORT    a datagram for each line
 *
 * All but standard output go through an outbox: what cannot be written now is written later, from
 * the line on that was not written whole. A file may hold the half of a line that a full disk cut;
 * the next line begins on its own all the same.
 *
 * Owner:   create / destroy. Threads: one; a second thread writes.
 */
#ifndef NTK_EXPORTERS_CLOUDWATCH_EMF_OUTPUT_H
#define NTK_EXPORTERS_CLOUDWATCH_EMF_OUTPUT_H

#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the CloudWatch agent listens, when AWS_EMF_AGENT_ENDPOINT does not specify. */
#define NTK_EMF_AGENT "tcp://127.0.0.1:25888"

struct ntk_emf_output;

/* spool_folder: NULL for memory only. A message says what is wrong with the target. */
int ntk_emf_output_create(const char *target, const char *spool_folder,
                          struct ntk_emf_output **out_output, struct ntk_err *err);
void ntk_emf_output_destroy(struct ntk_emf_output *output);
/* Takes the lines. -EPIPE when standard output has no reader any more. */
int ntk_emf_output_put(struct ntk_emf_output *output, struct ntk_buf *lines, uint64_t line_count,
                       struct ntk_err *err);
/* As ntk_outbox_drain(). */
int ntk_emf_output_drain(struct ntk_emf_output *output, bool in_haste, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
