#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the golden figures again: R (Debian: r-base-core) and ministat (Debian trixie: ministat).
# Run at the top of the source tree. The tests need neither program.
set -eu
here=tests/stats/golden
R --version | head -n 1 >&2
(printf '"key",value\n'; Rscript "$here/make_golden.R") >"$here/r.csv"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
column() { # MACHINE VARIANT
	awk -F, -v h="$1" -v m="$2" '$2 == h && $3 == m { print $5 }' ../shared/data/march-make-bench.csv
}
column X5950 "Generic x86-64" >"$work/generic"
column X5950 AMD-x86-64-v3 >"$work/v3"
column X5950 "AMD Zen 3" >"$work/zen3"
column i7-4790K "Generic x86-64" >"$work/i7-generic"
column i7-4790K "Intel Haswell" >"$work/haswell"
awk 'BEGIN { for (i = 0; i < 80; i++) print 10 + (i * 37 % 80) / 100 }' >"$work/many"
awk 'BEGIN { for (i = 0; i < 61; i++) print 10.05 + (i * 17 % 61) / 90 }' >"$work/more"
cd "$work"
for set in "generic v3" "v3 zen3" "i7-generic haswell" "generic v3 zen3" "many more"; do
	for confidence in 80 90 95 98 99 99.5; do
		echo "### $confidence $set"
		# shellcheck disable=SC2086
		ministat -A -c "$confidence" $set
	done
done >"$OLDPWD/$here/ministat.txt"
