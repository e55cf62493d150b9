#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""network make FOLDER | network compare OUT.npy WANT.npy - a small image classifier for neuron-graph, and the
result that numpy computes.

Writes net-symbol.json (a residual block, a branch on the CPU, two MLUs), its parameters as stored and
deflated archives, an input, and the output that plain numpy computes."""
import json
import os
import sys

import numpy as np


def conv(x, w, b, pad):
    n, _, h, width = x.shape
    f, _, kh, kw = w.shape
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    out = np.zeros((n, f, h + 2 * pad - kh + 1, width + 2 * pad - kw + 1))
    for y in range(out.shape[2]):
        for z in range(out.shape[3]):
            out[:, :, y, z] = np.tensordot(x[:, :, y:y + kh, z:z + kw], w, ([1, 2, 3], [1, 2, 3]))
    return out + b.reshape(1, -1, 1, 1)


def make(folder):
    rng = np.random.default_rng(7)
    nodes, places = [], {}

    def node(op, name, inputs, device=None, **attrs):
        attrs = {key: str(value) for key, value in attrs.items()}
        if device:
            attrs["ctx"] = device
        nodes.append({"op": op, "name": name, "attrs": attrs, "inputs": [[places[i], 0, 0] for i in inputs]})
        places[name] = len(nodes) - 1

    values = {
        "c1_weight": rng.normal(size=(8, 3, 3, 3)), "c1_bias": rng.normal(size=8),
        "bn_gamma": rng.normal(size=8), "bn_beta": rng.normal(size=8), "bn_mean": rng.normal(size=8), "bn_var": rng.uniform(0.5, 2, 8),
        "c2_weight": rng.normal(size=(8, 8, 3, 3)) * 0.1, "c2_bias": rng.normal(size=8),
        "fc_weight": rng.normal(size=(10, 8 * 4 * 4)) * 0.1, "fc_bias": rng.normal(size=10),
    }
    values = {name: value.astype(np.float32) for name, value in values.items()}
    x = rng.normal(size=(2, 3, 8, 8)).astype(np.float32)

    node("null", "data", [])
    for name in values:
        node("null", name, [])
    node("null", "softmax_label", [])
    node("Convolution", "c1", ["data", "c1_weight", "c1_bias"], "mlu0", kernel="(3, 3)", pad="(1, 1)", num_filter=8)
    node("BatchNorm", "bn", ["c1", "bn_gamma", "bn_beta", "bn_mean", "bn_var"], "mlu0", fix_gamma=False, eps=1e-3)
    node("Activation", "r1", ["bn"], "mlu0", act_type="relu")
    node("Convolution", "c2", ["r1", "c2_weight", "c2_bias"], "mlu0", kernel="(3, 3)", pad="(1, 1)", num_filter=8)
    node("elemwise_add", "sum", ["c2", "r1"], "mlu0")
    node("tanh", "t", ["sum"], "cpu")
    node("_CrossDeviceCopy", "copy", ["t"])
    node("Pooling", "pool", ["copy"], "mlu1", kernel="(2, 2)", stride="(2, 2)", pool_type="max")
    node("Flatten", "flat", ["pool"], "mlu1")
    node("FullyConnected", "fc", ["flat", "fc_weight", "fc_bias"], "mlu1", num_hidden=10)
    node("SoftmaxOutput", "softmax", ["fc", "softmax_label"], "mlu1")
    with open(os.path.join(folder, "net-symbol.json"), "w", encoding="utf-8") as file:
        json.dump({"nodes": nodes, "arg_nodes": [i for i, n in enumerate(nodes) if n["op"] == "null"],
                   "heads": [[places["softmax"], 0, 0]], "attrs": {"mxnet_version": ["int", 10300]}}, file)
    np.savez(os.path.join(folder, "net.npz"), **values)
    np.savez_compressed(os.path.join(folder, "packed.npz"), **{("aux:" if "bn_m" in k or "bn_v" in k else "arg:") + k: v
                                                               for k, v in values.items()})
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "fortran.npy"), np.asfortranarray(x))

    v = {name: value.astype(np.float64) for name, value in values.items()}
    y = conv(x.astype(np.float64), v["c1_weight"], v["c1_bias"], 1)
    c = (1, -1, 1, 1)
    y = (y - v["bn_mean"].reshape(c)) / np.sqrt(v["bn_var"].reshape(c) + 1e-3) * v["bn_gamma"].reshape(c) + v["bn_beta"].reshape(c)
    r1 = np.maximum(y, 0)
    y = np.tanh(conv(r1, v["c2_weight"], v["c2_bias"], 1) + r1)
    y = y.reshape(2, 8, 4, 2, 4, 2).max((3, 5)).reshape(2, -1) @ v["fc_weight"].T + v["fc_bias"]
    y = np.exp(y - y.max(1, keepdims=True))
    np.save(os.path.join(folder, "want.npy"), y / y.sum(1, keepdims=True))


def compare(out, want, tolerance):
    got, want = np.load(out), np.load(want)
    if got.shape != want.shape or got.dtype != np.float32:
        sys.exit(f"{out}: {got.shape} {got.dtype}, not {want.shape}")
    worst = np.abs(got - want).max()
    if not worst <= tolerance:
        sys.exit(f"{out}: differs by {worst}")


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    compare(sys.argv[2], sys.argv[3], float(sys.argv[4]))
