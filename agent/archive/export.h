/* SPDX-License-Identifier: MIT */
/*
 * export - neuron-monitor export: writes the history of a database as an archive.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_ARCHIVE_EXPORT_H
#define NTK_AGENT_ARCHIVE_EXPORT_H

/* Runs the subcommand; argv[0] is "export". Returns the exit code. */
int ntk_export_main(int argc, char **argv);

#endif
