/* SPDX-License-Identifier: MIT */
/* As older programs declare the end of the runtime: with a status. */
#define NRT_CLOSE_RETURNS_STATUS
#include <nrt/nrt.h>

int main(void)
{
    NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_TENSORFLOW, NULL, NULL);

    return status == NRT_SUCCESS && nrt_close() == NRT_SUCCESS ? 0 : 1;
}
