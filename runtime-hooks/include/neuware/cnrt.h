/* SPDX-License-Identifier: MIT */
/* cnrt.h - for programs that name no generation: the second one. */
#include "g2/cnrt.h"
