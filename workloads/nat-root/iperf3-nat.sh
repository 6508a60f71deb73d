# SPDX-License-Identifier: GPL-2.0-or-later
# iperf3-nat.sh start: a client, a router that masquerades what leaves by `wan`, and a server, each of
# them a network namespace. The server knows no way to the client's network: what is not masqueraded
# gets no answer. iperf3-nat.sh: 8 MiB over TCP from client to server, one stream and then four.
set -e

network() {
    for host in client router server; do
        ip netns add "$host"
    done
    ip -n router link add lan type veth peer name eth0 netns client
    ip -n router link add wan type veth peer name eth0 netns server
    address router lan 192.168.1.1/24
    address router wan 203.0.113.1/24
    address client eth0 192.168.1.2/24
    address server eth0 203.0.113.2/24
    ip -n client route add default via 192.168.1.1
}

address() {
    ip -n "$1" address add "$3" dev "$2"
    ip -n "$1" link set "$2" up
}

masquerade() {
    ip netns exec router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    ip netns exec router nft 'table ip nat {
        chain postrouting {
            type nat hook postrouting priority srcnat
            oifname wan masquerade
        }
    }'
}

if [ "$1" = start ]; then
    network
    masquerade
    exec ip netns exec server iperf3 --server --bind 203.0.113.2 --daemon
fi
for streams in 1 4; do
    ip netns exec client iperf3 --client 203.0.113.2 --bytes 8M --parallel "$streams" --json >/tmp/iperf3.json
    awk -v streams="$streams" '/"sum_received"/ { inside = 1 } inside && /"bytes"/ {
        print streams, ($2 + 0 >= 8388608 ? "all received" : "too few bytes"); exit }' /tmp/iperf3.json
done
