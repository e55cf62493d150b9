/* SPDX-License-Identifier: MIT */
/* cnml.h - for programs that name no generation: the second one. */
#include "g2/cnml.h"
