/* SPDX-License-Identifier: MIT */
/*
 * attach_probes - the BPF program, and its probes at the exports of a process's libraries.
 *
 * Owner:   ntk_attach_probes_open() allocates, _close() frees; the exit of the opening process also
 *          removes the probes. Threads: one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_PROBES_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime-hooks/attach/attach_cost.h"
#include "runtime-hooks/attach/attach_events.h"
#include "shared/base/err.h"

struct ntk_attach_probes;

#define NTK_ATTACH_RING_BYTES (1u << 20)

typedef void (*ntk_attach_event_fn)(const struct ntk_attach_event *event, size_t bytes, void *ctx);

/* Loads the BPF program. ring_bytes is a power of two and whole pages; 0: NTK_ATTACH_RING_BYTES.
 * Returns -EPERM with a message if not permitted. */
int ntk_attach_probes_open(uint32_t ring_bytes, ntk_attach_event_fn fn, void *ctx,
                           struct ntk_attach_probes **out_probes, struct ntk_err *err);
void ntk_attach_probes_close(struct ntk_attach_probes *probes);

/* Sets probes at all traced exports of the library in one process. fd is the library's file.
 * *out_first is the slowest kind of first instruction among calls that execute. Returns -ENOENT
 * with a message if it is not a libnrt. */
int ntk_attach_probes_add(struct ntk_attach_probes *probes, pid_t pid, int fd, bool with_executions,
                          enum ntk_attach_first *out_first, struct ntk_err *err);
/* Sets the probes for executions at one place of a file in the calling process, to measure their
 * cost. */
int ntk_attach_probes_add_trial(struct ntk_attach_probes *probes, int fd, uint64_t offset,
                                struct ntk_err *err);
/* Stops tracing executions. */
void ntk_attach_probes_drop_executions(struct ntk_attach_probes *probes);
/* Stops tracing all calls; earlier reports can still be read. */
void ntk_attach_probes_drop(struct ntk_attach_probes *probes);

/* A descriptor that becomes readable for urgent events. */
int ntk_attach_probes_fd(const struct ntk_attach_probes *probes);
/* Calls the function for all available events. */
void ntk_attach_probes_consume(struct ntk_attach_probes *probes);
void ntk_attach_probes_counts(const struct ntk_attach_probes *probes,
                              struct ntk_attach_counts *out_counts);

/* Walks through a map that changes in the meantime: an entry may be visited twice, and a new or
 * removed entry not at all. */
void ntk_attach_probes_each_missed(const struct ntk_attach_probes *probes,
                                   void (*fn)(const struct ntk_attach_missed_key *key,
                                              const struct ntk_attach_missed *missed, void *ctx),
                                   void *ctx);
void ntk_attach_probes_each_tensor(const struct ntk_attach_probes *probes,
                                   void (*fn)(uint64_t handle,
                                              const struct ntk_attach_tensor *tensor, void *ctx),
                                   void *ctx);
bool ntk_attach_probes_tensor(const struct ntk_attach_probes *probes, uint64_t handle,
                              struct ntk_attach_tensor *out_tensor);
/* Forgets tensors created before this time. */
void ntk_attach_probes_forget_tensors(const struct ntk_attach_probes *probes, uint64_t before_ns);
/* Forgets the calls that the callback selects; returns whether there were any. */
bool ntk_attach_probes_forget_calls(const struct ntk_attach_probes *probes,
                                    bool (*is_over)(uint32_t tid,
                                                    const struct ntk_attach_call *call, void *ctx),
                                    void *ctx);
/* Returns true if the thread is still in the call that it started at that time. */
bool ntk_attach_probes_is_running(const struct ntk_attach_probes *probes, uint32_t tid,
                                  uint64_t start_ns);

#endif
