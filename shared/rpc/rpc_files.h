/* SPDX-License-Identifier: MIT */
/*
 * rpc_files - the definitions of proto/ inside a program: finds the file of each definition, and
 * its bytes for clients that query a server's services.
 *
 * Owner:   ntk_rpc_files_create() allocates, ntk_rpc_files_destroy() frees; its results are valid
 *          as long.
 * Threads: any, once created.
 */
#ifndef NTK_SHARED_RPC_RPC_FILES_H
#define NTK_SHARED_RPC_RPC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

/* The files of proto/ as a FileDescriptorSet, protobuf's own form. */
extern const unsigned char ntk_rpc_descriptors[];
extern const size_t ntk_rpc_descriptors_bytes;

struct ntk_rpc_files;

struct ntk_rpc_file {
    const char *name; /* such as "nmgr_service.proto" */
    const uint8_t *bytes;
    size_t bytes_count;
    const struct ntk_rpc_file *const *imports; /* direct imports */
    size_t import_count;
};

/* set is a FileDescriptorSet, which must live as long; each file comes after its imports. Returns
 * -EBADMSG if it is invalid. */
int ntk_rpc_files_create(const uint8_t *set, size_t set_bytes, struct ntk_rpc_files **out_files,
                         struct ntk_err *err);
void ntk_rpc_files_destroy(struct ntk_rpc_files *files);

/* Finds a file by name; NULL if there is none. */
const struct ntk_rpc_file *ntk_rpc_files_find(const struct ntk_rpc_files *files, const char *name);
/* The file that defines a type, a service or a part of them, such as "nrt.nmgr_v1.load". */
const struct ntk_rpc_file *ntk_rpc_files_of(const struct ntk_rpc_files *files, const char *symbol);
bool ntk_rpc_files_has_message(const struct ntk_rpc_files *files, const char *symbol);

/* Lists the file first, then all of its imports, each once; returns their number. out_files has
 * room for ntk_rpc_files_count(). */
size_t ntk_rpc_files_count(const struct ntk_rpc_files *files);
size_t ntk_rpc_files_needed(const struct ntk_rpc_files *files, const struct ntk_rpc_file *file,
                            const struct ntk_rpc_file **out_files);

#endif
