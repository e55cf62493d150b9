/* SPDX-License-Identifier: MIT */
/*
 * power_vfs - a disk for SQLite that remembers every write and sync, so that a test can cut the
 * power at any of them; and one that is read-only.
 *
 * While it is installed, files with paths that begin with the given one are written as usual and
 * recorded. power_vfs_restore() writes what a disk would contain after a cut: everything up to the
 * last sync of each file; and of later writes nothing, or some sectors of 512 bytes.
 *
 * Threads: recording from any.
 */
#ifndef NTK_TESTS_SHARED_STORE_POWER_VFS_H
#define NTK_TESTS_SHARED_STORE_POWER_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Becomes SQLite's default until power_vfs_remove(). */
void power_vfs_record(const char *path);
/* From now on no file can be created or written, as on a read-only disk. */
void power_vfs_set_read_only(bool read_only);
void power_vfs_remove(void);
/* Puts a mark with this number between the writes recorded so far and later ones. */
void power_vfs_mark(uint64_t number);
/* The number of writes, syncs, deletions and marks. */
size_t power_vfs_count(void);
/* The last mark before the cut, 0 for none. */
uint64_t power_vfs_marked(size_t cut);
/* Writes the files as they are after the cut, as path and path-wal. seed 0: unsynced data is lost;
 * otherwise some of it survives. */
void power_vfs_restore(size_t cut, unsigned int seed, const char *path);
/* Discards the recording. */
void power_vfs_forget(void);

#endif
