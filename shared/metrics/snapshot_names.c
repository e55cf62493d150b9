/* SPDX-License-Identifier: MIT */
/* snapshot_names - names of enums, and the rows of the .def files as tables. */
#include "shared/metrics/snapshot.h"

const char *const ntk_runtime_group_names[NTK_RUNTIME_GROUP_COUNT] = {
    "execution_stats",
    "memory_used",
    "neuron_runtime_vcpu_usage",
    "neuroncore_counters",
};

const char *const ntk_system_group_names[NTK_SYSTEM_GROUP_COUNT] = {
    "memory_info",
    "neuron_hw_counters",
    "self_stats",
    "vcpu_usage",
};

const char *const ntk_ecc_names[NTK_ECC_COUNT] = {
#define NTK_DEVICE_ECC(symbol, name) #name,
#include "shared/metrics/device.def"
};

#define DEVICE_ROW(name, metric, group, statistic)    \
    { #name,                                          \
      offsetof(struct ntk_device_sample, name),       \
      sizeof((struct ntk_device_sample *)NULL)->name, \
      NTK_DEVICE_HAS_##group,                         \
      NTK_METRIC_##metric,                            \
      statistic },
const struct ntk_device_row ntk_device_rows[NTK_DEVICE_ROWS] = {
#define NTK_DEVICE_BYTES(name, metric, group) DEVICE_ROW(name, metric, group, NULL)
#define NTK_DEVICE_RATIO(name, metric, group, statistic) DEVICE_ROW(name, metric, group, statistic)
#include "shared/metrics/device.def"
};

enum { OF_OPERATIONS, OF_WORK, STORED_NONE = 0, STORED_COLUMN = 1 };
const struct ntk_rank_count_row ntk_rank_count_rows[NTK_RANK_COUNTS] = {
#define NTK_RANK_COUNT(name, of, reported, stored, metric) \
    { #name, OF_##of == OF_WORK, STORED_##stored, NTK_METRIC_##metric },
#include "shared/metrics/rank.def"
};

const char *const ntk_error_code_names[NTK_ERROR_CODE_COUNT] = {
    [NTK_ERROR_CODE_STATUS] = "",
#define NTK_DEVICE_ECC(symbol, name) [NTK_ERROR_CODE_ECC_##symbol] = #name,
#include "shared/metrics/device.def"
    [NTK_ERROR_CODE_RESET] = "device_reset",
};

const char *const ntk_event_kind_names[NTK_EVENT_KIND_COUNT] = {
    [NTK_EVENT_MEM_ALLOC] = "alloc",
    [NTK_EVENT_MEM_FREE] = "free",
    [NTK_EVENT_MODEL_LOAD] = "load",
    [NTK_EVENT_MODEL_UNLOAD] = "unload",
    [NTK_EVENT_ERROR] = "error",
    [NTK_EVENT_PROFILE_START] = "profile_start",
    [NTK_EVENT_PROFILE_STOP] = "profile_stop",
    [NTK_EVENT_MARK] = "mark",
    [NTK_EVENT_MODEL_START] = "model_start",
    [NTK_EVENT_MODEL_STOP] = "model_stop",
};

const char *const ntk_executions_counted_names[NTK_EXECUTIONS_COUNTED_COUNT] = {
    [NTK_EXECUTIONS_ALL] = "all",
    [NTK_EXECUTIONS_PART] = "part",
    [NTK_EXECUTIONS_NONE] = "none",
};
const char *const ntk_hooks_kind_names[NTK_HOOKS_KIND_COUNT] = {
    [NTK_HOOKS_UNKNOWN] = "",
    [NTK_HOOKS_BUILT_IN] = "built-in",
    [NTK_HOOKS_PRELOADED] = "preloaded",
    [NTK_HOOKS_ATTACHED] = "attached",
};

const char *const ntk_cpu_field_names[NTK_CPU_FIELD_COUNT] = {
    "user", "nice", "system", "idle", "io_wait", "irq", "soft_irq",
};

const char *const ntk_memory_group_keys[NTK_GROUP_COUNT] = {
    "application_memory",
    "constants",
    "dma_buffers",
    "tensors",
    "constants",
    "model_code",
    "model_shared_scratchpad",
    "runtime_memory",
    "tensors",
};

const char *const ntk_memory_category_names[NTK_MEMORY_CATEGORY_COUNT] = {
#define NTK_MEMORY(id, symbol, name, location, sysfs, report_key, oom_row, ntff_type) name,
#include "shared/abi/memory.def"
#undef NTK_MEMORY
};

const char *const ntk_engine_labels[NTK_ENGINE_COUNT] = {
#define NTK_ENGINE(id, symbol, neff_file, short_name, label, profiler_name, nki_engine) label,
#include "shared/abi/engine.def"
#undef NTK_ENGINE
};

const char *const ntk_outcome_names[NTK_OUTCOME_COUNT] = {
#define NTK_OUTCOME(id, symbol, name, text) name,
#include "shared/abi/core_counts.def"
};

const char *const ntk_error_class_names[NTK_ERROR_CLASS_COUNT] = {
#define NTK_ERROR_CLASS(id, symbol, name) name,
#include "shared/abi/core_counts.def"
};

#define COLUMN_ONE(member) #member
#define COLUMN_ENGINE(member) "_busy_ns"
#define COLUMN_OUTCOME(member) ""
#define COLUMN_ERROR_CLASS(member) ""
#define NAMES_ONE NULL
#define NAMES_ENGINE ntk_engine_labels
#define NAMES_OUTCOME ntk_outcome_names
#define NAMES_ERROR_CLASS ntk_error_class_names
const struct ntk_core_count_row ntk_core_count_rows[NTK_CORE_COUNT_ROWS] = {
#define NTK_CORE_COUNT(id, member, list, group, metric)                    \
    [id] = { NTK_CORE_COUNT_AT(member), sizeof(char NTK_CORE_LIST_##list), \
             NTK_CORE_HAS_##group,      NTK_METRIC_##metric,               \
             COLUMN_##list(member),     NAMES_##list },
#include "shared/abi/core_counts.def"
};

/* For metrics that are always known. */
#define NTK_CORE_HAS_ANY 0
#define SMALLEST_SUM false
#define SMALLEST_ANY false
#define SMALLEST_LARGEST false
#define SMALLEST_SMALLEST true
#define SMALLEST_EARLIEST true
#define SMALLEST_NONE false
const struct ntk_core_state_row ntk_core_state_rows[NTK_CORE_STATES] = {
#define NTK_CORE_STATE(name, type, report, known, rule, metric, ...)                 \
    { offsetof(struct ntk_core_sample, name), NTK_CORE_HAS_##known, SMALLEST_##rule, \
      NTK_METRIC_##metric },
#include "shared/metrics/core_state.def"
};

const struct ntk_system_row ntk_system_rows[NTK_SYSTEM_FIGURES] = {
#define NTK_SYSTEM_GAUGE(id, name, group, rule, metric) \
    { #name, NTK_SYSTEM_HAS_##group, NTK_SYSTEM_GROUP_MEMORY, false, NTK_METRIC_##metric },
#define NTK_SYSTEM_COUNTER(id, name, group, key, metric) \
    { #name, NTK_SYSTEM_HAS_##group, NTK_SYSTEM_GROUP_CPU, true, NTK_METRIC_##metric },
#include "shared/metrics/system.def"
};

const struct ntk_machine_text ntk_instance_texts[NTK_INSTANCE_TEXTS] = {
#define NTK_INSTANCE_TEXT(name, reported, key, column, place, label) { column, label, place },
#include "shared/metrics/machine.def"
};
const struct ntk_machine_text ntk_hardware_texts[NTK_HARDWARE_TEXTS] = {
#define NTK_HARDWARE_TEXT(name, part, key, column) { column, NULL, 0 },
#include "shared/metrics/machine.def"
};

const struct ntk_job_text ntk_job_texts[NTK_JOB_TEXTS] = {
#define NTK_JOB_TEXT(name, column, label) { column, label },
#include "shared/metrics/job.def"
};

const char *const ntk_adapter_words[NTK_ADAPTER_COUNT] = {
#define NTK_ADAPTER(family, word) #word,
#include "shared/abi/adapter.def"
};
const struct ntk_adapter_row ntk_adapter_rows[NTK_ADAPTER_COUNTERS] = {
#define NTK_ADAPTER_COUNTER(family, symbol, name, metric) \
    { NTK_ADAPTER_##family, name, NTK_METRIC_##metric },
#include "shared/abi/adapter.def"
};

const char *const ntk_trouble_kind_names[NTK_TROUBLE_KIND_COUNT] = { "hangs", "broke", "slow",
                                                                     "slower" };
const char *const ntk_rank_state_names[NTK_RANK_STATE_COUNT] = { "joined", "left", "broken" };
const char *const ntk_collective_names[NTK_COLLECTIVE_COUNT] = {
#define NTK_COLLECTIVE(id, symbol, name) name,
#include "shared/abi/collective.def"
};
