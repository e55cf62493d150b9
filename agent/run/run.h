/* SPDX-License-Identifier: MIT */
/*
 * run - implements neuron-monitor run: runs a command with the hooks around its runtime.
 *
 * Sets the environment and replaces this process by the command. If hooks cannot work, it reports
 * this and runs the command unchanged.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_RUN_RUN_H
#define NTK_AGENT_RUN_RUN_H

/* Runs the subcommand; argv[0] is "run". Returns the exit code if it runs no command. */
int ntk_run_main(int argc, char **argv);

#endif
