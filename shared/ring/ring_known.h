/* SPDX-License-Identifier: MIT */
/*
 * ring_known - the state of files that are not, or no longer, in the list of segments: reported,
 * rejected, or to be removed; and the limits per user. Private to shared/ring.
 *
 * Owner:   a zeroed struct is empty; ntk_ring_known_fini() frees.
 * Threads: the same as for the registry.
 */
#ifndef NTK_SHARED_RING_RING_KNOWN_H
#define NTK_SHARED_RING_RING_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/map.h"

/* Number of files that each user may make a reader open at once, and then per second: the other
 * files wait, and none is lost. */
#define RING_USER_OPENS 512
#define RING_USER_OPENS_PER_SECOND 64
/* Maximum number of remembered files per user; further files are not checked. */
#define RING_USER_KNOWN 4096u

struct ring_file {
    uint64_t device;
    uint64_t inode;
    const char *name; /* needed because some file systems reuse inode numbers at once */
    uint32_t uid;
};

enum ring_known_kind {
    RING_KNOWN_STAYS,  /* reported; another reader removes it */
    RING_KNOWN_LEAVES, /* reported; to be removed when no other process needs it */
    /* It ended before this reader began: left to another reader as long as one may come. */
    RING_KNOWN_OLD,
    RING_KNOWN_REFUSED, /* to be examined again later */
    RING_KNOWN_UNREADY, /* has no magic number yet: to be examined again at twice its age */
};

struct ring_known_file {
    enum ring_known_kind kind;
    uint32_t uid;
    uint64_t folder_device;
    uint64_t folder_inode;
    uint64_t seen_in_pass; /* number of the folder's pass that saw it */
    uint64_t since_ns;
    /* Time at which all other readers had examined it once, 0 not yet; for an unready file, time at
     * which this reader examined it. */
    uint64_t looked_ns;
    uint64_t ended_order; /* see ntk_ring_registry_release() */
    int fd; /* for a file to be removed: locks its byte 1 until its contents are stored; else -1 */
    bool is_held;
    int code;     /* -errno with which it was rejected */
    char *reason; /* why it was rejected, or NULL */
};

struct ring_user {
    double opens;
    uint64_t refilled_ns;
    uint32_t segments;
    uint32_t known;
};

struct ring_known {
    struct ntk_map files; /* elements are struct ring_known_file */
    struct ntk_map users; /* struct ring_user by uid */
};

void ntk_ring_known_fini(struct ring_known *known);
/* NULL if the file is unknown. */
struct ring_known_file *ntk_ring_known_get(const struct ring_known *known,
                                           const struct ring_file *file);
/* Adds a file, zeroed except for its uid and fd; NULL if out of memory or if its user has too many
 * files. */
struct ring_known_file *ntk_ring_known_add(struct ring_known *known, const struct ring_file *file);
void ntk_ring_known_remove(struct ring_known *known, const struct ring_file *file);
/* Forgets files of a folder that a whole pass has not seen. */
void ntk_ring_known_forget_unseen(struct ring_known *known, uint64_t folder_device,
                                  uint64_t folder_inode, uint64_t pass);

/* The state of a user, created at the first request; NULL if out of memory. */
struct ring_user *ntk_ring_known_user(struct ring_known *known, uint32_t uid);
/* Returns true if a file of this user may be opened now. */
bool ntk_ring_user_may_open(struct ring_user *user, uint64_t now_ns);

#endif
