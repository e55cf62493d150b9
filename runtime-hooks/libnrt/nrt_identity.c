/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/libnrt/nrt_identity.h"

const char nrt_identity_detail[] = "software NeuronCores " NTK_VERSION;
const bool nrt_identity_is_software = true;
const char neuron_soft_runtime[] = NTK_VERSION;
