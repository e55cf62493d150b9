/* SPDX-License-Identifier: MIT */
/*
 * rtd_end - ends the daemon at SIGTERM and SIGINT, in time for any state of its models.
 *
 * Owner:   rtd_end_begin() allocates, rtd_end_finish() frees.
 * Threads: _block runs before there is a second thread; _begin and _finish run in one thread.
 */
#ifndef NTK_RUNTIME_HOOKS_RTD_RTD_END_H
#define NTK_RUNTIME_HOOKS_RTD_RTD_END_H

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/rpc/rpc_server.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/base/service_notify.h"

/* Maximum wait of the process for running executions before it exits; service managers expect the
 * daemon to exit within 5 seconds. */
#define RTD_END_WAIT_S 4

void rtd_end_block_signals(void);

struct rtd_end;
/* From now on a signal stops the server. manager, endpoint, service and clock (NULL: the system
 * clock) must outlive the result. -ENOMEM. */
int rtd_end_begin(struct ntk_rpc_server *server, struct rtd_manager *manager, const char *endpoint,
                  struct ntk_service *service, const struct ntk_clock *clock,
                  struct rtd_end **out_end, struct ntk_err *err);
/* Runs the server until a signal stops it. */
void rtd_end_run(struct rtd_end *end);
/* The socket was removed, so a successor may use its address. */
void rtd_end_socket_gone(struct rtd_end *end);
/* Called when everything has ended, or when another failure stops the daemon. */
void rtd_end_finish(struct rtd_end *end);

#endif
