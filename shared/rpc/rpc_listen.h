/* SPDX-License-Identifier: MIT */
/*
 * rpc_listen - checks whether a server can listen at an address, and why not.
 *
 * gRPC would take over the socket of another daemon, and only logs the reason of a failure.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_LISTEN_H
#define NTK_SHARED_RPC_RPC_LISTEN_H

#include "shared/base/err.h"

/* Returns -EADDRINUSE if a server answers at the address; -EINVAL if the path of a socket is empty
 * or too long. */
int ntk_rpc_listen_check(const char *endpoint, struct ntk_err *err);

/* For an address at which gRPC failed to listen: always returns an error. */
int ntk_rpc_listen_why(const char *endpoint, struct ntk_err *err);

#endif
