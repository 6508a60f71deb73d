# SPDX-License-Identifier: GPL-2.0-or-later
# git-status.sh start: a repository of the tree in which some files have been changed since. git-status.sh: what has changed,
# looked for anew.
export HOME=/tmp GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
if [ "$1" = start ]; then
    cp -r /workload/source /var/tmp/tree && cd /var/tmp/tree && git init --quiet --initial-branch=main &&
        git config user.name Guest && git config user.email guest@example.org && git add --all --force &&
        git commit --quiet --message 'The tree' && for file in kernel/locking/*.h; do
            echo changed >>"$file" && echo " M $file" >>/var/tmp/said
        done && touch new-file && exec sh -c "echo '?? new-file' >>/var/tmp/said"
fi
cd /var/tmp/tree && find . -path ./.git -prune -o -type f -exec touch {} + &&
    git status --short | cmp - /var/tmp/said &&
    [ "$(git diff --numstat | wc -l)" = "$(grep -c M /var/tmp/said)" ] && echo 'what was changed has changed'
