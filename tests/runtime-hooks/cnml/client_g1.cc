// SPDX-License-Identifier: MIT
// The same client as C++.
#include "client_g1.c"
