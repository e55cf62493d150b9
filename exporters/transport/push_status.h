/* SPDX-License-Identifier: MIT */
/*
 * push_status - interprets the status of a response to a pushed message.
 *
 *   status            remote write 1.0   OTLP/HTTP 1
 *   200-299           sent               sent
 *   300-399           again              again
 *   429               again              again
 *   502, 503, 504     again              again
 *   other 500-599     again              refused
 *   any other         refused            refused
 *
 * A redirect is not followed, to protect credentials. It is an error of the address, not of the
 * message, which waits until the address is corrected. CloudWatch uses names of errors and has a
 * separate table.
 * Source:  "Retries & Backoff" of the Prometheus remote write specification; "Failures" of
 *          OTLP/HTTP.
 */
#ifndef NTK_EXPORTERS_TRANSPORT_PUSH_STATUS_H
#define NTK_EXPORTERS_TRANSPORT_PUSH_STATUS_H

#include "exporters/transport/outbox.h"
#include "shared/http/http_client.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_push_protocol { NTK_PUSH_REMOTE_WRITE, NTK_PUSH_OTLP };

/* Fills result, pause, and the peer's text ("" for none; the first line, cleaned). The text of a
 * sent message is unchanged. */
void ntk_push_status_judge(enum ntk_push_protocol protocol, const struct ntk_http_answer *answer,
                           const char *said, struct ntk_outbox_answer *out_answer);

#ifdef __cplusplus
}
#endif
#endif
