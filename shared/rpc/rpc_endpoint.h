/* SPDX-License-Identifier: MIT */
/*
 * rpc_endpoint - parses the address of the first generation's runtime daemon, as users write it.
 *
 * Owner:   the caller frees the text with free().
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_RPC_RPC_ENDPOINT_H
#define NTK_SHARED_RPC_RPC_ENDPOINT_H

#define NTK_RPC_ENDPOINT_DEFAULT "unix:/run/neuron.sock"
/* The environment variable that frameworks and tools use if they get no explicit address. */
#define NTK_RPC_ENDPOINT_VARIABLE "NEURON_RTD_ADDRESS"

/* The address in gRPC's form, which the caller frees. A text that begins with a slash, or has no
 * colon, is the path of a socket. Returns NULL if out of memory. */
char *ntk_rpc_endpoint_make(const char *text);

#endif
