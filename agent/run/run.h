/* SPDX-License-Identifier: MIT */
/*
 * run - neuron-monitor run: a command with the hooks around its runtime.
 *
 * The environment is set and the command takes the place of this process: no process stays. Where
 * hooks cannot work a message says so, and the command runs unchanged.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_RUN_RUN_H
#define NTK_AGENT_RUN_RUN_H

/* The whole subcommand; argv[0] is "run". Returns when there is no command to run: the exit
 * code. */
int ntk_run_main(int argc, char **argv);

#endif
