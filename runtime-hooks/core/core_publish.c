/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_publish.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime-hooks/core/core_thread.h"
#include "runtime-hooks/core/core_tree.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"

#define POWER_SAMPLES_MIN 55 /* minimum samples per minute */
#define POWER_ENGINES 5
#define LOOKS_NS 1000000 /* polling interval while another process creates the tree */
/* minimum interval between two writes because of faults, for a device that fails all the time */
#define FAULTS_NS 20000000
/* A larger tree (several devices) is not written completely while the opening process waits: at
 * first it sees devices and cores, and counters follow soon. */
#define LEAVES_AT_ONCE 2048

struct power {
    uint64_t busy_ns; /* busy time of the device's engines at the last sample */
    uint64_t sampled_ns;
    uint64_t samples;
    uint64_t min, max, sum; /* in 1/100 percent */
    uint64_t minute;
};

struct ntk_core_publisher {
    struct core_tree tree;
    struct power power[NTK_SOFT_DEVICES];
    bool is_publisher;
    bool is_open;  /* the tree is open */
    bool is_whole; /* all leaves have been written */
    pthread_t thread;
    bool stop;       /* accessed atomically */
    uint32_t faults; /* `faults` of the header at the last write of the tree */
};

/* --- a round ---------------------------------------------------------------------------------- */

static void power_update(const struct core_tree *tree, struct power *power, uint32_t index,
                         uint64_t now_ns)
{
    struct ntk_soft_state *state = tree->soft->state;
    struct ntk_soft_device *device = &state->device[index];
    uint32_t cores = tree->row->facts.cores_per_device;
    uint64_t realtime_s = ntk_clock_realtime_ns() / NTK_NS_PER_SECOND;
    uint64_t busy = 0;

    for (uint32_t k = 0; k < cores; k++) {
        busy += ntk_abi_load(&state->core[index * cores + k].engine_busy_ns);
    }
    if (power->sampled_ns != 0 && now_ns > power->sampled_ns && busy >= power->busy_ns) {
        uint64_t capacity = (now_ns - power->sampled_ns) * cores * POWER_ENGINES;
        uint64_t share = (uint64_t)((double)(busy - power->busy_ns) * 10000.0 / (double)capacity);

        share = share < 10000 ? share : 10000;
        power->min = power->samples == 0 || share < power->min ? share : power->min;
        power->max = share > power->max ? share : power->max;
        power->sum += share;
        power->samples++;
    }
    if (power->minute != 0 && realtime_s / 60 != power->minute) {
        bool enough = power->samples >= POWER_SAMPLES_MIN;

        ntk_abi_store(&device->power_status, enough ? 0 : 1);
        ntk_abi_store(&device->power_time_s, realtime_s);
        ntk_abi_store(&device->power_min, enough ? power->min : 0);
        ntk_abi_store(&device->power_max, enough ? power->max : 0);
        ntk_abi_store(&device->power_avg, enough ? power->sum / power->samples : 0);
        power->samples = power->min = power->max = power->sum = 0;
    }
    power->minute = realtime_s / 60;
    power->busy_ns = busy;
    power->sampled_ns = now_ns;
}

/* Handles writes by other processes, then writes every changed leaf. */
static int tree_round(struct core_tree *tree, struct power *power)
{
    uint64_t now_ns = ntk_clock_monotonic_ns();

    ntk_abi_add_shared(&tree->soft->state->header.heartbeat, 1);
    ntk_core_tree_sum(tree);
    for (uint32_t d = 0; d < tree->row->facts.device_count; d++) {
        power_update(tree, &power[d], d, now_ns);
    }
    return ntk_core_tree_write(tree, true);
}

static int tree_complete(struct core_tree *tree, struct power *power, struct ntk_err *err)
{
    int ret = tree_round(tree, power);

    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write the device tree '%s': %s",
                           tree->root, strerror(-ret));
    }
    return ntk_core_tree_finish(tree, err);
}

/* Waits for a publisher. Returns 1 if this process is the publisher, or 0 if another one is and its
 * tree exists. A new tree is first created under another name. */
static int publisher_wait(struct core_tree *tree, struct ntk_err *err)
{
    struct ntk_core_soft *soft = tree->soft;
    uint64_t end_ns = ntk_clock_now_ns(soft->clock) + NTK_CORE_SOFT_WAIT_NS;
    int ret;

    while ((ret = ntk_core_soft_lock(soft, NTK_SOFT_LOCK_PUBLISHER)) == 0 &&
           !ntk_core_tree_exists(tree)) {
        uint64_t now_ns = ntk_clock_now_ns(soft->clock);
        if (now_ns >= end_ns) {
            return ntk_err_set(err, -EBUSY, NTK_ERR_NO_OFFSET,
                               "process %d has been creating the device tree %s for %u s",
                               ntk_core_soft_holder(soft, NTK_SOFT_LOCK_PUBLISHER), tree->root,
                               (unsigned)(NTK_CORE_SOFT_WAIT_NS / NTK_NS_PER_SECOND));
        }
        ntk_cond_sleep(soft->clock, now_ns + LOOKS_NS);
    }
    return ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot lock soft.lock in %s: %s",
                                 soft->folder, strerror(-ret))
                   : ret;
}

int ntk_core_publish_once(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                          struct ntk_err *err)
{
    struct power power[NTK_SOFT_DEVICES] = { { 0 } };
    struct core_tree tree;
    int ret = ntk_core_tree_init(&tree, soft, row, err);

    ret = ret < 0 ? ret : publisher_wait(&tree, err);
    if (ret == 1) {
        ntk_abi_store(&soft->state->header.publisher_pid, (uint64_t)getpid());
        ret = ntk_core_tree_open(&tree, err);
        if (ret == 0) {
            ret = tree_complete(&tree, power, err);
        }
        ntk_core_soft_unlock(soft, NTK_SOFT_LOCK_PUBLISHER);
    }
    ntk_core_tree_fini(&tree);
    return ret;
}

int ntk_core_publish_remove(struct ntk_err *err)
{
    char root[NTK_PATH_BYTES];
    char aside[NTK_PATH_BYTES + 8];

    if (ntk_paths_soft_sysfs_root(root, sizeof root) < 0) {
        return ntk_err_set(err, -ENAMETOOLONG, NTK_ERR_NO_OFFSET,
                           "the path of the device tree is too long");
    }
    /* Rename the folder before removing it, so that readers find either the complete machine or
     * none. */
    (void)snprintf(aside, sizeof aside, "%s.old", root);
    (void)rename(root, aside);
    *strrchr(root, '/') = '\0';
    return ntk_fs_remove_tree(root, err);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Opens the tree, or continues with it. The caller holds the publisher's lock. */
static int publisher_write(struct ntk_core_publisher *publisher, bool is_last, struct ntk_err *err)
{
    struct core_tree *tree = &publisher->tree;
    int ret = 0;

    if (!publisher->is_open) {
        ntk_abi_store(&tree->soft->state->header.publisher_pid, (uint64_t)getpid());
        ret = ntk_core_tree_open(tree, err);
        publisher->is_open = ret == 0;
        publisher->is_whole = false;
    } else {
        ret = ntk_core_tree_enter(tree);
    }
    if (ret == 0 && publisher->is_whole) {
        /* A process that exits before its second round leaves the writes of other processes to the
         * next publisher. */
        if (!is_last || tree->listens) {
            ntk_core_tree_listen(tree);
        }
        ret = tree_round(tree, publisher->power);
    } else if (ret == 0) {
        ret = tree_complete(tree, publisher->power, err);
        publisher->is_whole = ret == 0;
    }
    if (ret < 0) { /* retried after a second, because another process may have removed the tree */
        ntk_core_tree_close(tree);
        publisher->is_open = false;
    } else {
        ntk_core_tree_leave(tree);
    }
    return ret;
}

/* Does one round as the publisher, or tries to become the publisher. */
static void publisher_round(struct ntk_core_publisher *publisher, bool is_last)
{
    if (!publisher->is_publisher) {
        if (ntk_core_soft_lock(publisher->tree.soft, NTK_SOFT_LOCK_PUBLISHER) != 1) {
            return;
        }
        publisher->is_publisher = true;
    }
    (void)publisher_write(publisher, is_last, NULL);
}

/* Between two rounds, writes what a fault changed. Heartbeat and power are only written in
 * rounds. */
static void publisher_fault(struct ntk_core_publisher *publisher)
{
    struct core_tree *tree = &publisher->tree;

    if (!publisher->is_publisher || !publisher->is_open || !publisher->is_whole) {
        return; /* the next round writes everything */
    }
    int ret = ntk_core_tree_enter(tree);
    if (ret == 0) {
        ntk_core_tree_listen(tree); /* so that other processes' writes are not overwritten */
        ntk_core_tree_sum(tree);
        ret = ntk_core_tree_write(tree, true);
    }
    if (ret < 0) {
        ntk_core_tree_close(tree);
        publisher->is_open = publisher->is_whole = false;
    } else {
        ntk_core_tree_leave(tree);
    }
}

static void wake_all(struct ntk_soft_header *header)
{
    ntk_abi_add_shared(&header->wake, 1);
    (void)syscall(SYS_futex, &header->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits until this monotonic time, or until the word changes; may return early. */
static void wait_until(struct ntk_soft_header *header, uint32_t wake, uint64_t until_ns)
{
    const struct timespec until = { .tv_sec = (time_t)(until_ns / NTK_NS_PER_SECOND),
                                    .tv_nsec = (long)(until_ns % NTK_NS_PER_SECOND) };

    (void)syscall(SYS_futex, &header->wake, FUTEX_WAIT_BITSET, wake, &until, NULL,
                  FUTEX_BITSET_MATCH_ANY);
}

static void *publisher_run(void *argument)
{
    static const struct timespec between_faults = { .tv_nsec = FAULTS_NS };
    struct ntk_core_publisher *publisher = argument;
    struct ntk_soft_header *header = &publisher->tree.soft->state->header;

    publisher->faults = ntk_abi_load_acquire(&header->faults);
    if (publisher->is_publisher) {
        (void)publisher_write(publisher, false, NULL);
    }
    uint64_t next_ns = ntk_clock_monotonic_ns() + NTK_NS_PER_SECOND;
    for (;;) {
        /* Read the word first, because the conditions checked below change before it does. Pairs
         * with wake_all(). */
        uint32_t wake = ntk_abi_load_acquire(&header->wake);
        uint32_t faults = ntk_abi_load_acquire(&header->faults);

        if (ntk_abi_load_acquire(&publisher->stop)) {
            return NULL;
        }
        if (ntk_clock_monotonic_ns() >= next_ns) {
            publisher_round(publisher, false);
            next_ns += NTK_NS_PER_SECOND;
        } else if (faults != publisher->faults) {
            publisher_fault(publisher);
            (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &between_faults, NULL);
        } else {
            wait_until(header, wake, next_ns);
            continue;
        }
        publisher->faults = faults;
    }
}

void ntk_core_publish_fault(struct ntk_core_soft *soft)
{
    ntk_abi_add_shared(&soft->state->header.faults, 1);
    wake_all(&soft->state->header);
}

/* Before this returns, writes what tools need to find the machine: a small tree completely; for a
 * large new tree, devices and cores. The thread updates an existing tree. */
static int publisher_begin(struct ntk_core_publisher *publisher, struct ntk_err *err)
{
    struct core_tree *tree = &publisher->tree;
    int ret;

    if (ntk_core_tree_exists(tree)) {
        return 0;
    }
    if (tree->leaves.count <= LEAVES_AT_ONCE) {
        return publisher_write(publisher, false, err);
    }
    ntk_abi_store(&tree->soft->state->header.publisher_pid, (uint64_t)getpid());
    ret = ntk_core_tree_open(tree, err);
    if (ret < 0) {
        return ret;
    }
    publisher->is_open = true;
    ret = ntk_core_tree_write(tree, false);
    if (ret == 0) {
        ret = ntk_core_tree_finish(tree, err);
        ntk_core_tree_leave(tree);
        return ret;
    }
    return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot write the device tree '%s': %s",
                       tree->root, strerror(-ret));
}

int ntk_core_publisher_start(struct ntk_core_soft *soft, const struct ntk_core_machine_row *row,
                             struct ntk_core_publisher **out_publisher, struct ntk_err *err)
{
    struct ntk_core_publisher *publisher = calloc(1, sizeof *publisher);
    int ret = publisher ? ntk_core_tree_init(&publisher->tree, soft, row, err) : -ENOMEM;

    if (ret < 0) {
        goto fail;
    }
    if (ntk_core_soft_lock(soft, NTK_SOFT_LOCK_PUBLISHER) == 1) {
        publisher->is_publisher = true;
        ret = publisher_begin(publisher, err);
    }
    if (ret == 0) {
        ret = ntk_core_thread_start(&publisher->thread, publisher_run, publisher);
        if (ret < 0) {
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s", strerror(-ret));
        }
    }
    if (ret < 0) {
        ntk_core_soft_unlock(soft, NTK_SOFT_LOCK_PUBLISHER);
        goto fail;
    }
    *out_publisher = publisher;
    return 0;

fail:
    if (publisher) {
        ntk_core_tree_fini(&publisher->tree);
        free(publisher);
    }
    return ret;
}

void ntk_core_publisher_stop(struct ntk_core_publisher *publisher)
{
    if (!publisher) {
        return;
    }
    ntk_abi_store_release(&publisher->stop, true);
    wake_all(&publisher->tree.soft->state->header);
    pthread_join(publisher->thread, NULL);
    publisher_round(publisher, true);
    if (publisher->is_publisher) {
        ntk_core_soft_unlock(publisher->tree.soft, NTK_SOFT_LOCK_PUBLISHER);
    }
    ntk_core_tree_fini(&publisher->tree);
    free(publisher);
}
