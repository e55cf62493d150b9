// SPDX-License-Identifier: MIT
// The names as a C++ client finds them: in an initialiser of static storage, then in main().
extern "C" {
#include "tests/runtime-hooks/interpose/client/names.h"
}

static const int initial = [] {
    names_print_weak();
    return names_print_symbols();
}();

int main()
{
    return initial;
}
