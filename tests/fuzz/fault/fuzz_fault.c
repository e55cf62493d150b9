/* SPDX-License-Identifier: MIT */
/* Any bytes as NEURON_SOFT_FAULT: rejected with a message, or accepted and queried. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/core/core_fault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ntk_core_fault hits[NTK_CORE_FAULTS_MAX];
    struct ntk_core_faults *faults = NULL;
    struct ntk_err err = { 0 };
    char *text = malloc(size + 1);

    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (ntk_core_faults_parse(text, &faults, &err) < 0) {
        if (err.text[0] == '\0') {
            abort(); /* a rejection has a message */
        }
    } else {
        for (uint32_t i = 0; i < 16; i++) {
            if (ntk_core_faults_strike(faults, i * 37, hits) > NTK_CORE_FAULTS_MAX) {
                abort();
            }
        }
    }
    ntk_core_faults_destroy(faults);
    free(text);
    return 0;
}
