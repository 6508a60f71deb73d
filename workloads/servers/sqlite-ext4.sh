# SPDX-License-Identifier: GPL-2.0-or-later
# sqlite-ext4.sh start: an ext4 on a file. sqlite-ext4.sh: a database with a journal on it, by many transactions.
if [ "$1" = start ]; then
    truncate --size=64M /tmp/disk && mkfs.ext4 -q -U 0a0b0c0d-0000-4000-8000-000000000001 \
        -E hash_seed=0a0b0c0d-0000-4000-8000-000000000002,lazy_itable_init=0 /tmp/disk &&
        mkdir -p /tmp/ext4 && exec mount -o loop,noatime /tmp/disk /tmp/ext4
fi
cd /tmp/ext4 && rm -f words.db &&
    {
        echo 'create table words (id integer primary key, word text, length integer);'
        echo 'create index by_word on words (word);'
        seq 1 60 | awk '{ print "begin;"; for (i = 0; i < 20; i++) { n = $1 * 7919 + i * 104729
            printf "insert into words (word, length) values (\"w%d\", %d);\n", n, n % 97 } print "commit;" }'
        echo 'update words set length = length + 1 where id % 7 = 0;'
        echo 'delete from words where length % 11 = 3;'
        echo 'select count(*), sum(length), min(word), max(word) from words;'
    } | sqlite3 words.db && sync words.db
