/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_identity.h"

const char nrt_identity_detail[] = "software NeuronCores " NTK_VERSION;
