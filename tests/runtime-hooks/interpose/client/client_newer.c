/* SPDX-License-Identifier: MIT */
/* The client that is linked with a runtime newer than our table of calls. */
#include <stdio.h>

#include "tests/runtime-hooks/interpose/client/client.h"
#include "tests/runtime-hooks/interpose/vendor/newer_call.h"

int main(int argc, char **argv)
{
    int code = client_main(argc, argv);

    (void)printf("nrt_newer_call %d\n", nrt_newer_call(1));
    return code;
}
