/* SPDX-License-Identifier: MIT */
/*
 * rpc_endpoint - where the runtime daemon of the first generation listens, as people write it.
 *
 * Owner:   the text is the caller's, freed with free().
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_ENDPOINT_H
#define NTK_SHARED_RPC_RPC_ENDPOINT_H

#define NTK_RPC_ENDPOINT_DEFAULT "unix:/run/neuron.sock"
/* What frameworks and tools read where no address is given. */
#define NTK_RPC_ENDPOINT_VARIABLE "NEURON_RTD_ADDRESS"

/* As gRPC has it, the caller's to free: a text that begins with a slash, or has no colon, is the
 * path of a socket. NULL if out of memory. */
char *ntk_rpc_endpoint_make(const char *text);

#endif
