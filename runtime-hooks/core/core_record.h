/* SPDX-License-Identifier: MIT */
/*
 * core_record - records one step of an execution on the engines in every capture that needs it:
 * that of the model (core_profile.c) and those of the core (core_recorder.c).
 *
 * Owner:   caller's storage.
 * Threads: the caller holds the execution lock of the step's core during all calls for the step.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_RECORD_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_RECORD_H

#include "runtime-hooks/core/core_model.h"
#include "shared/formats/ntff/ntff.h"

#define CORE_RECORD_SINKS (1U + NTK_CORE_RECORDER_SLOTS)

/* Where a step's subgraph is recorded in one capture. */
struct core_record_sink {
    struct ntk_ntff_writer *writer;
    size_t subgraph;    /* index in the capture */
    uint64_t offset_ps; /* start of the step on the capture's clock */
};

struct core_record_lane {
    struct core_record_sink sinks[CORE_RECORD_SINKS];
    size_t sink_count;
    struct ntk_engine_trace trace;
};

/* The recording of a step; its lanes are the step's subgraphs. Must not be moved. */
struct core_step_record {
    struct core_capture *capture; /* NULL if the model is not recorded */
    struct core_nc *nc;
    bool is_on; /* false: the other members are not set */
    bool is_recorder_on[NTK_CORE_RECORDER_SLOTS];
    struct core_record_lane lanes[NTK_CORE_LNC_MAX];
};

void core_step_record_begin(struct core_step_record *record, struct core_capture *capture,
                            struct ntk_core_model *model, uint32_t step_index,
                            uint64_t execution_id);
/* The callbacks for one subgraph; NULL while nothing records. */
const struct ntk_engine_trace *core_step_record_trace(const struct core_step_record *record,
                                                      uint32_t subgraph);
void core_step_record_end(struct core_step_record *record, uint64_t device_ns, bool has_failed);

/* Describes some steps of a model for the head of a capture. Zero-filled if all subgraphs are on
 * the host. */
struct core_record_description {
    struct ntk_ntff_capture capture;
    struct ntk_ntff_capture_subgraph *subgraphs;
};
int core_record_describe(const struct ntk_core_model *model, uint32_t first_step,
                         uint32_t step_count, struct core_record_description *out_description);
void core_record_description_fini(struct core_record_description *description);

/* --- core_profile.c --- */

struct core_record_sink core_capture_sink(const struct core_capture *capture, uint32_t step,
                                          uint32_t subgraph);
/* Called after a step with this duration in device time. */
void core_capture_step_end(struct core_capture *capture, uint64_t device_ns);

/* --- core_recorder.c --- */

/* Returns false if the recorder does not record this step. *out_first is the index of its first
 * subgraph. */
bool core_recorder_step_begin(struct ntk_core_recording *recorder,
                              const struct ntk_core_model *model, uint32_t step_index,
                              uint64_t execution_id, uint64_t device_clock_ns,
                              struct core_record_sink *out_first);
void core_recorder_step_end(struct ntk_core_recording *recorder, uint64_t device_end_ns,
                            bool has_failed);

#endif
