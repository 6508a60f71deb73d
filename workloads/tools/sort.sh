# SPDX-License-Identifier: GPL-2.0-or-later
# sort.sh start: all lines of the tree, and backwards and sorted. sort.sh: sorts them, by the second word and by the first.
export LC_ALL=C
sorted() { sort --key=2,2 --key=1; }
if [ "$1" = start ]; then
    find /workload/source -type f -exec cat {} + >/var/tmp/all && exec sh -c "tac /var/tmp/all |
        sort --key=2,2 --key=1 >/var/tmp/sorted"
fi
sorted </var/tmp/all | cmp - /var/tmp/sorted && echo 'as sorted from the other end'
