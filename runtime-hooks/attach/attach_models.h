/* SPDX-License-Identifier: MIT */
/*
 * attach_models - reports models and executions of an attached process to its segment.
 *
 * A model that was loaded before the probes were set is known only from its executions and has no
 * name.
 *
 * Owner:   the caller's storage, between _init and _fini.
 * Threads: one at a time, the thread that writes the segment.
 */
#ifndef NTK_RUNTIME_HOOKS_ATTACH_ATTACH_MODELS_H
#define NTK_RUNTIME_HOOKS_ATTACH_ATTACH_MODELS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime-hooks/attach/attach_events.h"
#include "shared/abi/segment_abi.h"
#include "shared/base/map.h"

struct ntk_attach_models {
    struct ntk_map models;  /* models by handle */
    struct ntk_map running; /* running executions by thread */
    struct ntk_map missed;  /* processed part of each sum, by a hash of its key */
    uint32_t id;
    uint64_t execution;
    uint64_t missed_busy_ns[NTK_SEGMENT_CORES]; /* busy time in the current pass */
    uint16_t core_count;
};

void ntk_attach_models_init(struct ntk_attach_models *models);
void ntk_attach_models_fini(struct ntk_attach_models *models);

bool ntk_attach_models_knows(const struct ntk_attach_models *models, uint64_t handle);
/* core is that of a new model (and the result of a load: NTK_NO_CORE if it failed). If there is an
 * event, the caller has set the time (ntk_hooks_behalf_at). */
void ntk_attach_models_load(struct ntk_attach_models *models, const struct ntk_attach_load *load,
                            const char *path, uint16_t core, uint16_t core_count);
void ntk_attach_models_unload(struct ntk_attach_models *models,
                              const struct ntk_attach_event *event);
void ntk_attach_models_unload_all(struct ntk_attach_models *models, uint64_t at_ns);
/* Processes an event of kind EXEC_BEGIN or EXEC_END. */
void ntk_attach_models_execute(struct ntk_attach_models *models,
                               const struct ntk_attach_event *event, uint16_t core,
                               uint16_t core_count);

/* For executions known only as sums: call _missed for each sum, then _end with the time since the
 * last pass. */
void ntk_attach_models_missed(struct ntk_attach_models *models,
                              const struct ntk_attach_missed_key *key,
                              const struct ntk_attach_missed *missed, uint16_t core,
                              uint16_t core_count);
void ntk_attach_models_missed_end(struct ntk_attach_models *models, uint64_t window_ns);
/* Ends executions without a reported end. Those that are not running (NULL: all) are not
 * counted. */
void ntk_attach_models_end_lost(struct ntk_attach_models *models,
                                bool (*is_running)(uint32_t tid, uint64_t start_ns, void *ctx),
                                void *ctx);

#endif
