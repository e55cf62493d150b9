/* SPDX-License-Identifier: MIT */
/*
 * ring_known - the state of files that are not, or no longer, in the list of segments: reported,
 * rejected, to be removed; and the limits per user. Private to this folder of the source.
 *
 * Owner:   zeroed is empty; ntk_ring_known_fini() frees.
 * Threads: as for the registry.
 */
#ifndef NTK_SHARED_RING_RING_KNOWN_H
#define NTK_SHARED_RING_RING_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/map.h"

/* Each user may make a reader open this many files at once, and then this many per second: the rest
 * wait, and none is lost. */
#define RING_USER_OPENS 512
#define RING_USER_OPENS_PER_SECOND 64
/* Files of a user that are remembered; more are not checked. */
#define RING_USER_KNOWN 4096u

struct ring_file {
    uint64_t device;
    uint64_t inode;
    const char *name; /* because some file systems reuse inode numbers at once */
    uint32_t uid;
};

enum ring_known_kind {
    RING_KNOWN_STAYS,  /* reported, and not ours to remove */
    RING_KNOWN_LEAVES, /* reported, to be removed when no other process needs it */
    /* it ended before this reader began: left to another reader, while one may come */
    RING_KNOWN_OLD,
    RING_KNOWN_REFUSED, /* examined again later */
    RING_KNOWN_UNREADY, /* without its magic yet: examined again at twice its age */
};

struct ring_known_file {
    enum ring_known_kind kind;
    uint32_t uid;
    uint64_t folder_device;
    uint64_t folder_inode;
    uint64_t seen_in_pass; /* of its folder */
    uint64_t since_ns;
    /* time at which the others had examined it once, 0 not yet; for an unready one, that of this
     * reader */
    uint64_t looked_ns;
    uint64_t ended_order; /* see ntk_ring_registry_release() */
    int fd; /* of a file to be removed: locks its byte 1 until its contents are stored; -1 */
    bool is_held;
    bool is_unreadable; /* rejected because this user may not read it */
    char *reason;       /* of a rejection; NULL */
};

struct ring_user {
    double opens;
    uint64_t refilled_ns;
    uint32_t segments;
    uint32_t known;
};

struct ring_known {
    struct ntk_map files; /* struct ring_known_file */
    struct ntk_map users; /* struct ring_user, by uid */
};

void ntk_ring_known_fini(struct ring_known *known);
/* NULL: unknown. */
struct ring_known_file *ntk_ring_known_get(const struct ring_known *known,
                                           const struct ring_file *file);
/* Remembers a file, zeroed except for its uid and fd; NULL if out of memory or if its user has too
 * many. */
struct ring_known_file *ntk_ring_known_add(struct ring_known *known, const struct ring_file *file);
void ntk_ring_known_remove(struct ring_known *known, const struct ring_file *file);
/* Forgets files of a folder that a whole pass did not see. */
void ntk_ring_known_forget_unseen(struct ring_known *known, uint64_t folder_device,
                                  uint64_t folder_inode, uint64_t pass);

/* Created at the first request; NULL if out of memory. */
struct ring_user *ntk_ring_known_user(struct ring_known *known, uint32_t uid);
/* Whether a file of this user may be opened now. */
bool ntk_ring_user_may_open(struct ring_user *user, uint64_t now_ns);

#endif
