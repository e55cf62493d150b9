/* SPDX-License-Identifier: MIT */
/* The stand-in is not told from the vendor's runtime by its version. */
#include "runtime-hooks/libnrt/nrt_identity.h"

const char nrt_identity_detail[] = "stand-in of another runtime";
const bool nrt_identity_is_software = false;
