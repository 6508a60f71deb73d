# SPDX-License-Identifier: GPL-2.0-or-later
# git-status.sh start: a repository with the tree's 480 files in it. git-status.sh: what has changed, looked for anew.
export HOME=/tmp GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
if [ "$1" = start ]; then
    sh tree.sh /var/tmp/tree && cd /var/tmp/tree && git init --quiet --initial-branch=main &&
        git config user.name Guest && git config user.email guest@example.org && git add . &&
        git commit --quiet --message 'The tree' && find . -name '*.h' -newermt 2020-01-01 -path './part-1/*' -exec sh -c \
            'for file; do echo changed >>"$file"; done' sh {} + && exec touch new-file
fi
cd /var/tmp/tree && find . -path ./.git -prune -o -type f -exec touch {} + &&
    git status --short | cksum && git diff --stat | tail -n 1
