#!/bin/bash
# functions - a program with hand-written functions and descriptors, from end to end: unpack, asm, create,
# nrt_execute. Each of three functions of SP has its own descriptor group 0, and only two of them are called. So the
# output equals the input only if each trigger starts the group of its function.
. "$(dirname "$0")/../lib.sh"
needs jq

neuron-packager example memcpy -o plain.neff
neuron-packager unpack -o parts plain.neff >/dev/null

# The example transfers 128 rows; `spoil` puts the first row of the input into the last partition.
jq '.dma[0] as $whole
    | def group(start; row; partition; rows): $whole | .function_start = start
        | .desc[0].from_off = row * 4096 | .desc[0].to_off = partition * 262144
        | .desc[0].from_sizes[1] = rows | .desc[0].to_sizes[1] = rows;
    .nsx.names = ["lower", "upper", "spoil"]
    | .dma = [group("lower"; 0; 0; 64), group("upper"; 64; 64; 64), group("spoil"; 0; 127; 1)]' \
    parts/sg00/SP.json >SP.json
mv SP.json parts/sg00/SP.json

# listing CALLS: r0 counts the rounds of a loop that calls each function once.
listing() {
    cat <<END
.engine SP sg00/SP.bin
    notify
    register_move rd=r0 imm0=0
again:
$1
    register_alu op0=add rd=r0 ra=r0 imm0=1
    compare_branch op0=less ra=r0 imm0=1 to=again
    notify imm0=1 signal=s7+1
lower: function name=1
    dma_trigger
    return
    nop
upper: function name=2
    dma_trigger
spoil: function name=3
    dma_trigger
.engine Pool sg00/Pool.bin
    notify
    dma_trigger queue=1 wait=s8>=32/take
    notify imm0=1 wait=s9>=16/take signal=s7+1
END
}

# build NAME CALLS
build() {
    listing "$2" >"$1.txt"
    neuron-packager asm -o parts "$1.txt"
    neuron-packager create -i parts -o "$1.neff" -n functions
}

head -c 524288 /dev/urandom >input
build good $'    call to=lower\n    call to=upper'
run_neff good.neff in input
cmp input out.out || fail "the outputs of two functions with one half each differ from the input"
neuron-packager disasm good.neff >good.listing
grep -q 'group 0 of queue 0 qSPIO0, adds to s8, function upper' good.listing || fail "the listing does not name the function"
[ "$(grep -c 'function name=' good.listing)" = 3 ] || fail "the listing lacks one of the three functions"

# Reassembling the listing yields the same file.
neuron-packager asm --into good.neff -o again.neff good.listing
cmp good.neff again.neff || fail "the listing with another file differs"

build spoilt $'    call to=lower\n    call to=upper\n    call to=spoil'
run_neff spoilt.neff in input
cmp <(head -c 520192 input) <(head -c 520192 out.out) || fail "spoil wrote to another place"
cmp <(head -c 4096 input) <(tail -c 4096 out.out) || fail "a group of another function ran"

# The group of spoil now belongs to another function.
jq '.dma[2].function_start = "nowhere"' parts/sg00/SP.json >SP.json
mv SP.json parts/sg00/SP.json
build bad $'    call to=lower'
run_neff bad.neff in input 2>err && fail "a group without a function was loaded"
grep -q 'has no DMA group 0 for function spoil' err || fail "see err"
