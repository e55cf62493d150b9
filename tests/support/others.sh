# others.sh - functions for tests with several users; sourced.

# open_to_others FOLDER: copies the programs and libraries to FOLDER/others, which any user can enter wherever the
# checkout is, and sets $NTK_BIN_DIR, $NTK_LIB_DIR and PATH to the copies.
open_to_others() {
    local others=$1/others
    chmod 755 "$1"
    mkdir -m 755 "$others"
    cp -RP "$NTK_BIN_DIR" "$others/bin"
    cp -RP "$NTK_LIB_DIR" "$others/lib"
    chmod -R a+rX "$others"
    export NTK_BIN_DIR=$others/bin NTK_LIB_DIR=$others/lib PATH=$others/bin:$PATH
}

# as_user UID COMMAND...; "${as_nobody[@]}" COMMAND... if a function cannot be called.
as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
as_user() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# watched UID...: waits until a reader marks the folder of each user. Without the mark, a job leaves nothing at its end,
# so a short one is not counted.
watched() {
    local uid
    for uid in "$@"; do
        as_user "$uid" mkdir -p -m 700 "/dev/shm/neuron-$uid"
        wait_for is_marked_for "$uid"
    done
}
is_marked_for() { grep ":$(stat -c %i "/dev/shm/neuron-$1/.reader.lock" 2>/dev/null) 0 " /proc/locks >/dev/null && echo yes; }
