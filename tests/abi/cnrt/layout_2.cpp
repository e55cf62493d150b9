/* SPDX-License-Identifier: MIT */
/* The same as C++17. */
#include "tests/abi/cnrt/layout_2.h"
