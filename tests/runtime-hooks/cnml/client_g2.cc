// SPDX-License-Identifier: MIT
// The same client as C++.
#include "client_g2.c"
