/* SPDX-License-Identifier: MIT */
/*
 * core_soft - soft.state.1 and soft.lock: the shared state of the software machine, like that of a
 * driver (shared/abi/soft_abi.h).
 *
 * A process opens soft.lock once (core_once.h): closing any descriptor of it would drop every lock
 * of the process.
 *
 * Owner:   ntk_core_soft_open() allocates, ntk_core_soft_close() frees and drops the locks.
 * Threads: counters from any thread; open, close and cores from one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_SOFT_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_SOFT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/abi/paths.h"
#include "shared/abi/soft_abi.h"
#include "shared/base/clock.h"
#include "shared/base/err.h"

struct ntk_core_soft {
    void *mark; /* mark of core_once.h */
    int lock_fd;
    struct ntk_soft_state *state;
    struct ntk_soft_process *process; /* slot of this process; NULL if it has none */
    uint32_t slot;
    bool is_new;   /* this open built the state, so an old tree is invalid */
    bool is_aside; /* another user's files prevent the use of the requested folder */
    char folder[NTK_PATH_BYTES];
    const struct ntk_clock *clock;
};

/* Gets the instance type of the machine in this hooks folder; false if there is none. */
bool ntk_core_soft_peek(char *instance, size_t instance_bytes);

struct ntk_core_soft_options {
    /* a name in the catalogue; NULL: the existing machine, else the default */
    const char *instance;
    bool new_tree;                 /* use the newer layout of the device tree for a new state */
    bool as_process;               /* take a slot for this process */
    const struct ntk_clock *clock; /* clock for waiting; borrowed; NULL: the system's */
};

/* Opens the machine, building or rebuilding its state. Returns -EEXIST if another instance is
 * requested while processes use the machine; -EBUSY if processes use it with a state unknown to
 * this version, or if one of them holds the setup lock for NTK_CORE_SOFT_WAIT_NS; -EALREADY if it
 * is open in this process. */
#define NTK_CORE_SOFT_WAIT_NS (UINT64_C(5) * 1000 * 1000 * 1000)
int ntk_core_soft_open(const struct ntk_core_soft_options *options, struct ntk_core_soft **out_soft,
                       struct ntk_err *err);
void ntk_core_soft_close(struct ntk_core_soft *soft);
/* In the child of a fork: frees memory without changing locks or state. */
void ntk_core_soft_forget(struct ntk_core_soft *soft);
/* Removes state and lock file; -EBUSY while a process uses the machine. */
int ntk_core_soft_remove(struct ntk_core_soft *soft, struct ntk_err *err);

/* Returns 1 if this process now has the lock on the byte of soft.lock, 0 if another process has it,
 * or -errno. */
int ntk_core_soft_lock(struct ntk_core_soft *soft, uint32_t byte);
void ntk_core_soft_unlock(struct ntk_core_soft *soft, uint32_t byte);
/* The pid of another process that locks the byte; 0 if there is none. */
int ntk_core_soft_holder(const struct ntk_core_soft *soft, uint32_t byte);
/* Announces, or withdraws, that this process waits for these physical cores: processes that give
 * way release them and take none. */
void ntk_core_soft_want(struct ntk_core_soft *soft, uint32_t first, uint32_t count, bool wants);
/* Returns true if a process that gives way holds one of these cores. */
bool ntk_core_soft_yields(const struct ntk_core_soft *soft, uint32_t first, uint32_t count);

/* Counts memory of a category for a physical core; the category determines the location. Device
 * memory must have been reserved before. */
void ntk_core_soft_memory_add(struct ntk_core_soft *soft, uint32_t core, uint32_t category,
                              uint64_t bytes);
void ntk_core_soft_memory_remove(struct ntk_core_soft *soft, uint32_t core, uint32_t category,
                                 uint64_t bytes);
/* Reserves bytes of a stack of this machine; false if it is full. */
bool ntk_core_soft_stack_reserve(struct ntk_core_soft *soft, uint32_t device, uint32_t stack,
                                 uint64_t bytes, uint64_t limit_bytes);
void ntk_core_soft_stack_release(struct ntk_core_soft *soft, uint32_t device, uint32_t stack,
                                 uint64_t bytes);

static inline void ntk_core_soft_count_add(struct ntk_soft_count *count, uint64_t amount)
{
    if (amount != 0) {
        ntk_abi_add_shared(&count->total, amount);
        ntk_abi_store(&count->present, amount);
    }
}

#endif
