# SPDX-License-Identifier: GPL-2.0-or-later
# find.sh start: the tree, and what ls says of it. find.sh: walks the tree by name, by size, and by time.
if [ "$1" = start ]; then
    cp -r /workload/source /var/tmp/tree && cd /var/tmp/tree && ls -lR >/var/tmp/all && {
        awk '/^-/ && $NF ~ /\.h$/ { print $NF }' /var/tmp/all | sort
        awk '/^-/ && $5 > 3072 { n++ } END { print n }' /var/tmp/all
        grep -c ':$' /var/tmp/all
    } >/var/tmp/said
    exit
fi
cd /var/tmp/tree && {
    find . -name '*.h' | sed 's|.*/||' | sort
    find . -type f -size +3k | wc -l
    find . -type d -newermt 2020-01-01 | wc -l
} | cmp - /var/tmp/said && echo 'as ls has said'
