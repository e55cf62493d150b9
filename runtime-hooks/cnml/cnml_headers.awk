# cnml_headers - generates the public parts from cnml_ops.def.
#
#   awk -v what=g1|g2|g3 -f cnml_headers.awk cnml_ops.def    the calls of a generation's header
#   awk -v what=map -f cnml_headers.awk cnml_ops.def         the symbols that leave the library
#
# cnml_headers.sh puts the calls between the types and the end of a header, and formats it.

# The text between the outer parentheses of a row, its first `fields` columns in field[].
function columns(fields,    text, i, at) {
    text = $0
    sub(/^[A-Z_]+\(/, "", text)
    sub(/\)[ \t]*$/, "", text)
    for (i = 1; i <= fields; i++) {
        at = index(text, ",")
        if (at == 0) {
            field[i] = text
            text = ""
        } else {
            field[i] = substr(text, 1, at - 1)
            text = substr(text, at + 1)
            sub(/^ +/, "", text)
        }
    }
    return text
}

function mine(generations) {
    return index(generations, generation) > 0
}

function strip(text) {
    sub(/^\(/, "", text)
    sub(/\)$/, "", text)
    return text
}

# One call: renamed where the generation has its own symbol.
function call(generations, kind, type, name, arguments,    symbol, g) {
    if (what == "map") {
        for (g = 1; g <= 3; g++) {
            if (index(generations, g)) {
                symbol = name
                if (kind == "OWN" && g != 2) {
                    sub(/^cnml/, "", symbol)
                    symbol = "cnml" g "_" symbol
                }
                symbols[symbol] = 1
            }
        }
        return
    }
    if (!mine(generations)) {
        return
    }
    if (kind == "OWN" && generation != 2) {
        symbol = name
        sub(/^cnml/, "", symbol)
        print "#define " name " cnml" generation "_" symbol
    }
    if (type ~ /\*$/) {
        print type name "(" arguments ");"
    } else {
        print type " " name "(" arguments ");"
    }
}

function operator(id, name, compute, operands, arity,    create, cpu, tail, in2, v) {
    create["IO"] = "cnmlTensor_t in, cnmlTensor_t out"
    create["PIO"] = "cnml" name "OpParam_t param, cnmlTensor_t in, cnmlTensor_t out"
    v = name == "ConvGroup" ? "Conv" : name
    create["PIOFB"] = "cnml" v "OpParam_t param, cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias"
    create["PIOFBG"] = create["PIOFB"] ", int group"
    create["PIOFBO"] = create["PIOFB"] ", int opt CNML_OR(0)"
    create["FIRST"] = "cnml" name "OpParam_t param, cnmlTensor_t in, cnmlTensor_t mean, cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias CNML_OR(0), cnmlTensor_t std CNML_OR(0)"
    create["FIO"] = "cnmlActiveFunction_t function, cnmlTensor_t in, cnmlTensor_t out"
    create["MLP"] = "cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias"
    create["ABO"] = "cnmlTensor_t a, cnmlTensor_t b, cnmlTensor_t out"
    create["IOXY"] = name == "BatchNorm" ? "cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t mean, cnmlTensor_t var" : "cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t alpha, cnmlTensor_t beta"
    create["TIO"] = "cnmlCastType_t type, cnmlTensor_t in, cnmlTensor_t out"
    create["LIST"] = "cnml" name "OpParam_t param, cnmlTensor_t in[], int in_count, cnmlTensor_t out[], int out_count"
    if (operands == "DIO") {
        call("12", "SAME", "cnmlStatus_t", "cnmlCreate" name "Op", "cnmlBaseOp_t *op, cnmlSoftmaxDim_t dim, " create["IO"])
        call("3", "OWN", "cnmlStatus_t", "cnmlCreate" name "Op", "cnmlBaseOp_t *op, cnmlDimension_t dim, " create["IO"])
    } else if (operands == "MLP") {
        call("12", "SAME", "cnmlStatus_t", "cnmlCreate" name "Op", "cnmlBaseOp_t *op, " create["MLP"] ", cnmlSparseMode_t sparse CNML_OR(CNML_NoSparse)")
        call("3", "OWN", "cnmlStatus_t", "cnmlCreate" name "Op", "cnmlBaseOp_t *op, " create["MLP"])
    } else {
        call("123", "SAME", "cnmlStatus_t", "cnmlCreate" name "Op", "cnmlBaseOp_t *op, " create[operands])
    }

    tail[1] = "cnrtFunctionType_t type, cnrtStream_t stream"
    tail[2] = "cnrtInvokeFuncParam_t *how, cnrtQueue_t queue"
    tail[3] = "cnrtQueue_t queue, void *extra"
    if (arity == "ONE") {
        v = "cnmlBaseOp_t op, void *in, void *out, "
        in2 = "cnmlBaseOp_t op, cnmlTensor_t in_tensor, void *in, cnmlTensor_t out_tensor, void *out, "
    } else if (arity == "TWO") {
        v = "cnmlBaseOp_t op, void *a, void *b, void *out, "
        in2 = "cnmlBaseOp_t op, cnmlTensor_t a_tensor, void *a, cnmlTensor_t b_tensor, void *b, cnmlTensor_t out_tensor, void *out, "
    } else {
        v = "cnmlBaseOp_t op, void *in[], int in_count, void *out[], int out_count, "
        in2 = "cnmlBaseOp_t op, cnmlTensor_t in_tensors[], void *in[], int in_count, cnmlTensor_t out_tensors[], void *out[], int out_count, "
    }
    call("1", "OWN", "cnmlStatus_t", "cnmlCompute" compute "OpForward", v tail[1])
    call("23", "SAME", "cnmlStatus_t", "cnmlCompute" compute "OpForward", v tail[2])
    call("23", "SAME", "cnmlStatus_t", "cnmlCompute" compute "OpForward_V3", v tail[2])
    call("3", "SAME", "cnmlStatus_t", "cnmlCompute" compute "OpForward_V4", in2 tail[3])

    cpu["io"] = "cnmlCpuTensor_t in_tensor, void *in, cnmlCpuTensor_t out_tensor, void *out"
    cpu["IO"] = cpu["io"]
    cpu["PIO"] = "cnml" name "OpParam_t param, " cpu["io"]
    v = "cnml" (name == "ConvGroup" ? "Conv" : name) "OpParam_t param, cnmlCpuTensor_t in_tensor, void *in, "
    cpu["PIOFB"] = v "cnmlCpuTensor_t filter_tensor, void *filter, cnmlCpuTensor_t out_tensor, void *out, cnmlCpuTensor_t bias_tensor, void *bias"
    cpu["PIOFBG"] = cpu["PIOFB"] ", int group"
    cpu["PIOFBO"] = cpu["PIOFB"]
    cpu["FIRST"] = v "cnmlCpuTensor_t mean_tensor, void *mean, cnmlCpuTensor_t out_tensor, void *out, cnmlCpuTensor_t filter_tensor, void *filter, cnmlCpuTensor_t bias_tensor, void *bias, cnmlCpuTensor_t std_tensor, void *std"
    cpu["FIO"] = "cnmlActiveFunction_t function, " cpu["io"]
    cpu["MLP"] = cpu["io"] ", cnmlCpuTensor_t filter_tensor, void *filter, cnmlCpuTensor_t bias_tensor, void *bias"
    cpu["ABO"] = "cnmlCpuTensor_t a_tensor, void *a, cnmlCpuTensor_t b_tensor, void *b, cnmlCpuTensor_t out_tensor, void *out"
    cpu["IOXY"] = cpu["io"] (name == "BatchNorm" ? ", cnmlCpuTensor_t mean_tensor, void *mean, cnmlCpuTensor_t var_tensor, void *var" : ", cnmlCpuTensor_t alpha_tensor, void *alpha, cnmlCpuTensor_t beta_tensor, void *beta")
    cpu["TIO"] = "cnmlCastType_t type, " cpu["io"]
    cpu["LIST"] = "cnml" name "OpParam_t param, cnmlCpuTensor_t in_tensors[], void *in[], int in_count, cnmlCpuTensor_t out_tensors[], void *out[], int out_count"
    if (operands == "DIO") {
        call("12", "SAME", "cnmlStatus_t", "cnmlCpuCompute" compute "OpForward", "cnmlSoftmaxDim_t dim, " cpu["io"])
        call("3", "OWN", "cnmlStatus_t", "cnmlCpuCompute" compute "OpForward", "cnmlDimension_t dim, " cpu["io"])
    } else {
        call("123", "SAME", "cnmlStatus_t", "cnmlCpuCompute" compute "OpForward", cpu[operands])
    }
}

BEGIN {
    generation = substr(what, 2)
}

/^CNML_PARAM\(/ {
    rest = columns(3)
    type = "cnml" field[3] "OpParam_t"
    call(field[1], field[2], "cnmlStatus_t", "cnmlCreate" field[3] "OpParam", type " *param, " strip(rest))
    if (!(field[3] in has_destroy) && (what == "map" || mine(field[1]))) {
        has_destroy[field[3]] = 1
        call(what == "map" ? "123" : generation, "SAME", "cnmlStatus_t", "cnmlDestroy" field[3] "OpParam", type " *param")
    }
}

/^CNML_OP\(/ {
    columns(5)
    operator(field[1], field[2], field[3], field[4], field[5])
}

/^CNML_CALL\(/ {
    rest = columns(4)
    call(field[1], field[2], field[3], field[4], strip(rest))
}

END {
    if (what == "map") {
        print "NTK_CNML {\n    global:"
        while ((symbol = next_symbol()) != "") {
            print "        " symbol ";"
        }
        print "    local:\n        *;\n};"
    }
}

# The smallest remaining name, so that the list is the same with every awk.
function next_symbol(    least, s) {
    least = ""
    for (s in symbols) {
        if (least == "" || s < least) {
            least = s
        }
    }
    delete symbols[least]
    return least
}
