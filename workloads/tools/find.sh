# SPDX-License-Identifier: GPL-2.0-or-later
# Walks the tree by name, by size, and by time.
find /var/tmp/tree -name '*.h' | sort | cksum &&
    find /var/tmp/tree -type f -size +3k | wc -l &&
    find /var/tmp/tree -type d -newermt 2020-01-01 | wc -l
