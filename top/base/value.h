/* SPDX-License-Identifier: MIT */
/* value - defines figures as shown by neuron-top: absent is not zero. */
#ifndef NTK_TOP_BASE_VALUE_H
#define NTK_TOP_BASE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct ntk_top_number {
    double value;
    bool present;
    bool estimated; /* shown with a tilde */
};

struct ntk_top_bytes {
    uint64_t value;
    bool present;
    bool estimated;
};

#endif
