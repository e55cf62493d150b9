/* SPDX-License-Identifier: MIT */
/*
 * ntff_read_private - what tests change about the reader of captures.
 */
#ifndef NTK_SHARED_FORMATS_NTFF_NTFF_READ_PRIVATE_H
#define NTK_SHARED_FORMATS_NTFF_NTFF_READ_PRIVATE_H

#include <stddef.h>

/* Smaller files are copied, so that a file that shrinks while we read it cannot hurt. Tests of
 * memory lower it: their captures need not be large to be mapped. */
extern size_t ntk_ntff_map_from_bytes;

#endif
