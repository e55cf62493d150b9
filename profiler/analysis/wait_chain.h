/* SPDX-License-Identifier: MIT */
/*
 * wait_chain - finds the root cause of a wait, for example an engine that waited for DMA, which
 * waited for another engine.
 *
 * Causes (dependencies.h) are followed back from the change that ended a wait to the start of the
 * wait. Each engine and each queue on this path is one link, with its time; links with less than a
 * tenth of the wait are omitted. The root is the link that takes the largest part of the wait.
 *
 * Owner:   chains are plain data; ntk_wait_chains_fini() frees a list. Errors: -ENOMEM.
 */
#ifndef NTK_PROFILER_ANALYSIS_WAIT_CHAIN_H
#define NTK_PROFILER_ANALYSIS_WAIT_CHAIN_H

#include "profiler/analysis/dependencies.h"
#include "shared/base/map.h"

#define NTK_CHAIN_LINKS 6
#define NTK_CHAINS_MAX 1024 /* maximum per engine; further chains are one chain without links */

/* Targets of waits: an engine, DMA (as in changes), or another core. */
#define NTK_SOURCE_OTHER_CORE (NTK_NTFF_ENGINE_AXI + 1)
#define NTK_SOURCES (NTK_NTFF_ENGINE_AXI + 2)

struct ntk_chain_link {
    bool is_transfer;
    uint8_t engine; /* the executing engine, or the engine that started the transfer */
    uint8_t opcode; /* for an engine: opcode with the most time; 0 for a transfer, or if unknown */
    /* For a transfer: no instruction of the capture started it, and no queue of its core changes
     * the semaphore (ntk_release.is_foreign) */
    bool is_foreign;
    bool is_not_captured; /* the capture also lacks cores */
    bool is_other_core;   /* not the core that waited */
    uint16_t core;        /* if is_other_core: physical core in its device */
    const char *queue;    /* for a transfer: name in the NEFF; NULL if unknown */
    int64_t part_ps;      /* part of the idle time */
};

struct ntk_wait_chain {
    size_t link_count; /* 0 for further chains, see NTK_CHAINS_MAX */
    /* from the link that ended the wait to the earliest one */
    struct ntk_chain_link links[NTK_CHAIN_LINKS];
    uint8_t source; /* maker of the change, see NTK_SOURCES */
    /* The cause of the earliest link's wait was not recorded */
    bool is_unknown;
    uint64_t count; /* number of waits */
    int64_t idle_ps;
    int64_t longest_ps, longest_at_ps; /* longest wait, and its start */
};

struct ntk_wait_chains {
    size_t count;
    struct ntk_wait_chain *chains; /* longest first, once sorted */
    struct ntk_map indices;        /* maps the key of equal chains to index + 1 */
};

/* Finds the chain of an instruction's wait from from_ps to until_ps, which was ended by a
 * change. */
void ntk_wait_chain_get(const struct ntk_program *program, size_t core_index,
                        const struct ntk_core_dependencies *dependencies, uint32_t item,
                        int64_t from_ps, int64_t until_ps, struct ntk_wait_chain *out);
/* Returns the link with the largest part; of equal ones, the earliest in time. NULL without links,
 * or if the unknown time before the earliest link is longer. */
const struct ntk_chain_link *ntk_wait_chain_root(const struct ntk_wait_chain *chain);
/* Finds the root of all waits for a source: the parts of each engine and of DMA are added. The
 * queue and the opcode are set if all its links have the same. Returns false if it is unknown. */
bool ntk_wait_chains_root(const struct ntk_wait_chains *chains, unsigned source,
                          struct ntk_chain_link *out_root);
/* Adds the chain of one wait. */
int ntk_wait_chains_add(struct ntk_wait_chains *chains, const struct ntk_wait_chain *one);
void ntk_wait_chains_sort(struct ntk_wait_chains *chains);
void ntk_wait_chains_fini(struct ntk_wait_chains *chains);
/* Writes a name such as "DMA queue qSyncIO0", "Vector ACTIVATE", "Tensor WRITE of core 5" or
 * "another core, not captured". */
void ntk_chain_link_name(const struct ntk_chain_link *link, char *buf, size_t buf_bytes);

#endif
