/* SPDX-License-Identifier: MIT */
/* The client that is linked with the runtime. $CLIENT_EARLY: all calls are made in a constructor of
 * the program. */
#include "tests/runtime-hooks/interpose/client/client.h"

#include <stdlib.h>

__attribute__((constructor)) static void early(int argc, char **argv)
{
    if (getenv("CLIENT_EARLY")) {
        exit(client_main(argc, argv));
    }
}

int main(int argc, char **argv)
{
    return client_main(argc, argv);
}
