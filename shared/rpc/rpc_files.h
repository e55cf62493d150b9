/* SPDX-License-Identifier: MIT */
/*
 * rpc_files - the definitions of proto/ inside a program: the file of each definition, and its
 * bytes for clients that query a server's services.
 *
 * Owner:   ntk_rpc_files_create() allocates, ntk_rpc_files_destroy() frees; its results live as
 *          long.
 * Threads: any, once created.
 */
#ifndef NTK_SHARED_RPC_RPC_FILES_H
#define NTK_SHARED_RPC_RPC_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

/* The files of proto/ in protobuf's own form, a FileDescriptorSet. */
extern const unsigned char ntk_rpc_descriptors[];
extern const size_t ntk_rpc_descriptors_bytes;

struct ntk_rpc_files;

struct ntk_rpc_file {
    const char *name; /* "nmgr_service.proto" */
    const uint8_t *bytes;
    size_t bytes_count;
    const struct ntk_rpc_file *const *imports; /* directly */
    size_t import_count;
};

/* set: a FileDescriptorSet, which must live as long; files come after their imports. -EBADMSG. */
int ntk_rpc_files_create(const uint8_t *set, size_t set_bytes, struct ntk_rpc_files **out_files,
                         struct ntk_err *err);
void ntk_rpc_files_destroy(struct ntk_rpc_files *files);

/* NULL: not found. */
const struct ntk_rpc_file *ntk_rpc_files_find(const struct ntk_rpc_files *files, const char *name);
/* The file that defines a type, a service or a part of them: "nrt.nmgr_v1.load". */
const struct ntk_rpc_file *ntk_rpc_files_of(const struct ntk_rpc_files *files, const char *symbol);
bool ntk_rpc_files_has_message(const struct ntk_rpc_files *files, const char *symbol);

/* The file and all its imports, each once, the file first; returns their number. out_files has room
 * for ntk_rpc_files_count(). */
size_t ntk_rpc_files_count(const struct ntk_rpc_files *files);
size_t ntk_rpc_files_needed(const struct ntk_rpc_files *files, const struct ntk_rpc_file *file,
                            const struct ntk_rpc_file **out_files);

#endif
