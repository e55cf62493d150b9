/* SPDX-License-Identifier: MIT */
/*
 * rpc_loop - hands the events of a server to one of two threads at a time.
 *
 * The leader delivers events. The understudy sleeps, and takes over if a callback of the leader
 * takes longer than a few milliseconds; the leader becomes the understudy when the callback
 * returns. So a short callback needs no hand-over, and a long one delays no other client for long.
 *
 * Owner:   the server; ntk_rpc_loop_fini() after ntk_rpc_loop_run() has returned.
 * Threads: ntk_rpc_loop_may_linger() and _returned() are called by the leader's callbacks.
 */
#ifndef NTK_SHARED_RPC_RPC_LOOP_H
#define NTK_SHARED_RPC_RPC_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ntk_rpc_loop {
    /* Delivers events until the loop was taken over or has ended; returns true if it has ended. */
    bool (*lead)(void *ctx);
    /* Called by the thread that takes over, before the late callback can return. */
    void (*taken)(void *ctx, void *late);
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_over;
    pthread_t second;
    bool has_second;
    atomic_bool has_understudy;
    atomic_bool sleeps; /* the understudy does not look at `turn` any more */
    /* Odd while a callback of the leader may take long. Both threads try to make it even: the
     * leader when the callback has returned, the understudy to take over. */
    _Atomic uint64_t turn;
    void *late; /* the argument of may_linger */
};

void ntk_rpc_loop_init(struct ntk_rpc_loop *loop, bool (*lead)(void *ctx),
                       void (*taken)(void *ctx, void *late), void *ctx);
void ntk_rpc_loop_fini(struct ntk_rpc_loop *loop);
/* Returns after the loop has ended, and after its late callback has returned. */
void ntk_rpc_loop_run(struct ntk_rpc_loop *loop);
/* The rest of this callback may take long. Returns the value for ntk_rpc_loop_returned(); 0 if no
 * thread could take over. */
uint64_t ntk_rpc_loop_may_linger(struct ntk_rpc_loop *loop, void *late);
/* Returns false if the other thread has taken over: this one must return from lead(). */
bool ntk_rpc_loop_returned(struct ntk_rpc_loop *loop, uint64_t turn);

#endif
