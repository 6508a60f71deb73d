# SPDX-License-Identifier: GPL-2.0-or-later
# lmbench.sh start ROW: what the row needs, once. lmbench.sh ROW: lmbench's programs of it, each with a fixed number of
# iterations; prints what they say, with N for every figure above zero, as all figures depend on the clock.
#
# lmbench (benchmp() in its lib_timing.c) makes as many iterations in an interval as take the time that is ENOUGH, and
# subtracts LOOP_O, the cost of its own loop, from what each iteration took; both are microseconds. Here this cost is
# negative: every iteration seems to take so long, beside the time that it takes, that always the same number is enough.
# A program makes three iterations more: one to warm up, one to begin with, and one while its results are fetched.
for folder in /usr/lib/lmbench/bin/* /usr/local/lib/lmbench/bin/* /opt/lmbench/bin/*; do
    PATH=$PATH:$folder
done

# fixed ITERATIONS REPETITIONS PROGRAM WORD...: so many intervals of so many iterations, two or more, each of which
# takes less than 550 s / ITERATIONS^2: 550 us where there are a thousand.
fixed() {
    loop_cost=-$((2200000000 / (2 * $1 - 1))) repetitions=$2 program=$3
    shift 3
    # shellcheck disable=SC2086 # no word or several
    ENOUGH=1000000000 TIMING_O=0 LOOP_O=$loop_cost \
        $first "$program" -N "$repetitions" "$@" >>/tmp/said 2>&1 || exit
}
first=

# The same for a program that never waits in an iteration. It would make as many to warm up, and at the end, as there is
# time for until its first process is scheduled, which waits for it; so this process has a real-time priority, and what
# it starts has none. Where processes wake each other it would change how they are scheduled.
alone() {
    first='chrt --fifo --reset-on-fork 1'
    fixed "$@"
}

switches() {
    awk '$1 == "ctxt" { print $2 }' /proc/stat
}

start() {
    mount -t tmpfs tmpfs /tmp || exit
    case $1 in
    file-read | mmap-read | mmap | page-fault) head -c 8M /dev/zero >/tmp/file ;;
    process) mkdir -p /var/tmp/lmbench && cp "$(command -v hello)" /tmp && cp /tmp/hello /var/tmp/lmbench ;;
    tcp-bandwidth) bw_tcp -s ;;
    tcp-connect) lat_connect -s ;;
    tcp-latency) lat_tcp -s ;;
    udp-latency) lat_udp -s ;;
    rpc-latency) mkdir -p /run/rpcbind && rpcbind && lat_rpc -s ;;
    esac || exit
    sleep 1
}

if [ "$1" = start ]; then
    start "$2"
    exit
fi
cd /tmp && : >said || exit
case $1 in
file-read) alone 100 5 bw_file_rd 512k io_only /tmp/file ;;
mmap-read) alone 100 4 bw_mmap_rd 512k open2close /tmp/file ;;
pipe-bandwidth) fixed 20 3 bw_pipe -M 1m ;;
tcp-bandwidth) fixed 2 1 bw_tcp -m 64k -M 16m -W 0 localhost ;;
unix-bandwidth) fixed 40 3 bw_unix -M 1m ;;
tcp-connect) fixed 100 5 lat_connect localhost ;;
context-switch)
    before=$(switches)
    fixed 100 8 lat_ctx -s 16 8
    [ $(($(switches) - before)) -ge 6424 ] && echo 'all of them' >>/tmp/said
    ;;
file-create) alone 100 2 lat_fs /tmp ;;
mmap) alone 100 3 lat_mmap 2m /tmp/file && alone 100 3 lat_mmap -r 2m /tmp/file ;;
page-fault) alone 4 3 lat_pagefault /tmp/file ;;
pipe-latency) fixed 1000 3 lat_pipe ;;
process)
    for how in fork exec shell; do
        fixed 10 2 lat_proc $how
    done
    ;;
rpc-latency) fixed 100 6 lat_rpc localhost ;;
select) alone 100 4 lat_select file && alone 100 4 lat_select tcp ;;
signal) alone 1000 10 lat_sig install && alone 1000 10 lat_sig catch ;;
syscall) alone 5000 20 lat_syscall null ;;
tcp-latency) fixed 500 3 lat_tcp localhost ;;
udp-latency) fixed 500 3 lat_udp localhost ;;
unix-latency) fixed 1000 3 lat_unix ;;
esac
awk '{
    line = ""
    while (match($0, /[0-9]+(\.[0-9]+)?/)) {
        figure = substr($0, RSTART, RLENGTH)
        line = line substr($0, 1, RSTART - 1) (figure > 0 ? "N" : figure)
        $0 = substr($0, RSTART + RLENGTH)
    }
    print line $0
}' /tmp/said
