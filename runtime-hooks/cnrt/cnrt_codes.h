/* SPDX-License-Identifier: MIT */
/* cnrt_codes - the codes of neuware/common/cnrt_ret.h for files that are independent of a
 * generation. */
#ifndef NTK_RUNTIME_HOOKS_CNRT_CNRT_CODES_H
#define NTK_RUNTIME_HOOKS_CNRT_CNRT_CODES_H

/* The codes: CODE(value, our name, name after CNRT_RET_ in the third generation, text). */
#define CNRT_CODES(CODE)                                                                   \
    CODE(0, OK, SUCCESS, "success")                                                        \
    CODE(1, FAKE_DEVICE, WARNING_FAKE_DEVICE, "the device is simulated")                   \
    CODE(632006, ERR_NOT_READY, ERR_NOT_READY, "not reached yet")                          \
    CODE(632007, ERR_INVALID, ERR_INVALID, "invalid argument")                             \
    CODE(632008, ERR_NOMEM, ERR_NOMEM, "out of memory")                                    \
    CODE(632009, ERR_NODEV, ERR_NODEV, "no such device")                                   \
    CODE(632010, ERR_IO, ERR_IO, "input or output failed")                                 \
    CODE(632011, ERR_SYS, ERR_SYS, "a system call failed")                                 \
    CODE(632012, ERR_ACCES, ERR_ACCES, "permission denied")                                \
    CODE(632013, ERR_FAULT, ERR_FAULT, "bad address")                                      \
    CODE(632014, ERR_BUSY, ERR_BUSY, "busy")                                               \
    CODE(632015, ERR_TIMEOUT, ERR_TIMEOUT, "timed out")                                    \
    CODE(632016, ERR_EXIST, ERR_EXIST, "already exists")                                   \
    CODE(632017, ERR_NOSYS, ERR_NOSYS, "unknown call")                                     \
    CODE(632018, ERR_AGAIN, ERR_AGAIN, "try again")                                        \
    CODE(632019, ERR_NORES, ERR_NORES, "out of resources")                                 \
    CODE(632020, ERR_UNSUPPORTED, ERR_UNSUPPORTED, "not supported")                        \
    CODE(632021, ERR_INVALID_POINTER, ERR_INVALID_POINTER, "invalid pointer")              \
    CODE(632022, ERR_NO_EXIST, ERR_NO_EXIST, "does not exist")                             \
    CODE(632023, ERR_BROKEN, ERR_BROKEN, "broken: close and initialise again")             \
    CODE(632024, ERR_INIT, ERR_INIT, "not initialised")                                    \
    CODE(632025, ERR_QUEUE, ERR_QUEUE, "unknown queue")                                    \
    CODE(632026, ERR_OUT_RANGE, ERR_OUT_RANGE, "out of range")                             \
    CODE(632027, ERR_MATH_OVERFLOW, ERR_MATH_OVERFLOW, "a result is not a number (NaN)")   \
    CODE(632028, ERR_FUNC_CALL, ERR_FUNC_CALL, "a function failed")                        \
    CODE(632029, ERR_UNHANDLED, ERR_UNHANDLED, "unhandled error")                          \
    CODE(632030, ERR_INVALID_TYPE, ERR_INVALID_TYPE, "invalid type")                       \
    CODE(632031, ERR_INVALID_OP, ERR_INVALID_OP, "invalid operation")                      \
    CODE(632032, ERR_MLU, ERR_MLU, "the device has a hardware error")                      \
    CODE(632033, ERR_ONCHIP_CORE, ERR_ONCHIP_CORE, "a core has a hardware error")          \
    CODE(632034, ERR_NOTIFIER, ERR_NOTIFIER, "unknown notifier, or not placed in a queue") \
    CODE(632035, ERR_RESHAPE, ERR_RESHAPE, "invalid shape")                                \
    CODE(632036, ERR_MEMCPY, ERR_MEMCPY, "a copy exceeds its memory")                      \
    CODE(632037, ERR_ENCRYPT, ERR_ENCRYPT, "encryption failed")                            \
    CODE(632038, ERR_INVALID_DATADESC, ERR_INVALID_DATADESC, "invalid data descriptor")    \
    CODE(632039, ERR_MAP, ERR_MAP, "mapping failed")                                       \
    CODE(632040, ERR_UNMAP, ERR_UNMAP, "unmapping failed")                                 \
    CODE(632041, ERR_CACHE, ERR_CACHE, "a cache operation failed")                         \
    CODE(632042, ERR_FIND_DEV_ADDR, ERR_FIND_DEV_ADDR, "unknown device address")           \
    CODE(632043, ERR_KERNEL_VERSION_TOO_HIGH, ERR_KERNEL_VERSION_TOO_HIGH,                 \
         "the version of the kernel is too new")                                           \
    CODE(999991, ERR_UNKNOWN, ERR_UNKNOWN, "unknown error")

enum cnrt_code {
#define CNRT_CODE_VALUE(value, name, public_name, text) CNRT_##name = (value),
    CNRT_CODES(CNRT_CODE_VALUE)
#undef CNRT_CODE_VALUE
};

#endif
