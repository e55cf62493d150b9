#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""graph-example - writes the network of docs/graph.md: net.json, its parameters net.npz and an input x.npy.

If numpy is available, numpy.savez() and numpy.save() write the same files."""
import json
import struct
import zipfile


def npy(shape, values):
    head = str({"descr": "<f4", "fortran_order": False, "shape": shape})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}f", *values)


nodes = []


def node(op, name, *inputs, **attrs):
    nodes.append({"op": op, "name": name, "attrs": attrs, "inputs": [[i, 0, 0] for i in inputs]})


for name in ("data", "c_weight", "c_bias", "f_weight", "f_bias"):
    node("null", name)
node("Convolution", "c", 0, 1, 2, ctx="mlu0", kernel="(3, 3)", num_filter="2")
node("relu", "r", 5, ctx="mlu0")
node("tanh", "t", 6, ctx="cpu")
node("_CrossDeviceCopy", "copy", 7)
node("Pooling", "p", 8, ctx="mlu1", kernel="(2, 2)")
node("Flatten", "flat", 9, ctx="mlu1")
node("FullyConnected", "f", 10, 3, 4, ctx="mlu1", num_hidden="2")
node("softmax", "s", 11, ctx="mlu1")
json.dump({"nodes": nodes, "arg_nodes": [0, 1, 2, 3, 4], "heads": [[12, 0, 0]]}, open("net.json", "w"))
with zipfile.ZipFile("net.npz", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("c_weight.npy", npy((2, 1, 3, 3), [i % 5 / 4 - 0.5 for i in range(18)]))
    archive.writestr("c_bias.npy", npy((2,), [0.5, -0.25]))
    archive.writestr("f_weight.npy", npy((2, 8), [i % 3 - 1 for i in range(16)]))
    archive.writestr("f_bias.npy", npy((2,), [0, 1]))
open("x.npy", "wb").write(npy((1, 1, 5, 5), [i % 7 / 8 for i in range(25)]))
