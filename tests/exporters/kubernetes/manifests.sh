#!/bin/bash
# manifests - the example manifests ask for little and fit together and neuron-monitor; the check itself
# notices what is spoilt. kubeconform looks at them too where it is there.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs python3
here=$NTK_SOURCE_DIR/tests/exporters/kubernetes
folder=$NTK_SOURCE_DIR/exporters/kubernetes
python=$(for each in python3 /usr/bin/python3; do "$each" -c 'import yaml' 2>/dev/null && echo "$each" && break; done) || exit 77

neuron-monitor --help >help
"$python" "$here/manifests.py" "$folder" help

# spoilt SED WORDS: the manifests after the edit are refused with the words.
spoilt() {
    rm -rf spoilt && mkdir spoilt && cp "$folder"/*.yaml spoilt
    sed -i "$1" spoilt/*.yaml
    "$python" "$here/manifests.py" spoilt help 2>spoilt.err && fail "nobody noticed $1"
    grep -q "$2" spoilt.err || fail "$1 is called $(cat spoilt.err)"
}
spoilt 's/privileged: false/privileged: true/' 'is privileged'
spoilt 's/add: \[DAC_READ_SEARCH\]/add: [SYS_ADMIN]/' 'adds capabilities'
spoilt 's/readOnly: true/readOnly: false/' 'may write /proc'
spoilt 's/--zero-fill/--zerofill/' 'no option --zerofill'
spoilt 's/:8000$/:9000/' 'listens elsewhere'
spoilt 's/automountServiceAccountToken: false/hostPID: true/' 'hostPID'
spoilt 's/honorLabels: true/honorLabels: false/' 'lets labels be renamed'

if command -v kubeconform >/dev/null && [ -n "${NTK_KUBE_SCHEMAS:-}" ]; then
    kubeconform -strict -schema-location "$NTK_KUBE_SCHEMAS" "$folder"/*.yaml
fi

# The vendor's pipe of three programs ends well.
echo '{}' | neuron-monitor-k8s-info --period 15 || fail "the last program of the pipe ends with $?"
code=0
neuron-monitor-k8s-info --nonsense </dev/null 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a wrong option ends with $code"
