# SPDX-License-Identifier: GPL-2.0-or-later
# One group of twenty senders and twenty receivers, eight messages of 100 bytes each to each.
hackbench --groups 2 --fds 20 --loops 8 --datasize 100 >/tmp/hackbench.out || exit
grep -v '^Time:' /tmp/hackbench.out
