#!/bin/bash
# cnml_headers - the header of one generation of the CNML interface, made from cnml_ops.def.
#
#   runtime-hooks/cnml/cnml_headers.sh 1|2|3          to stdout
#
# The build writes the headers to <build>/include, next to the copies of those in runtime-hooks/include.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
generation=$1

only() { # only GENERATIONS TEXT...: the text when this generation is among them
    case $1 in *"$generation"*) shift; printf '%s\n' "$@" ;; esac
}

handles() {
    for name in BaseOp FusionOp Model Tensor CpuTensor ConvOpParam ConvDepthwiseOpParam ConvFirstOpParam DeconvOpParam AddPadOpParam \
        PoolOpParam L2_PoolOpParam ConcatOpParam SplitOpParam ReshapeOpParam; do
        printf 'typedef struct cnml%s *cnml%s_t;\n' $name $name
    done
    only 3 'typedef struct cnmlQuantizedParam *cnmlQuantizedParam_t;'
}

enumeration() { # enumeration TYPE PREFIX NAME=VALUE...
    local type=$1 prefix=$2 pair
    shift 2
    printf '\ntypedef enum {\n'
    for pair in "$@"; do
        printf '    %s%s = %s,\n' "$prefix" "${pair%%=*}" "${pair#*=}"
    done
    printf '} %s;\n' "$type"
}

{
cat <<END
/* SPDX-License-Identifier: MIT */
/*
 * cnml - operators on tensors: the CNML interface of generation $generation.
 *
 * Made by runtime-hooks/cnml/cnml_headers.sh from cnml_ops.def there; docs/cnml-status.md says what
 * each call does here. Sources are compatible with the vendor's, binaries are not.
 */
#ifndef NTK_NEUWARE_G${generation}_CNML_H
#define NTK_NEUWARE_G${generation}_CNML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cnrt.h"

/* What C++ may leave out. */
#ifdef __cplusplus
#define CNML_OR(value) = value
#else
#define CNML_OR(value)
#endif

#ifdef __cplusplus
extern "C" {
#endif

END
handles
enumeration cnmlStatus_t CNML_STATUS_ NODEVICE=-1 SUCCESS=0 DOMAINERR=1 INVALIDARG=2 LENGTHERR=3 OUTOFRANGE=4 RANGEERR=5 \
    OVERFLOWERR=6 UNDERFLOWERR=7 INVALIDPARAM=8 BADALLOC=9 BADTYPEID=10 BADCAST=11 UNSUPPORT=12
enumeration cnmlCoreVersion_t CNML_ 1H8=1 1H16=2 C10=3 $(only 23 MLU100=3 1H8MINI=4 MLU270=5 MLU220=6)
enumeration cnmlTensorType_t CNML_ TENSOR=0 FILTER=1 CONST=2
enumeration cnmlDataType_t CNML_DATA_ INVALID=0 FLOAT16=1 FLOAT32=2 DOUBLE=3 FIX8=4 $(only 1 INT8=5) $(only 23 INT8=4) INT16=6 INT32=7 \
    UINT8=8 UINT16=9 UINT32=10 QUANT8=11 BINARY=12 BOOL=13 $(only 3 INT4=14)
orders=(NCHW NCWH NHCW NHWC NWHC NWCH CNHW CNWH CHNW CHWN CWHN CWNH HCNW HCWN HNCW HNWC HWNC HWCN WCHN WCNH WHCN WHNC WNHC WNCH)
for i in "${!orders[@]}"; do orders[i]=${orders[i]}=$i; done
enumeration cnmlDataOrder_t CNML_ "${orders[@]}"
enumeration cnmlActiveFunction_t CNML_ACTIVE_ NONE=0 SIGMOID=1 RELU=2 TANH=3 RELU1=4 RELU6=5 $(only 3 HARD_SIGMOID=6)
enumeration cnmlPoolMode_t CNML_POOL_ AVG=0 MAX=1 $(only 23 MAXINDEX=2) $(only 3 SUM=3 BLEND=4)
enumeration cnmlPoolStrategyMode_t CNML_POOL_ KFULL=0 KVALID=1
only 12 "$(enumeration cnmlSparseMode_t CNML_ NoSparse=0 Sparse=1)"
only 12 "$(enumeration cnmlSoftmaxDim_t CNML_SOFTMAX_DIM_ C=1 W=2 H=3 N=4)"
enumeration cnmlDimension_t CNML_DIM_ N=0 C=1 H=2 W=3 $(only 3 HW=4 T=5)
enumeration cnmlConcatMode_t CNML_CONCAT_ FEAT=0 BATCH=1 HIGHT=2 WIDTH=3
enumeration cnmlSplitMode_t CNML_SPLIT_ FEAT=0 BATCH=1 HIGHT=2 WIDTH=3
enumeration cnmlCastType_t CNML_CAST_ FLOAT32_TO_UINT8=0 UINT8_TO_FLOAT32=1 $(only 1 INT8_TO_FLOAT16=2) $(only 23 INT8_TO_FLOAT16=3) \
    FIX8_TO_FLOAT16=3 FLOAT16_TO_FLOAT32=4 FLOAT16_TO_FIX8=5 $(only 23 FLOAT16_TO_INT8=5) FLOAT32_TO_FLOAT16=6 \
    INT16_TO_FLOAT16=7 FLOAT16_TO_INT16=8 $(only 3 FLOAT16_TO_INT16_ROUND_ZERO=9 FLOAT16_TO_UINT8=10 UINT8_TO_FLOAT16=11 \
    INT8_TO_FLOAT32=12 FLOAT32_TO_INT8=13 INT16_TO_FLOAT32=14 FLOAT32_TO_INT16=15 FLOAT16_TO_INT16_ROUND_EVEN=16 \
    FLOAT16_TO_FLOAT16_ROUND_EVEN=17)
only 23 "$(enumeration cnmlDataPreprocessStrategy_t CNML_ CPU_MLU_BALANCE=0 CPU_PRIORITY=1 MLU_PRIORITY=2 NO_PREPROCESS=3)"
echo
awk -v what="g$generation" -f "$here/cnml_headers.awk" "$here/cnml_ops.def"
cat <<END

#ifdef __cplusplus
}
#endif
#endif
END
} | awk '{
    at = index($0, "(")
    while (length($0) > 100) { # broken after the last comma that fits, continued below the parenthesis
        end = 100
        while (end > at && substr($0, end, 2) != ", ") end--
        print substr($0, 1, end)
        $0 = sprintf("%" at "s", "") substr($0, end + 2)
    }
    print
}'
