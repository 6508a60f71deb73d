# SPDX-License-Identifier: GPL-2.0-or-later
# stress.sh STRESSOR OPERATIONS [WORD...]: one instance of a stressor, with the same random numbers each time.
# What it does is verified where it can be, and how much it did is printed. WORDs: more for stress-ng.
stressor=$1 operations=$2
shift 2
stress-ng "--$stressor" 1 "--$stressor-ops" "$operations" "$@" --seed 20260101 --verify --timeout 0 --temp-path /tmp \
    --yaml /tmp/stress.yaml --metrics-brief --quiet &&
    awk '$1 == "-" && $2 == "stressor:" { name = $3 } $1 == "bogo-ops:" { print name, $2 }' /tmp/stress.yaml
