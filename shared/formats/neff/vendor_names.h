/* SPDX-License-Identifier: MIT */
/*
 * vendor_names - the names, in a vendor's NEFF, of the semaphores and activation functions that one
 * subgraph's slots refer to by number.
 *
 * Owner:   the caller's storage, a zeroed struct has no names; _init() allocates, _fini() frees;
 *          the NEFF is not kept.
 * Threads: any; immutable after creation.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_VENDOR_NAMES_H
#define NTK_SHARED_FORMATS_NEFF_VENDOR_NAMES_H

#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_VENDOR_NUMBERS 256
#define NTK_VENDOR_NAME_BYTES 256

/* Texts are clean, see ntk_str_copy_clean(). */
struct ntk_vendor_names {
    char *semaphores[NTK_VENDOR_NUMBERS]; /* such as "qSyncDynamicHW"; NULL: no name */
    char *functions[NTK_VENDOR_NUMBERS];  /* such as "EXP"; NULL: unknown */
};

/* A callback that returns the displayed name of a queue. */
typedef void ntk_vendor_names_show(const char *name, char *buf, size_t buf_bytes);

/* subgraph belongs to neff. Either may be NULL: then the names that need it are missing. Returns 0
 * or -ENOMEM. */
int ntk_vendor_names_init(struct ntk_vendor_names *names, const struct ntk_neff *neff,
                          const struct ntk_neff_subgraph *subgraph, ntk_vendor_names_show *show);
/* Adds the functions of a set from the bytes of its JSON member; invalid entries get no name.
 * Returns 0 or -ENOMEM. */
int ntk_vendor_names_add_set(struct ntk_vendor_names *names, const void *json, size_t json_bytes);
void ntk_vendor_names_fini(struct ntk_vendor_names *names);

#ifdef __cplusplus
}
#endif
#endif
