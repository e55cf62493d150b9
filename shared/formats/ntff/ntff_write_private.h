/* SPDX-License-Identifier: MIT */
/*
 * ntff_write_private - the state of a capture that is being written; shared by ntff_write.c, which
 * takes records, and ntff_write_file.c, which writes the file.
 */
#ifndef NTK_SHARED_FORMATS_NTFF_NTFF_WRITE_PRIVATE_H
#define NTK_SHARED_FORMATS_NTFF_NTFF_WRITE_PRIVATE_H

#include <errno.h>

#include "shared/base/fs.h"
#include "shared/formats/ntff/ntff.h"
#include "shared/formats/ntff/ntff_spool.h"

/* In the order of a core's sections in the file. */
enum section_index {
    SECTION_INSTRUCTION,
    SECTION_EVENT,
    SECTION_ERROR,
    SECTION_DMA,
    SECTION_THROTTLE,
    SECTION_COUNT
};

struct writer_subgraph {
    char *name;
    /* uuid of its NEFF; adjacent subgraphs with the same uuid form a graph */
    uint8_t uuid[NTK_NTFF_UUID_BYTES];
    uint32_t core;
    struct {
        uint64_t address, offset, bytes_count;
    } code[NTK_NTFF_ENGINE_COUNT];
    size_t queue_count;
    struct ntk_ntff_capture_queue *queues; /* the names are copies */
    uint64_t memory_bytes[NTK_NTFF_MEMORY_COUNT];
    struct ntff_spool sections[SECTION_COUNT];
};

struct ntk_ntff_writer {
    struct ntk_fs_replace replace;
    char *folder;
    char *neff_name, *instance_type, *instance_id;
    struct ntk_ntff_capture capture; /* only its numbers; the texts are those above */
    size_t subgraph_count;
    struct writer_subgraph subgraphs[NTK_NTFF_SUBGRAPHS_MAX];
    struct ntff_spool code;
    bool has_times, is_window_set;
    uint64_t start_ps, end_ps;
    int full; /* the negative errno that stopped the recording, or 0 */
    uint64_t records, dropped;
};

static inline bool ntff_is_full_error(int code)
{
    return code == -ENOSPC || code == -EFBIG || code == -EDQUOT;
}

#endif
