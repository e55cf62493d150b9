# apart.sh - for scripts with several users; sourced first, before lib.sh. Starts the script again in a private mount
# namespace: folders of several users are in /dev/shm, and an agent without a hooks folder answers in /run.
if [ -z "${NTK_APART:-}" ]; then
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "skipped: only root can be several users"; exit 77; }
    NTK_APART=1 exec unshare -m --propagation private bash "$0"
fi
unset NTK_APART
mount -t tmpfs -o mode=1777,size=4g tmpfs /dev/shm && mount -t tmpfs -o mode=755 tmpfs /run ||
    { echo "skipped: cannot mount a tmpfs"; exit 77; }
