/* SPDX-License-Identifier: MIT */
/*
 * order - comparison functions for qsort() and bsearch(), from a list of members.
 *
 *   NTK_ORDER(by_core_and_start, struct span, NTK_UP(core) NTK_DOWN(start_ns));
 *
 * defines static int by_core_and_start(const void *, const void *). A member decides among elements
 * for which all members before it are equal.
 *
 * Threads: any; no state.
 */
#ifndef NTK_SHARED_BASE_ORDER_H
#define NTK_SHARED_BASE_ORDER_H

#include <string.h>

/* The caller's semicolon ends the last line. */
#define NTK_ORDER_OF(function, type, place, members)         \
    static int function(const void *left, const void *right) \
    {                                                        \
        const type *x_ = place(type, left);                  \
        const type *y_ = place(type, right);                 \
        members return 0;                                    \
    }                                                        \
    static int function(const void *left, const void *right)
#define NTK_ORDER_ELEMENT(type, at) (at)
#define NTK_ORDER_POINTER(type, at) (*(const type *const *)(at))

#define NTK_ORDER(function, type, members) NTK_ORDER_OF(function, type, NTK_ORDER_ELEMENT, members)
/* Same, for an array of pointers to the elements. */
#define NTK_ORDER_POINTERS(function, type, members) \
    NTK_ORDER_OF(function, type, NTK_ORDER_POINTER, members)
/* Same, for an array of numbers, in ascending order. */
#define NTK_ORDER_NUMBERS(function, type) NTK_ORDER(function, type, NTK_ORDER_BY(*x_, <, *y_))

#define NTK_ORDER_BY(x, before, y) \
    if (x before y) {              \
        return -1;                 \
    }                              \
    if (y before x) {              \
        return 1;                  \
    }
#define NTK_UP(member) NTK_ORDER_BY(x_->member, <, y_->member)
#define NTK_DOWN(member) NTK_ORDER_BY(x_->member, >, y_->member)
/* Compares by a function of the two members, or of the two elements. */
#define NTK_BY(function, member) NTK_ORDER_CALL(function(x_->member, y_->member))
#define NTK_THEN(function) NTK_ORDER_CALL(function(x_, y_))
#define NTK_ORDER_CALL(call) \
    {                        \
        int order_ = call;   \
        if (order_ != 0) {   \
            return order_;   \
        }                    \
    }
/* Compares texts by their bytes. */
#define NTK_TEXT(member) NTK_BY(strcmp, member)

#endif
