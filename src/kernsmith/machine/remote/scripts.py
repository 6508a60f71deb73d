# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done on a machine that is given kernels, in the words of its shell.

By ssh, and by a folder that the machine goes through alone (`remote.folder`).
"""

MARK = "kernsmith.batch="
"""The word of the command line by which a measured kernel is told from the machine's own one."""

WORDS = (
    "panic=10", "oops=panic", "softlockup_panic=1", "hung_task_panic=1", "rd.shell=0",
    "rd.emergency=reboot", "nokaslr",
)  # fmt: skip
"""It comes back by itself from whatever it says, or finds stuck, and from an initramfs that does
not find the root; addresses are those that it was linked at. What a kernel does not know goes to
process 1, which ignores it."""

OF_LOADER = ("BOOT_IMAGE=", "initrd=", "kexec_jump_back_entry=", MARK)
"""What boot loaders add, and is not of the kernel that is booted now."""

LEAVE = """\
PATH=$PATH:/sbin:/usr/sbin
(sleep 180; ! grep -q kernsmith.batch= /proc/cmdline || echo b > /proc/sysrq-trigger) & sync
if [ -d /run/systemd/system ]; then systemctl {verb} --force; else {plain}; fi"""
"""Clean file systems, and nothing of the distribution's that would load another kernel; a measured
kernel in which something is stuck that this waits for is left at once, in the end."""

BEHIND = "nohup sh -c {script} >/dev/null 2>&1 </dev/null &"

TUNE = """\
grep -q {mark} {root}/proc/cmdline || exit 0
cd {root}/sys/devices/system/cpu
for f in cpu[0-9]*/cpufreq/scaling_governor; do [ ! -e $f ] || echo performance > $f || true; done
[ ! -e intel_pstate/no_turbo ] || echo 1 > intel_pstate/no_turbo || true
[ -e intel_pstate/no_turbo ] || [ ! -e cpufreq/boost ] || echo 0 > cpufreq/boost || true
"""
"""In a measured kernel alone, with which it ends: a clock that stands. root: in which proc and sys
are; empty on a machine."""

LAST_WORDS = """\
mount | grep -q /sys/fs/pstore || mount -t pstore pstore /sys/fs/pstore 2>/dev/null
kept() {
    find /sys/fs/pstore /var/lib/systemd/pstore -type f -name 'dmesg*' -exec cksum {} + 2>/dev/null
}
case $1 in
seen) kept > "$2" ;;
new) kept | while read -r sum size path; do
    grep -qs "^$sum $size " "$2" || tail -c 4000 "$path"
done ;;
esac
"""
"""What the firmware or a piece of memory kept of the logs of kernels that died: `seen FILE` before
a kernel is entered, `new FILE` behind it. By content: systemd moves what it finds, and clocks go
wrong."""

MAKE_INITRAMFS = """\
if command -v mkinitramfs >/dev/null; then mkinitramfs -o "$2" "$1"
elif command -v dracut >/dev/null; then dracut --quiet --force --kver "$1" "$2"
elif command -v mkinitcpio >/dev/null; then mkinitcpio -k "$1" -g "$2"
else echo the kernel has modules, and nothing here makes an initramfs >&2; exit 1; fi
"""
"""Of a release, into a file, by the tool that the distribution has."""

TAKE = """\
[ ! -e /etc/systemd/system/kernsmith-batch.service ] || { echo batch; exit; }
f=$1/used-by owner=$2 lease=$3; mkdir -p "$1" || exit; now=$(date +%s)
if ! (set -C; echo "$owner $((now + lease))" > "$f") 2>/dev/null; then
    read -r other until < "$f"
    if [ "$other" != "$owner" ] && [ "${until:-0}" -ge "$now" ]; then
        echo "$other $((until - now))"; exit
    fi
    echo "$owner $((now + lease))" > "$f.$owner" && mv "$f.$owner" "$f" || exit
    [ "$other" = "$owner" ] || sleep 1
fi
sync "$f"; read -r other until < "$f"; echo "$other 0"
"""
"""Use a machine alone: who asks from another computer is told who has it, and for how many seconds
at most; the time of a holder that never came back is over then."""

LEAVE_FREE = """\
if read -r other until < "$1/used-by" 2>/dev/null && [ "$other" = "$2" ]; then rm "$1/used-by"; fi
"""
