/* SPDX-License-Identifier: MIT */
/*
 * wait_chain - the root cause of a wait, for example an engine that waited for DMA, which waited
 * for another engine.
 *
 * Follows causes (dependencies.h) back from the change that ended a wait to its start. Each engine
 * and each queue on the way is one link, with its time; links with less than a tenth of the wait
 * are omitted. The last link is the root.
 *
 * Owner:   chains are plain data; ntk_wait_chains_fini() frees a list. Pure; -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_WAIT_CHAIN_H
#define NTK_PROFILER_ANALYSIS_WAIT_CHAIN_H

#include "profiler/analysis/dependencies.h"
#include "shared/base/map.h"

#define NTK_CHAIN_LINKS 6
#define NTK_CHAINS_MAX 1024 /* per engine: further ones are one chain without links */

/* What waits are for: an engine, DMA (as in changes), or another core. */
#define NTK_SOURCE_OTHER_CORE (NTK_NTFF_ENGINE_AXI + 1)
#define NTK_SOURCES (NTK_NTFF_ENGINE_AXI + 2)

struct ntk_chain_link {
    bool is_transfer;
    uint8_t engine; /* the executing engine, or the one that started the transfer */
    uint8_t opcode; /* of an engine: the opcode with the most time; 0: a transfer, or unknown */
    /* transfer: no instruction of the capture started it, and no queue of its core changes the
     * semaphore (ntk_release.is_foreign) */
    bool is_foreign;
    bool is_not_captured; /* and the capture lacks cores */
    bool is_other_core;   /* not the core that waited */
    uint16_t core;        /* physical, in its device: if it is another one */
    const char *queue;    /* of a transfer, as in the NEFF; NULL: unknown */
    int64_t part_ps;      /* of the idle time */
};

struct ntk_wait_chain {
    size_t link_count;                            /* 0: see NTK_CHAINS_MAX */
    struct ntk_chain_link links[NTK_CHAIN_LINKS]; /* from what ended the wait to the root */
    uint8_t source;                               /* the maker of the change: see NTK_SOURCES */
    /* the cause of the root's wait was not recorded */
    bool is_unknown;
    uint64_t count; /* of waits */
    int64_t idle_ps;
    int64_t longest_ps, longest_at_ps; /* the longest single one, and its start */
};

struct ntk_wait_chains {
    size_t count;
    struct ntk_wait_chain *chains; /* longest first, once sorted */
    struct ntk_map indices;        /* + 1, by the key of equal chains */
};

/* For the wait of an instruction from from_ps to until_ps, which was ended by a change. */
void ntk_wait_chain_get(const struct ntk_program *program, size_t core_index,
                        const struct ntk_core_dependencies *dependencies, uint32_t item,
                        int64_t from_ps, int64_t until_ps, struct ntk_wait_chain *out);
/* Adds a chain of one wait. */
int ntk_wait_chains_add(struct ntk_wait_chains *chains, const struct ntk_wait_chain *one);
void ntk_wait_chains_sort(struct ntk_wait_chains *chains);
void ntk_wait_chains_fini(struct ntk_wait_chains *chains);
/* "DMA queue qSyncIO0", "Vector ACTIVATE", "Tensor WRITE of core 5", "another core, not
 * captured". */
void ntk_chain_link_name(const struct ntk_chain_link *link, char *buf, size_t buf_bytes);

#endif
