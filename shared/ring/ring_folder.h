/* SPDX-License-Identifier: MIT */
/*
 * ring_folder - one folder of segments that is kept open: its mark, its passes, and its other
 * readers; private to shared/ring.
 *
 * A pass walks over the folder's entries in steps of bounded cost, and not at all while nothing
 * changed in it.
 *
 * Readers do not know each other, and none may remove a file that another has not seen. In the mark
 * (NTK_READER_MARK_NAME), each reader holds a read lock on one byte: the time at which its last
 * whole pass began. Before removing a file, a reader asks the kernel whether any other lock is at
 * an earlier time than its last check of the file. A lock ends when its reader ends, for any
 * reason.
 *
 * Owner:   ntk_ring_folder_open() allocates, _close() frees.
 * Threads: the same as for the registry.
 */
#ifndef NTK_SHARED_RING_RING_FOLDER_H
#define NTK_SHARED_RING_RING_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

/* Interval for renewing the mark: a recently renewed mark shows that its reader was alive a moment
 * ago. */
#define RING_FOLDER_RENEW_NS (10 * NTK_NS_PER_SECOND)

struct ring_folder {
    char *path;
    int fd; /* used for reads and removals, even if the path now leads to another folder */
    uint64_t device;
    uint64_t inode;
    uint32_t owner;
    bool has_one_owner; /* only files of one user are trusted */
    uint64_t seen_in_poll;

    int mark_fd; /* -1 if there is none */
    bool marks;  /* this reader removes files: it creates the mark and locks its byte 0 */
    bool stays;  /* leave the mark for the next reader */
    uint64_t look_us;
    uint64_t marked_ns; /* when the mark was last renewed */

    DIR *list; /* directory of the current pass, or NULL */
    uint64_t pass;
    uint64_t pass_begin_ns;
    uint64_t pass_changed_ns; /* the folder's modification time when the pass began */
    /* modification time at the last pass, if nothing was left to do; otherwise 0 */
    uint64_t still_ns;
    bool is_fresh; /* the folder changed just before the pass, which may have missed something */
    bool is_left;  /* this pass found something that needs another pass */
    bool is_owed;  /* this pass found a file that this reader still has to check */
};

enum ring_folder_owner { RING_FOLDER_OF_ANYONE = -1 };

/* owner is the required owner of the folder (its path must not be a link then), or
 * RING_FOLDER_OF_ANYONE. Returns 0, -ENOENT, or -errno with a message. */
int ntk_ring_folder_open(const char *path, int64_t owner, struct ring_folder **out_folder,
                         struct ntk_err *err);
/* Removes the mark if no other process has it open. */
void ntk_ring_folder_close(struct ring_folder *folder);
/* Returns true if the path still leads to this folder. */
bool ntk_ring_folder_is_at(const struct ring_folder *folder, const struct stat *status);

/* Takes a read lock that belongs to this descriptor, so that several registries of one process do
 * not drop each other's locks. */
void ntk_ring_folder_hold(int fd, off_t byte);
void ntk_ring_folder_let_go(int fd, off_t byte);
bool ntk_ring_folder_is_held_by_others(int fd, off_t start, off_t length);
/* Creates or renews the mark; called before a pass, so that no process ends in between. Without a
 * mark (no permission, a full disk), only processes shorter than the interval of passes are
 * missed. */
void ntk_ring_folder_mark(struct ring_folder *folder, uint64_t now_ns);

/* Runs one step of a pass: calls fn for up to *entries names, and counts *entries down. Returns
 * true if it ends a pass. A folder without changes has no pass. */
bool ntk_ring_folder_step(struct ring_folder *folder, uint64_t now_ns, unsigned int *entries,
                          void (*fn)(struct ring_folder *folder, const char *name, void *ctx),
                          void *ctx);

/* Returns true if another reader that stores its counts is active, or was active and may come back.
 * Locks do not show this, because a killed reader loses them one by one. */
bool ntk_ring_folder_awaits_reader(const struct ring_folder *folder);
bool ntk_ring_folder_has_others(const struct ring_folder *folder);
/* Returns true if every other reader of the folder began a whole pass at that time or later. */
bool ntk_ring_folder_others_looked(const struct ring_folder *folder, uint64_t since_ns);

#endif
