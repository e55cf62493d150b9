# SPDX-License-Identifier: MIT
# The names as Python finds them: arguments are nrt_calls.def and a plug-in. The first lookup is for a name that is
# often absent.
import ctypes
import re
import sys

names = re.findall(r"^NRT_CALL(?:_[23])?\([^,]*, (\w+),", open(sys.argv[1]).read(), re.M)
runtime = ctypes.CDLL("libnrt.so.1")
for name in ["nrt_get_status_as_str"] + names:
    print("hasattr", name, hasattr(runtime, name), flush=True)
plugin = ctypes.CDLL(sys.argv[2])
plugin.names_print_weak()
plugin.names_print_symbols()
