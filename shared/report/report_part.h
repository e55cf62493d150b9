/* SPDX-License-Identifier: MIT */
/*
 * report_part - the parts of a report, each written and read by one file; used only in
 * shared/report.
 *
 * A writer of a group begins and ends the group's object; a reader gets the object of the group,
 * which may be NULL. `ext` is the "neuron_ext" next to it, NULL when the line has none.
 *
 * Owner, threads: the same as for report_field.h.
 */
#ifndef NTK_SHARED_REPORT_REPORT_PART_H
#define NTK_SHARED_REPORT_REPORT_PART_H

#include "shared/base/vec.h"
#include "shared/report/report_field.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the tables of all parts; report.shape.json uses their names ---- */

/* clang-format off */
#define REPORT_TABLES(X) \
    X(core_counts) X(core_state) X(cpu_average) X(cpus) X(device_ext) X(ecc_device) X(event) X(health_reason) X(executions) \
    X(executions_ext) X(hardware) X(hardware_ext) X(instance) X(machine_ext) X(memory_info) X(memory_row) X(model) \
    X(job) X(model_estimated) X(model_ext) X(lost_rank) X(owner) X(rank) X(runtime) X(runtime_cpu) X(runtime_ext) X(self_vcpu) X(self_stats) X(time) \
    X(trouble)
/* clang-format on */
#define REPORT_DECLARE(name) extern const struct report_field report_fields_##name[];
REPORT_TABLES(REPORT_DECLARE)

/* ---- report_runtime.c: one application ---- */

void report_write_runtime(struct report_writer *w, const struct ntk_runtime_sample *runtime);
void report_read_runtime(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                         const json_t *object);
uint32_t report_lnc_of(const struct ntk_snapshot *snapshot,
                       const struct ntk_runtime_sample *runtime);

/* ---- report_cores.c: neuroncore_counters and our part about cores ---- */

void report_write_cores(struct report_writer *w, const struct ntk_runtime_sample *runtime);
/* Writes "neuroncores" of neuron_ext: physical cores with all known facts. */
void report_write_ext_cores(struct report_writer *w, const struct ntk_core_sample *cores,
                            size_t count);
/* Writes "owned_cores": the numbers of the cores, without their work. */
void report_write_owned_cores(struct report_writer *w, const struct ntk_runtime_sample *runtime);
void report_read_cores(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                       const json_t *group, const json_t *ext);
size_t report_read_ext_cores(struct ntk_snapshot *snapshot, const json_t *object,
                             struct ntk_core_sample **out_cores);
/* The logical cores that a runtime lists: those it owns, those with its memory, or all; sorted as
 * texts. The caller frees the list with ntk_vec_fini(). */
void report_list_cores(const struct report_writer *w, const struct ntk_runtime_sample *runtime,
                       struct ntk_vec *out_logical);
/* The version of a physical core: "v3" if the logical one is "v3d". */
void report_physical_version(const struct ntk_snapshot *snapshot, char *to, size_t to_bytes);

/* ---- report_memory.c: memory_used and the rows of our part ---- */

void report_write_memory(struct report_writer *w, const struct ntk_runtime_sample *runtime);
void report_write_ext_memory(struct report_writer *w, const struct ntk_runtime_sample *runtime);
void report_read_memory(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                        const json_t *group, const json_t *ext);
void report_write_host_groups(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                              const uint64_t group[NTK_GROUP_COUNT]);
/* Writes "host" and "neuron_device" if they are known. */
void report_key_totals(struct report_writer *w, const struct ntk_memory_total *host,
                       const struct ntk_memory_total *device);
/* Writes the group's key if the runtime reports the group. */
void report_key_group(struct report_writer *w, const struct ntk_runtime_sample *runtime,
                      enum ntk_memory_group group, uint64_t bytes);

/* ---- report_ranks.c: communicators ---- */

void report_write_ranks(struct report_writer *w, const struct ntk_runtime_sample *runtime);
/* Writes the keys of a rank into an object that the caller opened. */
void report_write_rank(struct report_writer *w, const struct ntk_rank_sample *rank);
void report_read_ranks(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                       const json_t *ext);
/* Writes the machine's "rank_troubles". */
void report_write_troubles(struct report_writer *w);
void report_read_troubles(struct ntk_snapshot *snapshot, const json_t *ext);
/* Writes the machine's "lost_ranks". */
void report_write_lost_ranks(struct report_writer *w);
void report_read_lost_ranks(struct ntk_snapshot *snapshot, const json_t *ext);

/* ---- report_adapters.c: ports of the machine's network adapters ---- */

void report_write_adapters(struct report_writer *w);
void report_read_adapters(struct ntk_snapshot *snapshot, const json_t *ext);

/* ---- report_models.c: loaded_models of memory_used, and the models of our part ---- */

void report_write_models(struct report_writer *w, const struct ntk_runtime_sample *runtime);
void report_write_ext_models(struct report_writer *w, const struct ntk_runtime_sample *runtime);
void report_read_models(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                        const json_t *memory, const json_t *ext);

/* ---- report_system.c: system_data ---- */

void report_write_system(struct report_writer *w);
void report_read_system(struct ntk_snapshot *snapshot, const json_t *data, const json_t *ext);

/* ---- report_hardware.c: instance_info, neuron_hardware_info, neuron_ext of the machine ---- */

void report_write_instance(struct report_writer *w);
void report_read_instance(struct ntk_snapshot *snapshot, const json_t *object);
void report_write_hardware(struct report_writer *w);
void report_read_hardware(struct ntk_snapshot *snapshot, const json_t *object, const json_t *ext);
void report_write_machine_ext(struct report_writer *w);
void report_read_machine_ext(struct ntk_snapshot *snapshot, const json_t *ext);
/* Reads one device of "devices"; the caller passes the index. */
void report_read_ext_device(struct ntk_snapshot *snapshot, struct ntk_device_sample *device,
                            const json_t *object);

/* ---- report_events.c: events ---- */

void report_write_events(struct report_writer *w);
void report_read_events(struct ntk_snapshot *snapshot, const json_t *ext);

/* ---- report_k8s.c: neuron_k8s_info ---- */

void report_write_k8s(struct report_writer *w);
void report_read_k8s(struct ntk_snapshot *snapshot, const json_t *object);

/* ---- report_jobs.c: "job_mapping" of the machine ---- */

void report_write_jobs(struct report_writer *w);
void report_read_jobs(struct ntk_snapshot *snapshot, const json_t *ext);

#ifdef __cplusplus
}
#endif
#endif
