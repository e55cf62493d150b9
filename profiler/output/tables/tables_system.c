/* SPDX-License-Identifier: MIT */
/* tables_system - defines the tables of schema 7.4.0 for folders of inspections. */
#include "profiler/output/tables/columns.h"
#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/rows_split.h"
#include "profiler/output/tables/rows_system.h"
#include "profiler/output/tables/tables.h"

static const struct ntk_column cpu_usage[] = {
    ALWAYS(ntk_cpu_row, time_ns, "timestamp", I64, "ns", "time since the Unix epoch"),
    ALWAYS(ntk_cpu_row, percent, "util_percent", F64, "",
           "percentage of time that the processor was busy since the previous sample, 0 to 100"),
    ALWAYS(ntk_cpu_row, cpu, "cpu_id", TEXT, "",
           "number of the processor, from 0; 'average' is the mean of all processors"),
    ALWAYS(ntk_cpu_row, instance, "instance_id", TEXT, "", "machine"),
    MAYBE(ntk_cpu_row, ultraserver, "ultraserver_id", I64, "",
          "UltraServer that contains this machine"),
    MAYBE(ntk_cpu_row, ultraserver_index, "ultraserver_instance_index", I64, "",
          "position of the machine in the UltraServer"),
};

static const struct ntk_column device_profile_list[] = {
    ALWAYS(ntk_device_profile_row, name, "device_profile_name", TEXT, "", "capture file"),
    ALWAYS(ntk_device_profile_row, instance, "instance_id", TEXT, "", "machine"),
    MAYBE(ntk_device_profile_row, process, "process_id", I64, "", "process"),
    MAYBE(ntk_device_profile_row, nc, "nc_id", I64, "", "logical core of the process"),
    MAYBE(ntk_device_profile_row, session, "session_id", I64, "",
          "session number if the capture recorded a whole session; missing if it recorded one "
          "execution"),
    MAYBE(ntk_device_profile_row, model, "model_id", I64, "", "model"),
};

static const struct ntk_column execution[] = {
    ALWAYS(ntk_split_row, exec_id, "exec_id", I64, "", "number of the execution in its process"),
    ALWAYS(ntk_split_row, nc, "nc_idx", I64, "", "logical core of the process"),
    MAYBE(ntk_split_row, model_id, "model_id", I64, "", "model"),
    MAYBE(ntk_split_row, model, "model_name", TEXT, "", "name of the model"),
    MAYBE(ntk_split_row, bound, "bound", TEXT, "",
          "device, queue or host: the largest of device_ns, queue_busy_ns and host_ns"),
    MAYBE(ntk_split_row, sequence, "sequence", I64, "",
          "sequence number of an asynchronous execution"),
    ALWAYS(ntk_split_row, time_ns, "timestamp", I64, "ns", "start (since the Unix epoch)"),
    MAYBE(ntk_split_row, submit_ns, "submit_ns", I64, "ns", "duration of kbl_exec_pre"),
    MAYBE(ntk_split_row, queue_ns, "queue_ns", I64, "ns",
          "time from the end of kbl_exec_pre to the device's first work for the execution"),
    MAYBE(ntk_split_row, queue_busy_ns, "queue_busy_ns", I64, "ns",
          "part of queue_ns during which the core ran other executions"),
    MAYBE(ntk_split_row, switch_ns, "switch_ns", I64, "ns",
          "time that the core needed to switch to the model, maximum over physical cores"),
    MAYBE(ntk_split_row, device_ns, "device_ns", I64, "ns",
          "time that the execution ran on the core, maximum over physical cores"),
    MAYBE(ntk_split_row, notify_ns, "notify_ns", I64, "ns",
          "time from the end of the run to the end of kbl_exec_wait"),
    MAYBE(ntk_split_row, post_ns, "post_ns", I64, "ns", "duration of kbl_exec_post"),
    MAYBE(ntk_split_row, total_ns, "total_ns", I64, "ns",
          "time from the start of kbl_exec_pre to the end of kbl_exec_post"),
    MAYBE(ntk_split_row, host_ns, "host_ns", I64, "ns",
          "total_ns minus device_ns, switch_ns and queue_busy_ns"),
    ALWAYS(ntk_split_row, is_partial, "is_partial", BOOL, "",
           "whether a step is missing from the trace"),
    MAYBE(ntk_split_row, process, "process_id", I64, "", "process"),
    ALWAYS(ntk_split_row, instance, "instance_id", TEXT, "", "machine"),
};

static const struct ntk_column load[] = {
    ALWAYS(ntk_load_row, nc, "nc_idx", I64, "", "logical core of the process"),
    MAYBE(ntk_load_row, model_id, "model_id", I64, "", "model"),
    MAYBE(ntk_load_row, model, "model_name", TEXT, "", "name of the model"),
    ALWAYS(ntk_load_row, time_ns, "timestamp", I64, "ns", "start (since the Unix epoch)"),
    ALWAYS(ntk_load_row, duration_ns, "duration", I64, "ns", "length"),
    MAYBE(ntk_load_row, alloc_count, "alloc_count", I64, "",
          "number of device memory allocations during the load"),
    MAYBE(ntk_load_row, alloc_bytes, "alloc_bytes", I64, "B", "bytes of these allocations"),
    MAYBE(ntk_load_row, alloc_ns, "alloc_ns", I64, "ns",
          "time during which an allocation was in progress"),
    MAYBE(ntk_load_row, copy_count, "copy_count", I64, "",
          "number of copies to the device during the load"),
    MAYBE(ntk_load_row, copy_bytes, "copy_bytes", I64, "B", "bytes of these copies"),
    MAYBE(ntk_load_row, copy_ns, "copy_ns", I64, "ns", "time during which a copy was in progress"),
    MAYBE(ntk_load_row, rest_ns, "rest_ns", I64, "ns",
          "remaining host time, which the trace does not break down"),
    ALWAYS(ntk_load_row, is_partial, "is_partial", BOOL, "",
           "whether the end is missing from the trace"),
    MAYBE(ntk_load_row, process, "process_id", I64, "", "process"),
    ALWAYS(ntk_load_row, instance, "instance_id", TEXT, "", "machine"),
};

static const struct ntk_column out_of_memory[] = {
    ALWAYS(ntk_oom_row, time_ns, "timestamp", I64, "ns",
           "time of the failure (since the Unix epoch)"),
    ALWAYS(ntk_oom_row, nc, "nc_idx", I64, "", "logical core of the process"),
    MAYBE(ntk_oom_row, hbm, "hbm_idx", I64, "", "memory stack of the device"),
    MAYBE(ntk_oom_row, device, "device_idx", I64, "", "device of the machine"),
    ALWAYS(ntk_oom_row, usage, "usage", TEXT, "", "purpose of the memory"),
    MAYBE(ntk_oom_row, size, "size", I64, "B", "requested bytes"),
    ALWAYS(ntk_oom_row, code, "return_code", I64, "", "error code; 12 means out of memory"),
    MAYBE(ntk_oom_row, model_id, "model_id", I64, "", "model of the enclosing load or execution"),
    MAYBE(ntk_oom_row, model, "model_name", TEXT, "", "name of the model"),
    MAYBE(ntk_oom_row, call, "call", TEXT, "", "nrt_load, nrt_execute"),
    MAYBE(ntk_oom_row, total_bytes, "total_bytes", I64, "B",
          "bytes in use in this memory when the allocation failed"),
    MAYBE(ntk_oom_row, capacity_bytes, "capacity", I64, "B", "capacity of the memory"),
    ALWAYS(ntk_oom_row, is_fragmented, "is_fragmented", BOOL, "",
           "true if the trace shows enough free bytes, so memory is fragmented or another process "
           "holds it"),
    ALWAYS(ntk_oom_row, by_usage, "by_usage", JSON, "",
           "memory by usage, largest first: usage, bytes, peak_bytes"),
    ALWAYS(ntk_oom_row, largest, "largest", JSON, "",
           "largest allocations that were not freed: physical_address, bytes, usage, nc_idx, "
           "timestamp"),
    ALWAYS(ntk_oom_row, freed_count, "freed_count", I64, "",
           "number of allocations in the trace that were freed before the failure"),
    ALWAYS(ntk_oom_row, freed_bytes, "freed_bytes", I64, "B", "bytes of these allocations"),
    ALWAYS(ntk_oom_row, kept_count, "not_freed_count", I64, "",
           "number of allocations in the trace that were not freed before the failure"),
    ALWAYS(ntk_oom_row, kept_bytes, "not_freed_bytes", I64, "B", "bytes of these allocations"),
    ALWAYS(ntk_oom_row, failed_count, "failed_count", I64, "",
           "number of failures in the whole trace"),
    MAYBE(ntk_oom_row, process, "process_id", I64, "", "process"),
    ALWAYS(ntk_oom_row, instance, "instance_id", TEXT, "", "machine"),
};

static const struct ntk_column host_mem_usage[] = {
    ALWAYS(ntk_host_memory_row, time_ns, "timestamp", I64, "ns", "time since the Unix epoch"),
    ALWAYS(ntk_host_memory_row, used_bytes, "used_bytes", I64, "B", "bytes in use on the machine"),
    MAYBE(ntk_host_memory_row, used_percent, "used_percent", F64, "",
          "percentage of the machine's memory that is in use, 0 to 100"),
    ALWAYS(ntk_host_memory_row, instance, "instance_id", TEXT, "", "machine"),
    MAYBE(ntk_host_memory_row, ultraserver, "ultraserver_id", I64, "",
          "UltraServer that contains this machine"),
    MAYBE(ntk_host_memory_row, ultraserver_index, "ultraserver_instance_index", I64, "",
          "position of the machine in the UltraServer"),
};

static const struct ntk_column system_profile_events[] = {
    ALWAYS(ntk_system_event_row, id, "id", I64, "", "id, unique in the profile"),
    ALWAYS(ntk_system_event_row, name, "name", TEXT, "", "type of the event"),
    ALWAYS(ntk_system_event_row, start_ns, "start_ts", I64, "ns", "start (since the Unix epoch)"),
    ALWAYS(ntk_system_event_row, end_ns, "end_ts", I64, "ns", "end (since the Unix epoch)"),
    ALWAYS(ntk_system_event_row, duration_ns, "duration_ns", I64, "ns",
           "duration; for neuron_hw, measured by the clock of the core"),
    ALWAYS(ntk_system_event_row, source, "trace_event_source", TEXT, "",
           "neuron_rt for the host, neuron_hw for the device"),
    ALWAYS(ntk_system_event_row, instance, "instance_id", TEXT, "", "machine"),
    MAYBE(ntk_system_event_row, process, "process_id", I64, "", "process"),
    ALWAYS(ntk_system_event_row, thread, "thread_id", I64, "", "thread of the process"),
    MAYBE(ntk_system_event_row, nc, "nc_idx", I64, "", "logical core of the process"),
    MAYBE(ntk_system_event_row, device_core, "pcore_idx", I64, "",
          "physical core on its device; only for events of neuron_hw"),
    MAYBE(ntk_system_event_row, worker, "worker_gid", I64, "", "logical core of the machine"),
    MAYBE(ntk_system_event_row, flow, "flow_id", TEXT, "",
          "JSON list that is the same for all events of one execution"),
    NEVER("framework_stream_id", TEXT, "", "framework stream"),
    MAYBE(ntk_system_event_row, attributes, "extra_attributes_json", TEXT, "",
          "JSON object: exec_id, nc_timestamp_ns, model_id, model_name, tensor_name, usage, "
          "hbm_idx, allocated_bytes, freed_bytes, total_bytes, usage_type_total_bytes, "
          "physical_address, return_code, mark, value, size, queue, communicator, sequence, "
          "operation, is_partial; other keys from the vendor's files"),
};

static const struct ntk_column system_profile_hbm_usage[] = {
    ALWAYS(ntk_hbm_row, time_ns, "timestamp", I64, "ns",
           "time from which the values apply (since the Unix epoch)"),
    ALWAYS(ntk_hbm_row, total_bytes, "total_bytes", I64, "B",
           "bytes that all processes use in this memory"),
#define NTK_MEMORY_USE(symbol, name, vendor, ours, meaning) \
    ALWAYS(ntk_hbm_row, type_bytes[NTK_HBM_##symbol], name "_bytes", I64, "B", meaning),
#include "profiler/system/memory_use.def"
    MAYBE(ntk_hbm_row, device, "device_idx", I64, "", "device of the machine"),
    ALWAYS(ntk_hbm_row, hbm, "hbm_idx", I64, "", "memory stack of the device"),
    ALWAYS(ntk_hbm_row, instance, "instance_id", TEXT, "", "machine"),
};

static const struct ntk_column system_profile_metadata[] = {
    MAYBE(ntk_system_metadata_row, first, "first_ts", TEXT, "", "time of the first event"),
    MAYBE(ntk_system_metadata_row, last, "last_ts", TEXT, "", "time of the last event"),
    MAYBE(ntk_system_metadata_row, first_ns, "first_ts_ns", TEXT, "ns",
          "time of the first event (since the Unix epoch)"),
    MAYBE(ntk_system_metadata_row, last_ns, "last_ts_ns", TEXT, "ns",
          "time of the last event (since the Unix epoch)"),
    MAYBE(ntk_system_metadata_row, ntff_version, "ntff_version", I64, "",
          "NTFF version of the captures"),
    NEVER("hbm_capacity_bytes", I64, "B", "device memory of the machine"),
    MAYBE(ntk_system_metadata_row, instance_type, "instance_type", TEXT, "", "machine type"),
    MAYBE(ntk_system_metadata_row, lnc, "lnc", I64, "", "physical cores per logical core"),
    MAYBE(ntk_system_metadata_row, trace_version, "trace_version", I64, "",
          "version of the vendor runtime's files"),
    MAYBE(ntk_system_metadata_row, ultraserver, "ultraserver_id", TEXT, "",
          "UltraServer that contains this machine"),
    MAYBE(ntk_system_metadata_row, ultraserver_type, "ultraserver_type", TEXT, "",
          "type of the UltraServer"),
    MAYBE(ntk_system_metadata_row, ultraserver_size, "ultraserver_size", I64, "",
          "number of machines in the UltraServer"),
    MAYBE(ntk_system_metadata_row, ultraserver_index, "ultraserver_instance_index", I64, "",
          "position of the machine in the UltraServer"),
    MAYBE(ntk_system_metadata_row, ip_address, "ip_address", TEXT, "",
          "IP address of the machine; only with --private"),
    MAYBE(ntk_system_metadata_row, host_name, "host_name", TEXT, "",
          "host name of the machine; only with --private"),
};

static const struct ntk_column warning[] = {
    ALWAYS(ntk_warning_row, message, "message", TEXT, "", "sentence"),
    ALWAYS(ntk_warning_row, category, "category", TEXT, "", "kind"),
};

static const struct ntk_table tables[] = {
    TABLE("CpuUsage", "Host processor load over time.", cpu_usage, ntk_rows_system_cpus),
    TABLE("DeviceProfileList", "Captures next to the traces.", device_profile_list,
          ntk_rows_system_device_profiles),
    TABLE("Execution", "Executions, and where their time went.", execution,
          ntk_rows_system_executions),
    TABLE("HostMemUsage", "Host memory over time.", host_mem_usage, ntk_rows_system_host_memory),
    TABLE("Load", "Model loads, and where their time went.", load, ntk_rows_system_loads),
    TABLE("OutOfMemory", "Failed device memory allocations, and what filled the memory.",
          out_of_memory, ntk_rows_system_out_of_memory),
    TABLE("SchemaFields", "These tables and their columns.", ntk_schema_fields,
          ntk_rows_schema_fields),
    TABLE("SystemProfileEvents", "Host thread and core activity.", system_profile_events,
          ntk_rows_system_events),
    TABLE("SystemProfileHbmUsage", "Device memory of all processes over time, by type.",
          system_profile_hbm_usage, ntk_rows_system_hbm),
    TABLE("SystemProfileMetadata", "Start and end of the recording, and the machine.",
          system_profile_metadata, ntk_rows_system_metadata),
    TABLE("Warning", "Notes and warnings.", warning, ntk_rows_system_warnings),
};

const struct ntk_table *ntk_tables_system(size_t *out_count)
{
    *out_count = sizeof tables / sizeof *tables;
    return tables;
}

const struct ntk_table *ntk_tables_of(const struct ntk_export *export, size_t *out_count)
{
    return export->folders ? ntk_tables_system(out_count) : ntk_tables_schema(out_count);
}
