# SPDX-License-Identifier: GPL-2.0-or-later
# tree.sh FOLDER: writes 480 files in 40 folders there, 1.7 MB of text like source code; the same each time.
mkdir -p "$1" && cd "$1" || exit 1
for folder in $(seq 0 39); do mkdir -p "part-$((folder / 8))/unit-$folder"; done
exec awk '
# The generator of Park and Miller (Communications of the ACM 31, 1988): exact in double precision.
function drawn(most) { state = (state * 16807) % 2147483647; return state % most }
BEGIN {
	state = 20260101
	count = split("lock page node list queue table inode buffer socket timer packet device entry " \
		"index cache mutex group frame state event", word, " ")
	for (file = 0; file < 480; file++) {
		unit = file % 40
		name = sprintf("part-%d/unit-%d/%s-%d.%s", int(unit / 8), unit, word[1 + drawn(count)], file,
			       file % 6 ? "c" : "h")
		lines = 20 + drawn(120)
		for (line = 0; line < lines; line++) {
			a = word[1 + drawn(count)]; b = word[1 + drawn(count)]
			printf "\tif (%s->%s[%d] != %s_%s(%d))\n", a, b, drawn(64), b, a, drawn(4096) > name
		}
		close(name)
	}
}'
