/* SPDX-License-Identifier: MIT */
/*
 * rpc_listen - whether a server can listen at an address, and the reason if it cannot.
 *
 * gRPC would take over the socket of another daemon, and only logs the reason of a failure.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_LISTEN_H
#define NTK_SHARED_RPC_RPC_LISTEN_H

#include "shared/base/err.h"

/* -EADDRINUSE: a server answers there; -EINVAL: the path of a socket is empty or too long. */
int ntk_rpc_listen_check(const char *endpoint, struct ntk_err *err);

/* For an address that gRPC did not listen at: always an error. */
int ntk_rpc_listen_why(const char *endpoint, struct ntk_err *err);

#endif
