#!/bin/bash
# disasm - programs in the encoding of hardware are listed with their names, and those of captures, if there are any,
# as the capture has them. tests/shared/formats/neff/test_vendor_slot_text.c checks the layout of each instruction.
here=$(cd "$(dirname "$0")" && pwd)
. "$NTK_SOURCE_DIR/tests/profiler/lib.sh"
disasm() { ends "$1" neuron-packager disasm "${@:2}"; } # EXIT-CODE ARGUMENT...

neuron-packager example memcpy --target cayman -o open.neff 2>err && neuron-packager unpack -o plain open.neff >unpacked 2>err ||
    complain 'no example to begin with'
disasm 0 open.neff
count=$(grep -c '^    [a-z]' printed)
disasm 0 --json open.neff
[ "$(jq '[.subgraphs[].engines[].instructions[]] | length' printed)" = "$count" ] || complain 'JSON of an open program'
jq -e 'all(.subgraphs[].engines[]; .encoding == "open" or .encoding == "empty")' printed >/dev/null || complain 'encoding'

python3 "$here/disasm.py" make plain || complain 'no program of hardware'
neuron-packager create -i plain -o made.neff >unpacked 2>err || complain 'create'
disasm 0 made.neff
python3 "$here/disasm.py" text printed || complain 'the listing'
says printed 'not for neuron-packager asm'
says printed '; with each slot counted once: 32768 operations, 32768 of them in transposes (weighted by type: 131072, 131072); bytes read and written: device memory 526336 and 0, state buffer 4096 and 526336, accumulation buffer 0 and 2048; 4 of 13 slots are unknown and not counted'
cp printed listing.txt
disasm 0 --json made.neff
python3 "$here/disasm.py" json printed || complain 'the JSON'
for key in $(jq -r '[paths | .[] | strings] | unique[]' printed); do
    grep -q "\`$key\`" "$NTK_SOURCE_DIR/docs/formats/neff.md" || complain "key $key is not documented"
done
# The compiler's counts of the model, and the version of NKI, if the files have them.
cp -r plain counted
echo '{"HloMacCount": 4194304}' >counted/hlo_stats.json
jq '.nki_version = "0.6.0+1.gabc"' plain/info.json >counted/info.json
neuron-packager create -i counted -o counted.neff >unpacked 2>err || complain 'create with statistics'
for kind in made:null:null 'counted:8388608:"0.6.0+1.gabc"'; do
    neuron-packager info --json "${kind%%:*}.neff" >printed 2>err
    [ "$(jq -c '[.model_flops, .nki_version]' printed)" = "[$(echo "${kind#*:}" | sed 's/:/,/')]" ] || complain "unexpected info of $kind"
done
neuron-packager info counted.neff >printed 2>err
says printed 'Model operations:  8388608'
says printed 'NKI version:       0.6.0+1.gabc'
for lie in '{"HloMacCount": -1}' '{"HloMacCount": 1e300}' '{"HloMacCount": "4"}' '[' '{}'; do
    echo "$lie" >counted/hlo_stats.json
    neuron-packager create -i counted -o lying.neff >unpacked 2>err || complain "cannot create a NEFF with $lie"
    [ "$(neuron-packager info --json lying.neff | jq -c .model_flops)" = null ] || complain "invalid statistics are accepted: $lie"
done
mkdir -p src && seq 1 500 | sed 's/.*/  load(&)/' >src/a.py && touch -d 2000-01-01 src/a.py
disasm 0 made.neff --nki-source-root src
says printed ' @ a.py:402: load(402)'
says printed ' @ a.py:404 h=0,t=4: load(404)'
disasm 0 --json made.neff --nki-source-root src
jq -e '[.subgraphs[].engines[].instructions[:6][].text // empty] == ["load(402)", "load(404)", "load(404)"]' printed >/dev/null || complain 'texts of lines'
disasm 1 made.neff --nki-source-root nowhere
says err "cannot open the source folder 'nowhere'"
disasm 0 made.neff --engine SP --subgraph sg00
[ "$(grep -c '^\.engine' printed)" = 1 ] || complain 'more than one engine'
disasm 1 made.neff --subgraph sg07
says err "no subgraph 'sg07'"
disasm 2 made.neff --engine sp
neuron-packager asm listing.txt -o back >printed 2>err && complain 'asm took a listing of hardware'
says err 'unknown operation '\''SET_ORDERING_MODE'\'''
# A generation with unknown slots is shown as bytes, and nothing is lost.
sed -i 's/"target": *"cayman"/"target":"later"/' plain/kelf-*.json
neuron-packager create -i plain -o other.neff >unpacked 2>err || complain 'create for a later one'
disasm 0 other.neff --json
jq -e '[.subgraphs[].engines[] | select(.encoding == "hardware") | .instructions[]] |
    length > 5 and all(.operands | startswith("bytes=") and length == 130)' printed >/dev/null || complain 'unknown slots'
# Damaged names are omitted, and a message reports it.
printf 'broken' >plain/sg00/debug_info_asm_SP.dbg
neuron-packager create -i plain -o damaged.neff >unpacked 2>err || complain 'create with damaged names'
disasm 1 damaged.neff
says err 'the instruction names are omitted'
says printed '    OP_0x95 bytes=00000000000000000000010203040500'

for capture in ${NTK_VENDOR_CAPTURES:+"$NTK_VENDOR_CAPTURES"/*.ntff}; do
    disasm 0 "${capture%.ntff}.neff" --json
    neuron-profile view -s "$capture" -n "${capture%.ntff}.neff" --output-format json --output-file rows.json 2>err
    python3 "$here/disasm.py" capture printed rows.json || complain "the listing of $(basename "$capture") differs from its profile"
done
