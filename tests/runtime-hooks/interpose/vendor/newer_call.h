/* SPDX-License-Identifier: MIT */
/* newer_call - an export that is newer than our table of calls. */
#ifndef NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_VENDOR_NEWER_CALL_H
#define NTK_TESTS_RUNTIME_HOOKS_INTERPOSE_VENDOR_NEWER_CALL_H

#define NEWER_CALL_ADDS 1000
int nrt_newer_call(int value);

#endif
