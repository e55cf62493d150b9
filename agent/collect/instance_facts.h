/* SPDX-License-Identifier: MIT */
/*
 * instance_facts - facts about the machine, and the requests to EC2's metadata service that provide
 * them; made by this process or by a separate one.
 *
 * The HTTP library takes 2.6 MB of memory, mostly for unused encryption, and never frees it. The
 * agent needs only ten answers in its lifetime, so it lets a short-lived copy of its program ask.
 *
 * Owner: plain data. Threads: any; ntk_instance_child_cancel() from any thread but that of _ask.
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
/* As first argument, the program asks the endpoint in the next argument, writes lines, and
 * exits. */
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

/* False, with a message, when a fact that every machine has is still missing. */
bool ntk_instance_facts_ask(struct ntk_http_client *client, const char *endpoint,
                            struct ntk_instance_facts *facts, struct ntk_err *err);

/* A line "name=text" for each fact. _read takes the lines with known names and nonempty texts and
 * returns their number; missing facts are not an error. */
void ntk_instance_facts_write(const struct ntk_instance_facts *facts, struct ntk_buf *out);
int ntk_instance_facts_read(const char *text, struct ntk_instance_facts *facts);

struct ntk_clock;

/* The separate process that asks. Zeroed: none. */
struct ntk_instance_child {
    const struct ntk_clock *clock; /* for its time limit; NULL: the system's */
    pthread_mutex_t lock;
    pid_t pid; /* protected by the lock; 0: not running */
    bool is_cancelled;
};

/* Like ntk_instance_facts_ask(), but with `program`: 1 if all facts are known, 0 if not yet (err
 * has the reason), negative if the program cannot do it. */
int ntk_instance_child_ask(struct ntk_instance_child *child, const char *program,
                           const char *endpoint, struct ntk_instance_facts *facts,
                           struct ntk_err *err);
/* Cancels the running request and every later one. */
void ntk_instance_child_cancel(struct ntk_instance_child *child);
/* The main function of that program; returns the exit code. */
int ntk_instance_child_main(const char *endpoint);

#ifdef __cplusplus
}
#endif
#endif
