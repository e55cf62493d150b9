/* SPDX-License-Identifier: MIT */
/*
 * ring_folder - one folder of segments, held open: its mark, its passes, and who else reads it;
 * private to this folder of the source.
 *
 * A pass walks over the folder's entries in steps of bounded cost, and not at all while nothing
 * changed in it.
 *
 * Readers do not know each other, and none may remove a file that another has not seen. In the mark
 * (NTK_READER_MARK_NAME) each holds a read lock on one byte: the time at which its last whole pass
 * began. Whoever wants to remove a file asks the kernel whether any lock of others is at an earlier
 * time than its own look. A lock ends with its reader, for any reason.
 *
 * Owner:   ntk_ring_folder_open() allocates, _close() frees.
 * Threads: as for the registry.
 */
#ifndef NTK_SHARED_RING_RING_FOLDER_H
#define NTK_SHARED_RING_RING_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"

/* A renewed mark says that its reader lives, or did so a moment ago. */
#define RING_FOLDER_RENEW_NS (10 * NTK_NS_PER_SECOND)

struct ring_folder {
    char *path;
    int fd; /* reads and removals are in this folder, even if its path now means another */
    uint64_t device;
    uint64_t inode;
    uint32_t owner;
    bool has_one_owner; /* files of others are not believed */
    uint64_t seen_in_poll;

    int mark_fd; /* -1: none */
    bool marks;  /* is a reader that removes files: makes the mark and holds its byte 0 */
    bool stays;  /* leaves the mark to the reader that comes after it */
    uint64_t look_us;
    uint64_t marked_ns; /* when the mark was last renewed */

    DIR *list; /* of the current pass; NULL */
    uint64_t pass;
    uint64_t pass_begin_ns;
    uint64_t pass_changed_ns; /* the folder's time of change when the pass began */
    uint64_t still_ns;        /* ... of the last pass, when nothing of it is left to do; 0 */
    bool is_fresh;            /* changed just before the pass: something may have come unseen */
    bool is_left;             /* in this pass: something that needs another pass */
    bool is_owed;             /* in this pass: a file that this reader has yet to look at */
};

enum ring_folder_owner { RING_FOLDER_OF_ANYONE = -1 };

/* owner: the required owner of the folder, then its path must not be a link; RING_FOLDER_OF_ANYONE.
 * 0, -ENOENT, or -errno with a message. */
int ntk_ring_folder_open(const char *path, int64_t owner, struct ring_folder **out_folder,
                         struct ntk_err *err);
/* Takes the mark along when no other process holds it open. */
void ntk_ring_folder_close(struct ring_folder *folder);
/* Whether the path still means this folder. */
bool ntk_ring_folder_is_at(const struct ring_folder *folder, const struct stat *status);

/* A read lock of this reader's own on a byte of a file: several registries of one process do not
 * drop each other's. */
void ntk_ring_folder_hold(int fd, off_t byte);
void ntk_ring_folder_let_go(int fd, off_t byte);
bool ntk_ring_folder_is_held_by_others(int fd, off_t start, off_t length);
/* Before a pass, so that no process ends in between. Without a mark (no permission, a full disk)
 * all is well but for processes shorter than a look. */
void ntk_ring_folder_mark(struct ring_folder *folder, uint64_t now_ns);

/* One step of a pass: fn gets up to *entries names, which counts down. True when it ends a pass; a
 * folder that did not change has none. */
bool ntk_ring_folder_step(struct ring_folder *folder, uint64_t now_ns, unsigned int *entries,
                          void (*fn)(struct ring_folder *folder, const char *name, void *ctx),
                          void *ctx);

/* Whether a reader that keeps what it counts is here, or was and may come back; never for that
 * reader itself. Its locks do not tell: one that is killed loses them one by one. */
bool ntk_ring_folder_awaits_reader(const struct ring_folder *folder);
bool ntk_ring_folder_has_others(const struct ring_folder *folder);
/* Whether every other reader of the folder began a whole pass at that time or later. */
bool ntk_ring_folder_others_looked(const struct ring_folder *folder, uint64_t since_ns);

#endif
