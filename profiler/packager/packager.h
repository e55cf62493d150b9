/* SPDX-License-Identifier: MIT */
/*
 * packager - declares the subcommands of neuron-packager, with one file each.
 *
 * argv[0] is the subcommand's name. Each returns the exit code: 0 on success, 1 on failure
 * (reported on stderr), 2 for a usage error.
 *
 * Owner:   *out_bytes of packager_members_read() is freed with free(); *out_tar with
 *          ntk_tar_fini().
 */
#ifndef NTK_PROFILER_PACKAGER_PACKAGER_H
#define NTK_PROFILER_PACKAGER_PACKAGER_H

#include "shared/base/err.h"
#include "shared/base/opt.h"
#include "shared/formats/common/tar.h"
#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/neff.h"

int packager_info(int argc, char **argv);
int packager_unpack(int argc, char **argv);
int packager_create(int argc, char **argv);
int packager_optimize(int argc, char **argv);
int packager_example(int argc, char **argv);
int packager_disasm(int argc, char **argv);
int packager_asm(int argc, char **argv);

/* Returns the operand of a subcommand that takes one file; NULL after printing a message, with the
 * exit code in *out_code. */
const char *packager_parse_file(const struct ntk_opt_program *program, int argc, char **argv,
                                int *out_code);
/* Reads all members of a valid archive, even with contents unknown to this program, as far as
 * memory permits; hooks as documented. The caller frees *out_bytes, the whole file, with free(). */
int packager_members_read(const char *path, const struct ntk_tar_hooks *hooks,
                          struct ntk_neff_header *out_header, uint8_t **out_bytes,
                          struct ntk_tar *out_tar, struct ntk_err *err);
/* File with the first bytes of the NEFF, which unpack writes to the folder of the members, and from
 * which create takes defaults. */
#define PACKAGER_HEADER_FILE "neff.header"
/* Returns the name of an engine in listings. */
const char *packager_engine_name(enum ntk_isa_engine engine);
/* Finds an engine by this or by neuron-profile's name; NTK_ISA_ENGINE_COUNT if
 * unknown. */
enum ntk_isa_engine packager_engine_find(const char *name);

/* Prints the message; returns 1. */
int packager_fail(const struct ntk_err *err);

#endif
