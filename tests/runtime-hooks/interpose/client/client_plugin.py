# SPDX-License-Identifier: MIT
# The client in the way of Python frameworks: a plug-in opened by ctypes, with private symbols.
import ctypes
import os
import sys

plugin = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_NOW)
words = [word.encode() for word in sys.argv[1:]]
arguments = (ctypes.c_char_p * len(words))(*words)
sys.exit(plugin.client_main(len(words), arguments))
