/* SPDX-License-Identifier: MIT */
/*
 * instance_facts - requests facts about the machine from EC2's metadata service, in this process or
 * in a separate one.
 *
 * The HTTP library takes 2.6 MB of memory, mostly for unused encryption, and never frees it. The
 * agent needs only ten responses in its lifetime, so it starts a short-lived copy of its program
 * for the requests.
 *
 * Owner: plain data. Threads: any; ntk_instance_child_cancel() from any thread except the one in
 *        _ask.
 */
#ifndef NTK_AGENT_COLLECT_INSTANCE_FACTS_H
#define NTK_AGENT_COLLECT_INSTANCE_FACTS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_INSTANCE_TEXT_BYTES 256
/* With this first argument, the program sends requests to the endpoint in the next argument,
 * writes lines, and exits. */
#define NTK_INSTANCE_ASK_OPTION "--ask-instance"

struct ntk_http_client;

struct ntk_instance_facts {
    union {
        struct {
#define NTK_INSTANCE_TEXT(name, ...) char name[NTK_INSTANCE_TEXT_BYTES];
#include "shared/metrics/machine.def"
        };
        char texts[NTK_INSTANCE_TEXTS][NTK_INSTANCE_TEXT_BYTES];
    };
    char error[NTK_INSTANCE_TEXT_BYTES];
};

/* Requests all facts; returns false, with a message, while a fact is missing that every machine
 * has. */
bool ntk_instance_facts_ask(struct ntk_http_client *client, const char *endpoint,
                            struct ntk_instance_facts *facts, struct ntk_err *err);

/* Write and read a line "name=text" for each fact. _read takes the lines with known names and
 * nonempty texts and returns their number; missing facts are not an error. */
void ntk_instance_facts_write(const struct ntk_instance_facts *facts, struct ntk_buf *out);
int ntk_instance_facts_read(const char *text, struct ntk_instance_facts *facts);

struct ntk_clock;

/* The separate process that sends the requests. A zeroed struct means no process. */
struct ntk_instance_child {
    const struct ntk_clock *clock; /* for its time limit; NULL for the system clock */
    pthread_mutex_t lock;
    pid_t pid; /* protected by the lock; 0 if not running */
    bool is_cancelled;
};

/* Like ntk_instance_facts_ask(), but with `program`: returns 1 if all facts are known, 0 if not yet
 * (err has the reason), negative if the program cannot send the requests. */
int ntk_instance_child_ask(struct ntk_instance_child *child, const char *program,
                           const char *endpoint, struct ntk_instance_facts *facts,
                           struct ntk_err *err);
/* Cancels the running request and all later ones. */
void ntk_instance_child_cancel(struct ntk_instance_child *child);
/* Runs the separate process; returns the exit code. */
int ntk_instance_child_main(const char *endpoint);

#ifdef __cplusplus
}
#endif
#endif
