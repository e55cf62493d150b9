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
