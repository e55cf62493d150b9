/* SPDX-License-Identifier: MIT */
/* Names of a runtime without a library that needs it, and of a runtime that is opened. */
#include "tests/runtime-hooks/interpose/client/names.h"

int main(void)
{
    names_print_weak();
    return names_print_symbols();
}
