# SPDX-License-Identifier: GPL-2.0-or-later
# tar.sh start: the tree, and how many files it has. tar.sh: packs the tree, unpacks it elsewhere, and compares and counts
# what came out.
if [ "$1" = start ]; then
    cp -r /workload/source /var/tmp/tree && exec sh -c 'ls -R1 /var/tmp/tree | wc -l >/var/tmp/lines'
fi
tar --create --file=/tmp/tree.tar --directory=/var/tmp tree && mkdir /var/tmp/unpacked &&
    tar --extract --file=/tmp/tree.tar --directory=/var/tmp/unpacked &&
    tar --compare --file=/tmp/tree.tar --directory=/var/tmp/unpacked &&
    ls -R1 /var/tmp/unpacked/tree | wc -l | cmp - /var/tmp/lines && rm -r /var/tmp/unpacked &&
    echo 'what was unpacked is the tree'
