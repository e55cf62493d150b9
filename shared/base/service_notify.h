/* SPDX-License-Identifier: MIT */
/*
 * service_notify - reports the state of a program to the service manager: sd_notify without
 * libsystemd.
 *
 * Sends datagrams of "NAME=value" lines to the socket in $NOTIFY_SOCKET (systemd's sd_notify(3)).
 * Without the variable, as in a daemon started by hand, every call does nothing. A program with a
 * watchdog feeds it from its loop, so systemd restarts the program when the loop hangs.
 *
 * Owner:   create / destroy; every call accepts NULL.
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

/* Sets *out_service to NULL and returns 0 if no service manager expects messages. An invalid
 * variable is an error. The variables are removed from the environment, so that no child sends
 * messages for us. */
int ntk_service_create(struct ntk_service **out_service, struct ntk_err *err);
void ntk_service_destroy(struct ntk_service *service);

/* The interval for ntk_service_feed(): half of $WATCHDOG_USEC when it is meant for this process; 0:
 * never. */
uint64_t ntk_service_feed_period_ns(const struct ntk_service *service);

/* Reports readiness, with one line that `systemctl status` shows. */
void ntk_service_ready(struct ntk_service *service, const char *status);
/* Reports that the configuration is being reloaded; ntk_service_ready() ends this state. */
void ntk_service_reloading(struct ntk_service *service);
void ntk_service_feed(struct ntk_service *service);
void ntk_service_stopping(struct ntk_service *service);

#ifdef __cplusplus
}
#endif
#endif
