/* SPDX-License-Identifier: MIT */
/*
 * store_file - opens a database of unknown origin: checks which program it belongs to, and limits
 * SQLite.
 *
 * Before SQLite reads a file, its header is read as bytes: another program's file is left
 * unchanged, and a truncated or damaged database of ours is recognised. Code in the file (triggers,
 * views, functions in its schema) is never run, and SQLite gives up if a file takes more time or
 * memory than a valid one: a tree with a cycle has endless rows.
 *
 * The file is read through SQLite, because closing a separate descriptor would drop its locks.
 *
 * Private to shared/store. Threads: one at a time per connection; _hurry: any.
 */
#ifndef NTK_SHARED_STORE_STORE_FILE_H
#define NTK_SHARED_STORE_STORE_FILE_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/base/err.h"

/* Time limit for one statement, and the limit once the program is stopping. */
#define NTK_STORE_FILE_STATEMENT_NS UINT64_C(120000000000)
#define NTK_STORE_FILE_HURRY_NS UINT64_C(500000000)

/* State of one connection: zeroed, except for the first two members. Must live as long as the
 * connection. */
struct ntk_store_file {
    const atomic_bool *stop; /* if it is true, statements stop at once; may be NULL */
    bool heeds_signals;      /* a pending, blocked SIGINT or SIGTERM has the same effect */
    sqlite3 *db;
    bool is_fresh; /* was empty when it was opened */
    sqlite3_int64 memory_before;
    _Atomic uint64_t until_ns;
    atomic_bool hurries;
};

/* Returns true if the path is a regular file: a folder, a device or a pipe would block the reader.
 * Also false if it does not exist. */
bool ntk_store_file_is_plain(const char *path);
/* Limits SQLite on an open connection that has not read anything yet. */
int ntk_store_file_guard(struct ntk_store_file *file, sqlite3 *db, struct ntk_err *err);
/* For a program that is stopping: limits every statement to half a second from now on. */
void ntk_store_file_hurry(struct ntk_store_file *file);
/* Returns 0 if the file is ours, or possibly ours (empty, or its first transaction is still in the
 * log); -EPROTO if it is another program's; -EBADMSG if it is damaged, and ours or unrecognizable.
 * *out_is_ours: header or schema prove that it is ours. */
int ntk_store_file_check(sqlite3 *db, bool *out_is_ours, struct ntk_err *err);

#endif
