/* SPDX-License-Identifier: MIT */
/* cnrt.h - the second generation's header, for programs that do not select a generation. */
#include "g2/cnrt.h"
