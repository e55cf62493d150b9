/* SPDX-License-Identifier: MIT */
/* Opens both interfaces in one process, in the order of its argument: the second one is
 * rejected. */
#include <stdio.h>

#include "cnrt.h"
#include "nrt/nrt.h"

int main(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] == 'n') {
        printf("%d ", (int)nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
        printf("%d\n", (int)cnrtInit(0));
        (void)nrt_close();
        return cnrtInit(0) != CNRT_RET_SUCCESS;
    }
    printf("%d ", (int)cnrtInit(0));
    printf("%d\n", nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS);
    cnrtDestroy();
    return 0;
}
