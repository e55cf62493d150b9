/* SPDX-License-Identifier: MIT */
/* tty_writes - counters of the program with hand-made snapshots, for frames.py. */
#ifndef NTK_TESTS_TOP_TTY_WRITES_H
#define NTK_TESTS_TOP_TTY_WRITES_H

enum tty_count { TTY_COUNT_WRITES, TTY_COUNT_FRAMES, TTY_COUNT_LOOKS, TTY_COUNTS };

void tty_count(enum tty_count which);

#endif
