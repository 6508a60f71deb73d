# SPDX-License-Identifier: GPL-2.0-or-later
# fio.sh start: an ext4 on a file, at /tmp/ext4. fio.sh FOLDER: writes a file of 8 MiB there and verifies it, then
# reads and writes it at random places, the same each time; prints how much was done.
if [ "$1" = start ]; then
    truncate --size=64M /tmp/disk && mkfs.ext4 -q -U 0a0b0c0d-0000-4000-8000-000000000001 \
        -E hash_seed=0a0b0c0d-0000-4000-8000-000000000002,lazy_itable_init=0 /tmp/disk &&
        mkdir -p /tmp/ext4 /tmp/tmpfs && exec mount -o loop,noatime /tmp/disk /tmp/ext4
fi
for work in '--rw=write --verify=crc32c' --rw=randrw; do
    # shellcheck disable=SC2086 # the words of a job
    fio --name=job $work --filename="$1/file" --size=8M --bs=4k --randseed=1 --ioengine=psync --fsync=64 \
        --fallocate=none --thread --output-format=terse --terse-version=3 >/tmp/fio.out || exit
    awk -F ';' '{ print "errors", $5, "KiB read", $6, "KiB written", $47 }' /tmp/fio.out
done
