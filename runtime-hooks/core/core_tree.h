/* SPDX-License-Identifier: MIT */
/*
 * core_tree - the device tree of the software machine as a list of files, each with the source of
 * its text (core_tree.c), and that list on disk (core_tree_files.c). core_publish.c decides when to
 * write.
 *
 * All files of the tree have the same modification time, a second before the machine was created. A
 * file with another time was written by a process to request an action: to clear a counter or reset
 * a device. The publisher is notified by inotify; without it, it checks a part of the files in each
 * round.
 *
 * A new tree is written to `sys.new` and renamed when complete, so that readers never find half a
 * machine.
 *
 * Owner:   the publisher; ntk_core_tree_init() and _fini().
 * Threads: one at a time.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_TREE_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_TREE_H

#include <sys/types.h>
#include <time.h>

#include "runtime-hooks/core/core_machine.h"
#include "runtime-hooks/core/core_soft.h"
#include "shared/base/vec.h"

#define CORE_TREE_TEXT_BYTES 256
#define CORE_TREE_PATH_BYTES 192
#define CORE_TREE_STAGE_BYTES (NTK_PATH_BYTES + 8)
#define CORE_TREE_NONE UINT32_MAX

struct core_tree_leaf;
typedef void core_tree_format(const struct core_tree_leaf *leaf, char *text, size_t bytes);

/* What a write to a leaf causes, in addition to restoring the leaf's text. */
enum core_tree_effect {
    CORE_TREE_EFFECT_NONE,
    CORE_TREE_EFFECT_CLEAR,       /* sets the source to 0 */
    CORE_TREE_EFFECT_CLEAR_GROUP, /* also sets that field of all members of the group to 0 */
    CORE_TREE_EFFECT_RESET,
    CORE_TREE_EFFECT_NOTIFY, /* 0 and -1 are accepted */
};

struct core_tree_leaf {
    char path[CORE_TREE_PATH_BYTES]; /* path below the root */
    core_tree_format *format;
    void *source; /* in soft.state, or static text, which is never modified */
    char *last;   /* text in the file; NULL: unknown */
    uint32_t folder;
    uint32_t next; /* next leaf in the same folder; CORE_TREE_NONE: the last */
    uint16_t name; /* offset of its name in path */
    uint8_t effect;
    uint32_t index; /* index of the group or device */
};

/* Several categories that share one folder. */
struct core_tree_group {
    struct ntk_soft_memory *memory; /* table indexed by category */
    const char *folder;
    bool is_host;
    struct ntk_soft_memory shown;
    uint64_t last_total[NTK_SOFT_CATEGORIES];
};

struct core_tree_folder {
    uint32_t first, last; /* range of its leaves */
};

struct core_tree {
    struct ntk_core_soft *soft;
    const struct ntk_core_machine_row *row;
    char root[NTK_PATH_BYTES];
    struct ntk_vec leaves;  /* elements are struct core_tree_leaf */
    struct ntk_vec folders; /* elements are struct core_tree_folder */
    struct ntk_vec texts;   /* elements are char *: the texts of leaves */
    struct core_tree_group *groups;
    size_t group_count, group_limit;
    struct ntk_soft_memory nothing; /* source of folders that are always 0 */
    bool is_short;                  /* the list is incomplete */
    /* Descriptors of the tree on disk. */
    int root_fd, folder_fd; /* -1 if not open; closed between rounds, see watch_fd */
    dev_t root_device;      /* device of root_fd, also after it was closed */
    ino_t root_file;
    uint32_t open_folder;
    struct timespec mark; /* modification time of our writes */
    bool is_new;          /* create files and folders without looking for existing ones */
    bool is_staged;       /* root_fd is not yet visible to readers */
    bool is_wider;        /* has files that earlier readers may not know */
    bool adopts;          /* writes that are found now were made before this process */
    bool listens;         /* watch_fd was initialised */
    /* An inotify descriptor, or -1. The program may close all descriptors and reuse their numbers,
     * so it is checked before each use. */
    int watch_fd;
    struct ntk_vec watches; /* elements are uint32_t: the folder of each watch descriptor */
    uint32_t next_look;     /* without inotify: the leaf to check next */
};

/* Makes the list for the machine. */
int ntk_core_tree_init(struct core_tree *tree, struct ntk_core_soft *soft,
                       const struct ntk_core_machine_row *row, struct ntk_err *err);
void ntk_core_tree_fini(struct core_tree *tree);
/* Returns true if the text of the leaf can change. */
bool ntk_core_tree_is_counter(const struct core_tree_leaf *leaf);
/* Updates the sums in folders of several categories. */
void ntk_core_tree_sum(struct core_tree *tree);
/* Performs the action of writing `text` to the leaf. */
void ntk_core_tree_take(struct core_tree *tree, const struct core_tree_leaf *leaf,
                        const char *text);

/* Returns true if the existing tree belongs to this machine, according to the time of its files. */
bool ntk_core_tree_exists(const struct core_tree *tree);
/* Opens the root. An existing tree of this machine is adopted: its texts stay, and writes by other
 * processes are handled. Otherwise a new tree is created, still invisible to readers. */
int ntk_core_tree_open(struct core_tree *tree, struct ntk_err *err);
/* Writes changed leaves; with counters false, only the other leaves. Stops at the first error. */
int ntk_core_tree_write(struct core_tree *tree, bool counters);
/* Closes the descriptors until ntk_core_tree_enter(). */
void ntk_core_tree_leave(struct core_tree *tree);
/* Reopens the root for a round. Returns -ESTALE if it is another folder now. */
int ntk_core_tree_enter(struct core_tree *tree);
/* Creates the links in class/neuron_device, notifies readers of a changed tree, and moves a new
 * tree into place. */
int ntk_core_tree_finish(struct core_tree *tree, struct ntk_err *err);
/* Handles other processes' writes since the last call. The first call starts watching. */
void ntk_core_tree_listen(struct core_tree *tree);
/* Closes the root; the next open starts from the existing tree. */
void ntk_core_tree_close(struct core_tree *tree);

#endif
