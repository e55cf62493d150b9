#!/bin/bash
# failures - the output of a failed script: the message, what it waited for, the line of the script with the command,
# the last 20 lines of each log, and nothing else.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
cat >example.sh <<'END'
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
seq 30 >agent.err
case $1 in
wait)
    is_there() { [ -e there ] && echo yes; }
    wait_for is_there ;;
complain)
    checks() { [ "$1" = "$2" ] || complain "$1 is not $2"; }
    checks one 1
    (checks two 2) ;;
skip)
    complain "wrong before the end"
    exit 77 ;;
command)
    inner() { grep -q missing agent.err; }
    at_failure() { echo starting >state.log; }
    inner ;;
fail) false || fail "no answer" ;;
esac
END
{ echo '--- agent.err' && seq 11 30; } >logs
# prints CASE: expects the text on stdin, in which LOGS is replaced by the log.
prints() {
    local code=0
    sed -e '/^LOGS$/{r logs' -e 'd}' >expected
    NTK_TEST_PATIENCE=0 bash example.sh "$1" >printed 2>&1 || code=$?
    [ $code = 1 ] && diff expected printed >difference.log || fail "$1: exit code $code, or other output"
}
prints wait <<'END'
example: timed out after 0 s, waiting for: is_there
is_there () 
{ 
    [ -e there ] && echo yes
}
    line 6: wait_for is_there ;;
LOGS
END
prints complain <<'END'
example: one is not 1
    line 9: checks one 1
LOGS
example: two is not 2
    line 10: (checks two 2) ;;
LOGS
END
prints skip <<'END'
example: wrong before the end
    line 12: complain "wrong before the end"
LOGS
END
prints command <<'END'
example: exit code 1 of: grep -q missing agent.err
    line 17: inner ;;
LOGS
--- state.log
starting
END
prints fail <<'END'
example: no answer
    line 18: fail) false || fail "no answer" ;;
LOGS
END
