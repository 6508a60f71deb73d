# SPDX-License-Identifier: GPL-2.0-or-later
# iperf3.sh start: a server. iperf3.sh: 8 MiB over TCP on the loopback device, one stream and then four.
if [ "$1" = start ]; then
    exec iperf3 --server --bind 127.0.0.1 --daemon
fi
for streams in 1 4; do
    iperf3 --client 127.0.0.1 --bytes 8M --parallel "$streams" --json >/tmp/iperf3.json || exit
    awk -v streams="$streams" '/"sum_received"/ { inside = 1 } inside && /"bytes"/ {
        print streams, ($2 + 0 >= 8388608 ? "all received" : "too few bytes"); exit }' /tmp/iperf3.json
done
