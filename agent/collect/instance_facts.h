/* SPDX-License-Identifier: MIT */
/*
 * instance_facts - what is known of where the machine runs, and the questions to EC2's metadata
 * service that tell it; asked here, or by its own process.
 *
 * The library that speaks HTTP takes 2.6 MB of memory, most of it for encryption that is not used,
 * and gives none of it back. An agent that needs it for ten answers in its life lets a copy of its
 * program ask, which is gone a moment later.
 *
 * Owner:   plain data. Threads: any; ntk_instance_child_cancel() from another than _ask.
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
/* As the first argument of the program: it asks the endpoint that follows, writes lines, and
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

/* False, with a message, when something is still missing that every machine has. */
bool ntk_instance_facts_ask(struct ntk_http_client *client, const char *endpoint,
                            struct ntk_instance_facts *facts, struct ntk_err *err);

/* A line "name=text" for each fact. _read takes the lines that it knows, but for empty texts, and
 * missing facts are not an error; returns how many lines it knew. */
void ntk_instance_facts_write(const struct ntk_instance_facts *facts, struct ntk_buf *out);
int ntk_instance_facts_read(const char *text, struct ntk_instance_facts *facts);

struct ntk_clock;

/* The process that asks, when it is a separate one. Zeroed: none. */
struct ntk_instance_child {
    const struct ntk_clock *clock; /* of its limit; NULL: the system's */
    pthread_mutex_t lock;
    pid_t pid; /* under the lock; 0: none runs */
    bool is_cancelled;
};

/* As ntk_instance_facts_ask(), by `program`: 1 all facts are known, 0 not yet (err gives the reason), negative
 * when the program cannot do it. */
int ntk_instance_child_ask(struct ntk_instance_child *child, const char *program,
                           const char *endpoint, struct ntk_instance_facts *facts,
                           struct ntk_err *err);
/* Ends the question that is being asked, and every later one. */
void ntk_instance_child_cancel(struct ntk_instance_child *child);
/* What that program does; the exit code. */
int ntk_instance_child_main(const char *endpoint);

#ifdef __cplusplus
}
#endif
#endif
