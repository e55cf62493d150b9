/* SPDX-License-Identifier: MIT */
/*
 * rows_system - defines the rows of tables of an export of folders, and the functions that create
 * them.
 *
 * Times are ns since 1970. Rows are ordered by folder, then by time; rows of device
 * memory, which processes share, only by time. A member missing in the files is absent (see
 * table.h). Texts are borrowed from the export or constants, or last for the row.
 */
#ifndef NTK_PROFILER_OUTPUT_TABLES_ROWS_SYSTEM_H
#define NTK_PROFILER_OUTPUT_TABLES_ROWS_SYSTEM_H

#include "profiler/output/export.h"
#include "profiler/output/tables/table.h"
#include "profiler/system/memory_use_name.h"

/* An argument of a row in addition to times and places: text is NULL for a number. */
struct ntk_system_argument {
    const char *key, *text;
    int64_t number;
};
#define NTK_SYSTEM_EXTRAS_MAX 64

struct ntk_system_event_row {
    int64_t id; /* from 1, over all folders */
    int64_t parent_id;
    int64_t start_ns, end_ns, duration_ns;
    const char *name;   /* such as "nrt_execute" */
    const char *source; /* "neuron_rt" or "neuron_hw" */
    const char *instance;
    int64_t process, thread;
    int64_t nc, worker; /* nc is relative to the process, worker is global */
    int64_t device_core;
    int64_t exec_id;
    const char *flow; /* such as ["41.3"]: process and execution */
    bool is_instant, is_partial;
    /* The members below are only used for some types. */
    int64_t model_id;
    const char *model, *tensor, *usage; /* usage: use of device memory */
    const char *mark;                   /* name of the mark */
    const char *label;                  /* name of the mark, else of the type */
    const char *communicator;           /* for a collective; NULL if unknown */
    int64_t sequence;                   /* number in the communicator */
    const char *operation;              /* such as "all_gather"; NULL if unknown */
    int64_t bytes, value, queue;        /* value belongs to a mark */
    int64_t device_ns;                  /* start, on the clock of the core */
    /* Members for device memory. */
    int64_t hbm, allocated_bytes, freed_bytes, total_bytes, usage_bytes, code;
    const char *address;
    size_t extra_count; /* further keys of the vendor's files */
    struct ntk_system_argument extras[NTK_SYSTEM_EXTRAS_MAX];
    const char *attributes; /* all these keys as a JSON object; absent if none */
};

#define NTK_SYSTEM_ARGUMENTS_MAX (20 + NTK_SYSTEM_EXTRAS_MAX)
size_t ntk_rows_system_arguments(const struct ntk_system_event_row *row,
                                 struct ntk_system_argument out[NTK_SYSTEM_ARGUMENTS_MAX]);

struct ntk_cpu_row {
    int64_t time_ns, until_ns; /* until_ns: time of the next sample */
    const char *cpu;           /* such as "average" for all processors at one time */
    int64_t index;             /* absent for the average */
    double percent;            /* 0 to 100 */
    const char *instance;
    /* UltraServer of the machine, and the machine's index in it */
    int64_t ultraserver, ultraserver_index;
};

struct ntk_host_memory_row {
    int64_t time_ns, until_ns;
    int64_t used_bytes;
    double used_percent; /* 0 to 100; absent if the total is unknown */
    const char *instance;
    int64_t ultraserver, ultraserver_index;
};

struct ntk_hbm_row { /* valid from that moment on */
    int64_t time_ns;
    int64_t total_bytes, type_bytes[NTK_HBM_TYPE_COUNT];
    int64_t device, hbm; /* hbm: stack in its device; device is absent if the machine is unknown */
    const char *instance;
};

struct ntk_system_metadata_row {
    const char *first, *last;       /* such as "2026-11-21T12:50:26.245545470Z" */
    const char *first_ns, *last_ns; /* such as "1795265426245545470" */
    int64_t ntff_version;
    const char *instance_type; /* from the first folder, like the next members */
    int64_t lnc, trace_version, ultraserver_size, ultraserver_index;
    const char *ultraserver, *ultraserver_type;
    const char *ip_address, *host_name; /* if requested */
};

struct ntk_device_profile_row {
    const char *name; /* name of the file */
    const char *instance;
    int64_t process, nc, session, model;
};

/* Returns its instance; "" if not in any file. */
const char *ntk_rows_system_instance(const struct ntk_system_trace *trace);
/* Returns its number; absent if not in any file. */
int64_t ntk_rows_system_process(const struct ntk_system_trace *trace);

#define NTK_SYSTEM_ROWS(name) \
    int ntk_rows_system_##name(const struct ntk_export *export, ntk_row_put *put, void *ctx)

NTK_SYSTEM_ROWS(events);          /* struct ntk_system_event_row */
NTK_SYSTEM_ROWS(cpus);            /* struct ntk_cpu_row */
NTK_SYSTEM_ROWS(host_memory);     /* struct ntk_host_memory_row */
NTK_SYSTEM_ROWS(hbm);             /* struct ntk_hbm_row */
NTK_SYSTEM_ROWS(metadata);        /* struct ntk_system_metadata_row; one row */
NTK_SYSTEM_ROWS(device_profiles); /* struct ntk_device_profile_row */
NTK_SYSTEM_ROWS(warnings);        /* struct ntk_warning_row */

#define NTK_HBM_NAME_BYTES 48
/* Writes device and stack, such as "HBM 0:1". */
void ntk_rows_hbm_name(const struct ntk_hbm_row *row, char *buf, size_t buf_bytes);

/* Returns the earliest time of host events, samples and placed captures; 0 if none. */
int64_t ntk_rows_system_first_ns(const struct ntk_export *export);
/* Returns the offset of the capture's times from that moment; 0 if the capture is not placed. */
int64_t ntk_rows_system_offset_ns(const struct ntk_export_capture *capture, int64_t first_ns);

#endif
