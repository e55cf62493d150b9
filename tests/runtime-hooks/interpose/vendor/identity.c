/* SPDX-License-Identifier: MIT */
/* The stand-in has the vendor's version, and differs only in this text. */
#include "runtime-hooks/libnrt/nrt_identity.h"

const char nrt_identity_detail[] = "stand-in of another runtime";
const bool nrt_identity_is_software = false;
