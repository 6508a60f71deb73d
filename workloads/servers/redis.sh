# SPDX-License-Identifier: GPL-2.0-or-later
# redis.sh start: a Redis that keeps all in memory. redis.sh: redis-benchmark's requests from eight clients, and
# what they have made of the data.
if [ "$1" = start ]; then
    redis-server --bind 127.0.0.1 --daemonize yes --save '' --appendonly no --logfile /tmp/redis.log --dir /tmp
    tries=100
    until redis-cli ping 2>/dev/null | grep -q PONG; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo 'Redis does not answer:'; tail -n 3 /tmp/redis.log; exit 1; }
        sleep 0.1
    done
    exit
fi
redis-cli flushall &&
    redis-benchmark -q --seed 1 -n 500 -c 8 -d 100 -t set,get,incr,lpush,lrange_100,mset >/dev/null &&
    redis-cli get counter:__rand_int__ && redis-cli llen mylist && redis-cli dbsize
