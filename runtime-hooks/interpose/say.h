/* SPDX-License-Identifier: MIT */
/* say - prints a line on stderr of the observed process, without disturbing the process. */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_SAY_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_SAY_H

/*
 * Writes the parts, up to NULL, as one line. Uses no heap and no buffer, because the first call may
 * come from a thread with a small stack. A file at the size limit and a pipe without a reader send
 * the process no signal.
 *
 * Threads: any.
 */
void interpose_say(const char *const *parts);
#define INTERPOSE_SAY(...) \
    interpose_say((const char *const[]){ "libneuron-hooks: ", __VA_ARGS__, "\n", NULL })

#endif
