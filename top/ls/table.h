/* SPDX-License-Identifier: MIT */
/*
 * table - writes header lines and the table of devices as text.
 *
 * Widths are counted in cells of a terminal (wcwidth), so with an LC_CTYPE of UTF-8 the columns are
 * aligned for every command.
 */
#ifndef NTK_TOP_LS_TABLE_H
#define NTK_TOP_LS_TABLE_H

#include "shared/base/buf.h"
#include "top/ls/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_LS_COMMAND_CELLS 40
#define NTK_LS_COMMAND_CELLS_WIDE 80

enum ntk_ls_form {
    NTK_LS_FORM_DEFAULT,  /* all columns; processes if there are any */
    NTK_LS_FORM_WIDE,     /* fewer columns, commands of 80 characters */
    NTK_LS_FORM_ALL,      /* fewer columns, a line below each device */
    NTK_LS_FORM_WIDE_ALL, /* like WIDE and ALL */
    NTK_LS_FORM_TOPOLOGY, /* fewer columns, no processes */
};

/* Writes instance-type, instance-id, logical-neuroncore-config, and the position of the server in
 * its UltraServer. */
void ntk_ls_header_write(const struct ntk_ls_machine *machine, struct ntk_buf *out);
void ntk_ls_table_write(const struct ntk_ls_machine *machine, enum ntk_ls_form form,
                        struct ntk_buf *out);
/* Writes the PCI places of the devices if their assignment is unknown; else nothing. */
void ntk_ls_pci_write(const struct ntk_ls_machine *machine, struct ntk_buf *out);
/* Writes the number of devices that are not listed, if any. */
void ntk_ls_hidden_write(const struct ntk_ls_machine *machine, struct ntk_buf *out);

/* Writes the command truncated to this many cells; if it is truncated, the last three are "...". */
void ntk_ls_command_write(const char *command, size_t cells, struct ntk_buf *out);

#ifdef __cplusplus
}
#endif
#endif
