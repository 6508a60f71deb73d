# SPDX-License-Identifier: GPL-2.0-or-later
# Packs the tree, unpacks it elsewhere, and says what the archive is.
tar --create --file=/tmp/tree.tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --format=gnu --directory=/var/tmp tree &&
    mkdir /var/tmp/unpacked && tar --extract --file=/tmp/tree.tar --directory=/var/tmp/unpacked &&
    rm -r /var/tmp/unpacked && cksum /tmp/tree.tar
