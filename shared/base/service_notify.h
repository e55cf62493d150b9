/* SPDX-License-Identifier: MIT */
/*
 * service_notify - tells the service manager what a program is doing: sd_notify without libsystemd.
 *
 * Datagrams of "NAME=value" lines to the socket that $NOTIFY_SOCKET names (systemd's sd_notify(3));
 * a daemon started by hand lacks the variable, and every call does nothing. A program with a
 * watchdog feeds it from its loop, so systemd restarts it when the loop hangs.
 *
 * Owner:   create / destroy; NULL is a fine object for every call.
 * Threads: one.
 */
#ifndef NTK_SHARED_BASE_SERVICE_NOTIFY_H
#define NTK_SHARED_BASE_SERVICE_NOTIFY_H

#include <stdint.h>

#include "shared/base/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_service;

/* *out_service is NULL (and 0 returned) when no service manager expects messages. A variable
 * that makes no sense is an error. The variables leave the environment, so that no child answers
 * for us. */
int ntk_service_create(struct ntk_service **out_service, struct ntk_err *err);
void ntk_service_destroy(struct ntk_service *service);

/* How often ntk_service_feed() is due: half of $WATCHDOG_USEC when it is meant for this process;
 * 0: never. */
uint64_t ntk_service_feed_period_ns(const struct ntk_service *service);

/* At work, with one line that `systemctl status` shows. */
void ntk_service_ready(struct ntk_service *service, const char *status);
/* Reads its configuration again; ntk_service_ready() ends that. */
void ntk_service_reloading(struct ntk_service *service);
void ntk_service_feed(struct ntk_service *service);
void ntk_service_stopping(struct ntk_service *service);

#ifdef __cplusplus
}
#endif
#endif
