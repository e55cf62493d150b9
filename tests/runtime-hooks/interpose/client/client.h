/* SPDX-License-Identifier: MIT */
/*
 * client - a job as on real hardware, with every way of reaching a runtime, that counts its own
 * work.
 *
 * client [HOW] WORK...: HOW is one of client_bind.c's; WORK is "name" or "name:number"
 * (client_work.c, client_life.c), done in order. At the end, each process and each of its children
 * prints one line:
 *     client <pid> <status>=<executions>... tensors=<n> bytes=<n> models=<n> y=<hash of outputs>
 *
 * The same sources are linked with libnrt.so.1, or call through a table that dlsym() fills
 * (CLIENT_TABLE). They know one form of the explicit interface (NRT_ASYNC_3).
 *
 * Threads: one; work may start more.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_CLIENT_CLIENT_H
#define NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_CLIENT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt.h"
#include "nrt/nrt_async.h"
#include "nrt/nrt_experimental.h"

#define CLIENT_CALLS(row)                  \
    row(nrt_init);                         \
    row(nrt_close);                        \
    row(nrt_load);                         \
    row(nrt_unload);                       \
    row(nrt_get_model_tensor_info);        \
    row(nrt_free_model_tensor_info);       \
    row(nrt_execute);                      \
    row(nrt_execute_repeat);               \
    row(nrt_register_async_exec_callback); \
    row(nrt_async_drain_queued_execs);     \
    row(nrt_tensor_allocate);              \
    row(nrt_tensor_free);                  \
    row(nrt_tensor_write);                 \
    row(nrt_tensor_read);                  \
    row(nrt_allocate_tensor_set);          \
    row(nrt_destroy_tensor_set);           \
    row(nrt_add_tensor_to_tensor_set)

#ifdef NRT_ASYNC_3
#define CLIENT_NODE "NRT_3.0.0"
#define CLIENT_ASYNC_CALLS(row) \
    row(nrta_execute_schedule); \
    row(nrta_is_completed)
#else
#define CLIENT_NODE "NRT_2.0.0"
#define CLIENT_ASYNC_CALLS(row)      \
    row(nrta_execute_schedule);      \
    row(nrta_is_completed);          \
    row(nrta_error_tracker_create);  \
    row(nrta_error_tracker_destroy); \
    row(nrta_error_tracker_get_list)
#endif

#ifdef CLIENT_TABLE
#define CLIENT_FIELD(name) __typeof__(name) *name
struct client_table {
    CLIENT_CALLS(CLIENT_FIELD);
    CLIENT_ASYNC_CALLS(CLIENT_FIELD);
};
extern struct client_table client_table;
#define CALL(name) client_table.name
/* Opens the runtime again, then closes the previous handle; for work in client_life.c. */
void client_reopen(void);
#else
#define CALL(name) name
#endif

/* The exit code. */
int client_main(int argc, char **argv);

/* ---- between client_work.c and client_life.c ---- */

/* true if the work was known and done. */
bool client_life(const char *name, uint64_t number);
bool client_work(const char *name, uint64_t number);
/* Work that only one client does; in client_through.cpp. */
bool client_more(const char *name, uint64_t number) __attribute__((weak));

/* Time after which a process counts as hanging, as in tests/support/process.h. */
unsigned client_hangs_seconds(void);
void client_fail(const char *what, int status) __attribute__((noreturn));
/* Calls nrt_init(), loads the model of $CLIENT_NEFF and makes its tensors; does nothing if that is
 * done. */
void client_open(void);
void client_close(void);
/* One execution, counted; returns the status. */
NRT_STATUS client_execute(void);
/* The same, counted when done; false: the model or the runtime is gone. */
bool client_execute_or_not(void);
/* Counts an execution that ended in another function. */
void client_count(NRT_STATUS status, uint64_t executions);
/* The counts so far belong to another process, or must not be reported. */
void client_forget(void);
void client_tell(void);
/* Unloads and closes while other threads execute. */
void client_unload(void);

#endif
