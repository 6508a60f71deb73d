# SPDX-License-Identifier: GPL-2.0-or-later
# Sorts all lines of the tree by what is in the brackets.
sort --field-separator='[' --key=2n --key=1 /var/tmp/all | cksum
