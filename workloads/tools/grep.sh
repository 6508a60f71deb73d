# SPDX-License-Identifier: GPL-2.0-or-later
# Looks for a word in the tree twice: which files have it, and how many lines.
grep --recursive --files-with-matches --word-regexp 'mutex_queue' /var/tmp/tree | sort | cksum &&
    grep --recursive --no-filename 'inode->socket' /var/tmp/tree | wc -l
