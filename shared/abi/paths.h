/* SPDX-License-Identifier: MIT */
/*
 * paths - the places of segments and of the software machine.
 *
 * One rule for writers and readers: only $NEURON_HOOKS_DIR if set; else /dev/shm/neuron if an
 * administrator created it (and, for writers, if it is writable), else /dev/shm/neuron-<uid>, or
 * its substitute if another process took that name. Readers use /dev/shm/neuron and their own
 * folder, root and the service every /dev/shm/neuron-*.
 *
 * Uses the C library only. Functions return the number of bytes without the NUL, or -1 if the
 * buffer is too small; the text is complete or empty.
 */
#ifndef NTK_SHARED_ABI_PATHS_H
#define NTK_SHARED_ABI_PATHS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_PATH_BYTES 512
#define NTK_HOOKS_DIR_VARIABLE "NEURON_HOOKS_DIR"
#define NTK_HOOKS_PARENT "/dev/shm"
#define NTK_HOOKS_SHARED_NAME "neuron"
#define NTK_HOOKS_SHARED_DIR NTK_HOOKS_PARENT "/" NTK_HOOKS_SHARED_NAME
#define NTK_HOOKS_USER_PREFIX "neuron-"

static inline int ntk_paths_checked(int length, char *buf, size_t buf_bytes)
{
    if (length < 0 || (size_t)length >= buf_bytes) {
        if (buf_bytes > 0) {
            buf[0] = '\0';
        }
        return -1;
    }
    return length;
}

/* The value of $NEURON_HOOKS_DIR, or NULL if it is unset or empty. */
static inline const char *ntk_paths_hooks_dir_variable(void)
{
    const char *dir = getenv(NTK_HOOKS_DIR_VARIABLE);

    return dir != NULL && dir[0] != '\0' ? dir : NULL;
}

/* The service manager creates this folder for the service's user. Only root can create a folder in
 * /run, so no other user can pose as the service. */
#define NTK_SERVICE_FOLDER "/run/neuron-monitor"

/* Returns true if a user is root or the user of the service: every user trusts their files. */
static inline int ntk_paths_is_trusted_user(uid_t uid)
{
    struct stat status;

    return uid == 0 || (lstat(NTK_SERVICE_FOLDER, &status) == 0 && S_ISDIR(status.st_mode) &&
                        status.st_uid == uid);
}

/* The owner of the software machine that a program shows. The service shows root's machine. */
static inline uid_t ntk_paths_machine_user(void)
{
    uid_t uid = geteuid();

    return ntk_paths_is_trusted_user(uid) ? 0 : uid;
}

/* Returns true if the path is a folder (not a link) of this user that no other user can write
 * to. */
static inline int ntk_paths_is_own_folder(const char *path, uid_t uid)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/*
 * "<prefix><uid>" in a folder where all users can create files: one created by another user is not
 * used. In that case the name is "<prefix><uid>.1" and so on: the first folder owned by the user,
 * else the first unused name. Every program of the user finds the same name.
 */
#define NTK_PATHS_FALLBACKS 16

static inline int ntk_paths_own_folder(const char *prefix, uid_t uid, char *buf, size_t buf_bytes)
{
    struct stat status;
    int want_own;
    int i;

    for (want_own = 1; want_own >= 0; want_own--) {
        for (i = 0; i <= NTK_PATHS_FALLBACKS; i++) {
            int length = i == 0 ? snprintf(buf, buf_bytes, "%s%u", prefix, (unsigned int)uid)
                                : snprintf(buf, buf_bytes, "%s%u.%d", prefix, (unsigned int)uid, i);

            if (ntk_paths_checked(length, buf, buf_bytes) < 0) {
                return -1;
            }
            /* lstat() comes first, because another process of the user may create the folder at any
             * time. */
            if ((!want_own && lstat(buf, &status) != 0) || ntk_paths_is_own_folder(buf, uid)) {
                return length;
            }
        }
    }
    /* All names are taken: return the first one. Opening it fails and reports the reason. */
    return ntk_paths_checked(snprintf(buf, buf_bytes, "%s%u", prefix, (unsigned int)uid), buf,
                             buf_bytes);
}

/* The folder of one user's segments: /dev/shm/neuron-<uid>. */
static inline int ntk_paths_user_hooks_dir(uid_t uid, char *buf, size_t buf_bytes)
{
    return ntk_paths_own_folder(NTK_HOOKS_PARENT "/" NTK_HOOKS_USER_PREFIX, uid, buf, buf_bytes);
}

/* The folder for this process's segment; it need not exist yet. */
static inline int ntk_paths_writer_hooks_dir(char *buf, size_t buf_bytes)
{
    const char *dir = ntk_paths_hooks_dir_variable();
    struct stat status;

    if (dir == NULL && lstat(NTK_HOOKS_SHARED_DIR, &status) == 0 && S_ISDIR(status.st_mode) &&
        status.st_uid == 0 && access(NTK_HOOKS_SHARED_DIR, W_OK | X_OK) == 0) {
        dir = NTK_HOOKS_SHARED_DIR;
    }
    if (dir != NULL) {
        return ntk_paths_checked(snprintf(buf, buf_bytes, "%s", dir), buf, buf_bytes);
    }
    return ntk_paths_user_hooks_dir(geteuid(), buf, buf_bytes);
}

/* "<pid>-<start time>", followed by "-<attempt>" if attempt is not 0. */
static inline int ntk_paths_segment_name(unsigned int pid, unsigned long long start_time,
                                         unsigned int attempt, char *buf, size_t buf_bytes)
{
    int length = attempt == 0 ? snprintf(buf, buf_bytes, "%u-%llu", pid, start_time)
                              : snprintf(buf, buf_bytes, "%u-%llu-%u", pid, start_time, attempt);

    return ntk_paths_checked(length, buf, buf_bytes);
}

/* Parses the file name of a segment in a hooks folder. Returns 1 and sets both numbers, or returns
 * 0 for any other name. */
static inline int ntk_paths_parse_segment_name(const char *name, unsigned int *out_pid,
                                               unsigned long long *out_start_time)
{
    unsigned long long number[3] = { 0, 0, 0 };
    unsigned int parts = 0;

    for (;;) {
        unsigned int digits = 0;

        while (*name >= '0' && *name <= '9') {
            if (++digits > 19) {
                return 0;
            }
            number[parts] = number[parts] * 10 + (unsigned long long)(*name++ - '0');
        }
        parts++;
        if (digits == 0) {
            return 0;
        }
        if (*name == '\0') {
            break;
        }
        if (*name++ != '-' || parts == 3) {
            return 0;
        }
    }
    if (parts < 2 || number[0] == 0 || number[0] > 0x7fffffff) {
        return 0;
    }
    *out_pid = (unsigned int)number[0];
    *out_start_time = number[1];
    return 1;
}

/*
 * A reader that removes dead files holds a read lock on byte 0 of this file: writers then leave
 * their segments at a regular exit, so that the reader also sees jobs shorter than its period. Only
 * valid if it belongs to root, the service or the writer's user, or is in a folder that only the
 * writer's user can write to, because others could not remove the files.
 *
 * Each reader also holds a read lock on the byte of the time of its last pass, see
 * docs/formats/segment.md.
 *
 * A reader that stores its counts and may restart makes the file one byte long and touches it
 * repeatedly: for that many seconds after its last change, writers leave their segments although no
 * process holds the lock.
 */
#define NTK_READER_MARK_NAME ".reader.lock"
#define NTK_READER_MARK_KEEPS_S 600

/*
 * The files of the software machine (soft_abi.h). The name of the state file contains its version,
 * so programs of two versions never map the same file. All versions share the lock file.
 */
#define NTK_SOFT_ABI_VERSION 1
#define NTK_PATHS_TEXT_OF(number) #number
#define NTK_PATHS_TEXT(number) NTK_PATHS_TEXT_OF(number)
#define NTK_SOFT_STATE_NAME "soft.state." NTK_PATHS_TEXT(NTK_SOFT_ABI_VERSION)
#define NTK_SOFT_LOCK_NAME "soft.lock"
/* In soft.lock, the bytes from 0 on are the physical cores; this byte is the publisher of the
 * tree. */
#define NTK_SOFT_LOCK_PUBLISHER 1024

/*
 * The folder of the software machine: $NEURON_HOOKS_DIR, else the user's own hooks folder (for the
 * service, root's), because each user has a separate machine and tree. If several users share
 * $NEURON_HOOKS_DIR, the files in it belong to the first one; the other users' machines are below
 * it, in neuron-<uid>, once a writer has created that folder.
 */
static inline int ntk_paths_soft_dir(char *buf, size_t buf_bytes)
{
    const char *dir = ntk_paths_hooks_dir_variable();
    int length;

    if (dir == NULL) {
        return ntk_paths_user_hooks_dir(ntk_paths_machine_user(), buf, buf_bytes);
    }
    length =
        snprintf(buf, buf_bytes, "%s/" NTK_HOOKS_USER_PREFIX "%u", dir, (unsigned int)geteuid());
    if (ntk_paths_checked(length, buf, buf_bytes) < 0 || ntk_paths_is_own_folder(buf, geteuid())) {
        return length;
    }
    return ntk_paths_checked(snprintf(buf, buf_bytes, "%s", dir), buf, buf_bytes);
}

/*
 * The folder that replaces /sys for this process's software machine: $NEURON_HOOKS_DIR/soft/sys (or
 * soft/sys in neuron-<uid> below it), else /tmp/neuron-soft-<uid>/sys (for the service, root's).
 */
static inline int ntk_paths_soft_sysfs_root(char *buf, size_t buf_bytes)
{
    char dir[NTK_PATH_BYTES];
    int has_variable = ntk_paths_hooks_dir_variable() != NULL;
    int length = has_variable ? ntk_paths_soft_dir(dir, sizeof dir)
                              : ntk_paths_own_folder("/tmp/neuron-soft-", ntk_paths_machine_user(),
                                                     dir, sizeof dir);

    if (length < 0) {
        return ntk_paths_checked(-1, buf, buf_bytes);
    }
    return ntk_paths_checked(snprintf(buf, buf_bytes, has_variable ? "%s/soft/sys" : "%s/sys", dir),
                             buf, buf_bytes);
}

#ifdef __cplusplus
}
#endif
#endif
