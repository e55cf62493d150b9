/* SPDX-License-Identifier: MIT */
/*
 * vendor_folder - the vendor's folder of an inspection, made record by record.
 *
 * Owner:   caller's storage; vendor_folder_fini() frees.
 */
#ifndef NTK_TESTS_SUPPORT_VENDOR_FOLDER_H
#define NTK_TESTS_SUPPORT_VENDOR_FOLDER_H

#include "shared/formats/ntrace/vendor_trace.h"

struct vendor_folder {
    struct ntk_vendor_trace_info info; /* texts are borrowed, tables belong to the folder */
    struct ntk_buf records, cpu, memory;
    uint64_t next[64];    /* number of the next record of each ring */
    uint64_t type_offset; /* names have other ids in another version */
};

struct vendor_moment {
    const char *type;
    unsigned phase; /* enum ntk_vendor_trace_phase */
    uint64_t time_ns;
    uint64_t tracking_id; /* 0: a separate number */
    uint64_t sequence;
    uint32_t thread, ring;
    const char *pairs; /* "nc_idx=0 size=4" */
};

/* A recording of process 41 from 1000 to 100000 ns, with model 77. */
void vendor_folder_init(struct vendor_folder *folder, unsigned version);
void vendor_folder_fini(struct vendor_folder *folder);
/* Appends a record; returns its number. */
uint64_t vendor_folder_add(struct vendor_folder *folder, const struct vendor_moment *moment);
/* Appends a start and its stop; returns the number of the start. */
uint64_t vendor_folder_span(struct vendor_folder *folder, const char *type, uint32_t thread,
                            uint64_t start_ns, uint64_t end_ns, const char *start_pairs,
                            const char *stop_pairs);
uint64_t vendor_folder_type(struct vendor_folder *folder, const char *name);
void vendor_folder_cpu(struct vendor_folder *folder, uint64_t time_ns, uint64_t processor,
                       float percent);
void vendor_folder_memory(struct vendor_folder *folder, uint64_t time_ns, uint64_t bytes);
/* Only trace_info.pb. */
void vendor_folder_write_info(const struct vendor_folder *folder, const char *path);
/* Writes all files into an existing folder; aborts on failure. */
void vendor_folder_write(const struct vendor_folder *folder, const char *path);

#endif
