/* SPDX-License-Identifier: MIT */
/*
 * rpc_endpoint - the address of the first generation's runtime daemon, as users write it.
 *
 * Owner:   the caller frees the text with free().
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_ENDPOINT_H
#define NTK_SHARED_RPC_RPC_ENDPOINT_H

#define NTK_RPC_ENDPOINT_DEFAULT "unix:/run/neuron.sock"
/* The variable for frameworks and tools without an explicit address. */
#define NTK_RPC_ENDPOINT_VARIABLE "NEURON_RTD_ADDRESS"

/* In gRPC's form, freed by the caller: a text that begins with a slash, or has no colon, is the
 * path of a socket. NULL if out of memory. */
char *ntk_rpc_endpoint_make(const char *text);

#endif
