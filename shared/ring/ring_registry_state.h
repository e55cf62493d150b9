/* SPDX-License-Identifier: MIT */
/*
 * ring_registry_state - the registry, for its parts: the list of segments (ring_registry.c), the
 * folders (ring_scan.c), their files (ring_files.c) and why files are ignored (ring_ignored.c).
 * Private to shared/ring.
 *
 * Owner, threads: the same as for the registry.
 */
#ifndef NTK_SHARED_RING_RING_REGISTRY_STATE_H
#define NTK_SHARED_RING_RING_REGISTRY_STATE_H

#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/ring/ring_folder.h"
#include "shared/ring/ring_known.h"
#include "shared/ring/ring_liveness.h"
#include "shared/ring/ring_registry.h"
#include "shared/ring/ring_segment.h"

#define NTK_RING_ENTRIES_OF_FOLDER 2048u /* names of one folder that one poll checks */

struct ntk_ring_registry {
    struct ntk_ring_options options;
    char *folder;
    char *proc_root;
    struct ring_folder *parent; /* folder that contains the users' folders, or NULL */
    struct ntk_vec folders;     /* elements are struct ring_folder * */
    size_t next_folder;         /* folder at which the next poll begins */
    struct ntk_vec segments;    /* elements are struct ntk_ring_segment * */
    struct ntk_map by_file;     /* the same segments by file_number() */
    struct ring_known known;
    char *made_folder; /* folder that we created and remove if it is empty, or NULL */
    uint64_t begin_ns;
    uint64_t poll_count;
    uint64_t poll_ns;
    struct ntk_ring_poll *out; /* output of the current poll */
    uint64_t ended_count;
    uint64_t released;
    uint64_t serial;
    struct ntk_ring_liveness liveness;
    uint32_t unreadable_users;
    uint32_t clock_kind; /* clock kind of this machine */
};

/* The key of a file in by_file. */
static inline uint64_t ntk_ring_file_number(uint64_t device, uint64_t inode)
{
    return inode * UINT64_C(0x9e3779b97f4a7c15) ^ device;
}

static inline struct ring_folder *ntk_ring_registry_folder(const struct ntk_ring_registry *registry,
                                                           size_t index)
{
    return *(struct ring_folder **)ntk_vec_at(&registry->folders, index);
}

/* Drop folders if their path leads to another folder now: the user's folders, and the shared
 * place; find those that exist; and check their files. */
void ntk_ring_scan_drop_moved(struct ntk_ring_registry *registry);
void ntk_ring_scan_find(struct ntk_ring_registry *registry);
void ntk_ring_scan_files(struct ntk_ring_registry *registry);

/* Adds a file of the folder to the registry (ctx) if its name is a segment name. */
void ntk_ring_files_take(struct ring_folder *folder, const char *name, void *ctx);
/* Drops a segment that is not needed any more. The file is removed unless another process needs
 * it. */
void ntk_ring_files_leave(struct ntk_ring_registry *registry,
                          const struct ntk_ring_segment *segment);
/* Releases a file that waited for this reader, the registry (ctx). */
void ntk_ring_files_release(struct ring_folder *folder, const char *name, void *ctx);

/* Counts an ignored file or folder, with the reason: a code (-errno) and a message with its
 * name. */
void ntk_ring_ignore(struct ntk_ring_poll *poll, int code, const char *reason);
/* At the end of a poll. */
void ntk_ring_sort_reasons(struct ntk_ring_poll *poll);

#endif
