/* SPDX-License-Identifier: MIT */
/*
 * core_publish - writes the software machine's device tree, files in the form of the driver's
 * sysfs, from soft.state.
 *
 * One process at a time publishes: the holder of the lock on byte NTK_SOFT_LOCK_PUBLISHER of
 * soft.lock. Every process has a thread that tries to get it once per second, so that another
 * process takes over when a publisher exits. Files are rewritten in place and only when their text
 * changes.
 *
 * Owner:   *_start() allocates, *_stop() stops the thread and frees.
 * Threads: start and stop from one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_PUBLISH_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_PUBLISH_H

#include "runtime-hooks/core/core_machine.h"
#include "runtime-hooks/core/core_soft.h"

struct ntk_core_publisher;

/* Builds the tree if it is missing or belongs to an older machine, and starts the thread, which
 * updates an existing one. Returns -errno with a message if the tree cannot be written; the machine
 * works without it. */
int ntk_core_publisher_start(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                             struct ntk_core_publisher **out_publisher, struct ntk_err *err);
/* Writes a last round if this process is the publisher. Accepts NULL. */
void ntk_core_publisher_stop(struct ntk_core_publisher *publisher);
/* Builds or updates the tree once, without a thread, or waits while another process creates it;
 * -EBUSY after NTK_CORE_SOFT_WAIT_NS. */
int ntk_core_publish_once(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                          struct ntk_err *err);
/* Called after a fault changed a device's counters: the publisher then writes the tree at once.
 * From any process and thread; never waits. */
void ntk_core_publish_fault(struct ntk_core_soft *soft);
/* The driver version that the tree shows; static storage. */
const char *ntk_core_publish_driver(const struct ntk_core_soft *soft);
/* Removes the device tree. */
int ntk_core_publish_remove(struct ntk_err *err);

#endif
