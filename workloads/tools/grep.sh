# SPDX-License-Identifier: GPL-2.0-or-later
# grep.sh start: the tree, and what awk finds in it. grep.sh: which files have a word, and how many lines have two.
if [ "$1" = start ]; then
    cp -r /workload/source /var/tmp/tree && cd /var/tmp/tree && find . -type f -exec awk '
        /(^|[^A-Za-z0-9_])spin_lock($|[^A-Za-z0-9_])/ { has[FILENAME] = 1 }
        END { for (name in has) print name }' {} + | sort >/var/tmp/files && [ -s /var/tmp/files ] &&
        find . -type f -exec cat {} + | awk 'index($0, "struct inode") { n++ } END { print n }' >/var/tmp/lines
    exit
fi
cd /var/tmp/tree && grep --recursive --files-with-matches --word-regexp spin_lock . | sort | cmp - /var/tmp/files &&
    grep --recursive --no-filename 'struct inode' . | wc -l | cmp - /var/tmp/lines && echo 'as awk has found'
