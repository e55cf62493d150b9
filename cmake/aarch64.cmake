# Cross compilation for AArch64 with Debian's gcc-aarch64-linux-gnu; tests run under qemu-user.
# Libraries for that architecture are expected below NTK_AARCH64_ROOT (environment; "" is /) in
# Debian's layout: usr/lib/aarch64-linux-gnu. Targets without their libraries are omitted, see the
# summary.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(ENV{PKG_CONFIG_LIBDIR} "$ENV{NTK_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "$ENV{NTK_AARCH64_ROOT}")
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu $ENV{NTK_AARCH64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
# The loader and the C library must be of one package, or threads hang.
if(EXISTS "$ENV{NTK_AARCH64_ROOT}/lib/ld-linux-aarch64.so.1")
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "$ENV{NTK_AARCH64_ROOT}/")
else()
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu
        -E LD_LIBRARY_PATH=$ENV{NTK_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
endif()
