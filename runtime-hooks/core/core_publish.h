/* SPDX-License-Identifier: MIT */
/*
 * core_publish - the device tree of the software machine: files shaped like the driver's sysfs,
 * written from soft.state.
 *
 * One process at a time publishes: the holder of byte NTK_SOFT_LOCK_PUBLISHER of soft.lock. Every
 * process has a thread that tries for it once per second, so that the next one takes over when a
 * publisher ends. Files are rewritten in place and only when their text changes.
 *
 * Owner:   *_start() allocates, *_stop() ends the thread and frees.
 * Threads: start and stop from one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_PUBLISH_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_PUBLISH_H

#include "runtime-hooks/core/core_machine.h"
#include "runtime-hooks/core/core_soft.h"

struct ntk_core_publisher;

/* Builds the tree when it is absent or belongs to an older machine, and starts the thread, which
 * updates an existing one. -errno with a message when the tree cannot be written: the machine works
 * without it. */
int ntk_core_publisher_start(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                             struct ntk_core_publisher **out_publisher, struct ntk_err *err);
/* Writes a last round when it is the publisher. NULL is fine. */
void ntk_core_publisher_stop(struct ntk_core_publisher *publisher);
/* Builds or updates the tree once, without a thread; or waits for one that another process creates:
 * -EBUSY after NTK_CORE_SOFT_WAIT_NS. */
int ntk_core_publish_once(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                          struct ntk_err *err);
/* A device has a fault, and its counters say so: whoever publishes writes the tree now, not with
 * its next round. Any process, any thread; it never waits. */
void ntk_core_publish_fault(struct ntk_core_soft *soft);
/* The version of the driver that the tree shows; static storage. */
const char *ntk_core_publish_driver(const struct ntk_core_soft *soft);
/* Removes the tree. */
int ntk_core_publish_remove(struct ntk_err *err);

#endif
