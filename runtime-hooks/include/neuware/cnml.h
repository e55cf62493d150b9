/* SPDX-License-Identifier: MIT */
/* cnml.h - the second generation's header, for programs that do not select a generation. */
#include "g2/cnml.h"
