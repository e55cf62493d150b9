/* SPDX-License-Identifier: MIT */
/*
 * store_file - opens a database of unknown origin: its owner, and what SQLite may do with it.
 *
 * Before SQLite looks into a file its header is read as bytes: one of something else is left alone,
 * one of ours that is cut short or spoilt is known to be ours. Then nothing that the file itself
 * brings is run (triggers, views, functions in its schema), and SQLite gives up where a file keeps
 * it busy, or fills memory, beyond what a sound one could: trees that meet themselves again have
 * rows without end.
 *
 * The file is read through SQLite, for a descriptor of our own would take its locks along when it
 * is closed.
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

/* How long one statement may run, and how long still when the program ends. */
#define NTK_STORE_FILE_STATEMENT_NS UINT64_C(120000000000)
#define NTK_STORE_FILE_HURRY_NS UINT64_C(500000000)

/* For one connection; zeroed, but for the first two. Lives as long as the connection. */
struct ntk_store_file {
    const atomic_bool *stop; /* true: give up at once; may be NULL */
    bool heeds_signals;      /* SIGINT or SIGTERM, blocked and waiting, is the same */
    sqlite3 *db;
    bool is_fresh; /* empty when it was opened */
    sqlite3_int64 memory_before;
    _Atomic uint64_t until_ns;
    atomic_bool hurries;
};

/* A folder, a device or a pipe would block its reader; false too where there is nothing. */
bool ntk_store_file_is_plain(const char *path);
/* Sets what SQLite may do with an open connection that has not read anything yet. */
int ntk_store_file_guard(struct ntk_store_file *file, sqlite3 *db, struct ntk_err *err);
/* The program ends: every statement has half a second from now on. */
void ntk_store_file_hurry(struct ntk_store_file *file);
/* 0: ours, or nothing speaks against it (empty, or the first transaction is still in the log);
 * -EPROTO: of something else; -EBADMSG: damaged, and ours or nobody's. *out_is_ours: the header or
 * the schema says so. */
int ntk_store_file_check(sqlite3 *db, bool *out_is_ours, struct ntk_err *err);

#endif
