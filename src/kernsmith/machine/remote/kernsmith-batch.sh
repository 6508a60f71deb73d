#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a computer does by itself with this folder (docs/machine-self.md): boot each kernel of it by
# turns, measure, and come back to its own kernel at the end or at the first failure.
#
#	./kernsmith-batch start		as root: look whether it can be done, and begin
#	./kernsmith-batch status	what has been done so far
#	./kernsmith-batch stop		as root: begin nothing more
#	./kernsmith-batch step		what systemd calls after each boot
#	./kernsmith-batch late		and this: leave a measured kernel that takes too long
#	./kernsmith-batch leave		and behind them: leave it, whatever has ended them
#
# Its default boot entry is never changed: whatever happens, the next boot is its own kernel's.

set -uf
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/settings"	# BATCH KERNEL_WORDS INITRAMFS ENTER GO_ON TUNE PAUSE
unit=kernsmith-batch.service
watch=kernsmith-batch-late.service
place=/etc/systemd/system/$unit
watch_place=/etc/systemd/system/$watch
mark=kernsmith.batch=
custom=/boot/grub/custom.cfg
needed=65536	# KiB, before each boot
slack=600	# seconds that a boot may take besides its runs, and a reboot as well
runner=$here/kernsmith-runner

fail() { echo "kernsmith-batch: $*" >&2; exit 2; }

# A line of what happened, on the disk before anything else happens.
note() { echo "$(date -u +%Y-%m-%dT%H:%M:%S) $*" >>"$here/state" && sync "$here/state"; }

told() { [ -e "$here/state" ] && cut -d' ' -f2- "$here/state"; }

# The batch and the number of the boot that the running kernel is of; nothing in the machine's own.
marked() {
	for word in $(cat /proc/cmdline); do
		case $word in $mark*) echo "${word#$mark}" ;; esac
	done | tail -n 1
}

boots() { ls "$here/boots"; }

# The first boot that nothing became of yet.
following() {
	for boot in $(boots); do
		told | grep -qE "^(ended|died|refused) $boot( |\$)" || { echo "$boot"; return; }
	done
}

# ---- before anything is begun

check() {
	[ "$(id -u)" = 0 ] || fail "kernels are booted by root: sudo $0 start"
	[ -d /run/systemd/system ] || fail "this computer was not started by systemd"
	[ "$(uname -m)" = x86_64 ] ||
		fail "this computer is of the architecture $(uname -m); the kernels are for x86_64"
	[ -z "$(marked)" ] || fail "a measured kernel is running: reboot first"
	[ "$(stat -c %d "$here")" = "$(stat -c %d /)" ] ||
		fail "$here is not on the disk that / is on: copy the folder there (/var/lib/kernsmith)"
	[ ! -e $place ] || [ -e "$here/state" ] ||
		fail "another batch is at work ($(sed -n 's/^ExecStart=//p' $place)): stop it first"
	(cd "$here" && sha256sum --status -c checksums) ||
		fail "the folder is damaged: sha256sum -c checksums says where"
	if grep -q '\[\(integrity\|confidentiality\)\]' /sys/kernel/security/lockdown 2>/dev/null; then
		[ "$ENTER" = grub ] || fail "its kernel is locked down, which secure boot does: it loads" \
			"no kernel that its maker has not signed; turn secure boot off in the firmware"
	fi
	case $ENTER in
	kexec)
		command -v kexec >/dev/null ||
			fail "there is no kexec program: install kexec-tools, or say enter = \"grub\""
		[ "$(cat /proc/sys/kernel/kexec_load_disabled 2>/dev/null)" != 1 ] ||
			fail "kernel.kexec_load_disabled is 1, which stays until the next reboot" ;;
	grub)
		command -v grub-reboot >/dev/null || fail "there is no grub-reboot: is GRUB its boot loader?"
		grep -q next_entry /boot/grub/grub.cfg && grep -q custom.cfg /boot/grub/grub.cfg ||
			fail "/boot/grub/grub.cfg reads neither next_entry nor custom.cfg"
		secure && fail "secure boot is on: GRUB boots no kernel that nobody has signed; turn it off" \
			"in the firmware"
		clears || fail "GRUB takes an entry again and again where it cannot write /boot/grub/grubenv:" \
			"on" $(grub-probe --target=fs /boot/grub) $(grub-probe --target=abstraction /boot/grub) \
			"it cannot; say enter = \"kexec\"" ;;
	esac
	room || fail "the disk is full: $here needs 64 MiB, and $((free / 1024)) are free"
}

room() { free=$(df -Pk "$here" | awk 'END { print $4 }'); [ "$free" -gt $needed ]; }

# The variable's attributes, 4 bytes, and its value (UEFI specification, 3.3).
secure() {
	for variable in $(ls /sys/firmware/efi/efivars 2>/dev/null | grep '^SecureBoot-'); do
		[ "$(od -An -tu1 -j4 -N1 "/sys/firmware/efi/efivars/$variable" | tr -d ' ')" != 1 ] || return 0
	done
	return 1
}

# Whether GRUB forgets the entry that it was to take once: its save_env writes where the file's
# blocks are, which neither a volume manager nor a file system with sums of its data may have
# (info grub, Environment block; check_writable of Debian's 00_header).
clears() {
	[ -z "$(grub-probe --target=abstraction /boot/grub)" ] || return 1
	case $(grub-probe --target=fs /boot/grub) in
	"" | btrfs | cpiofs | f2fs | newc | odc | romfs | squash4 | tarfs | zfs) return 1 ;;
	esac
}

# A path as systemd has it: specifiers begin with a %, and words of commands are quoted.
of_unit() { printf %s "$1" | sed 's/%/%%/g'; }
of_command() { printf '"%s"' "$(of_unit "$1" | sed 's/[\\"]/\\&/g; s/\$/$$/g')"; }

start() {
	check
	chmod 755 "$here/kernsmith-batch" "$runner"
	[ -n "$(following)" ] || fail "all that is planned has been done: kernsmith resume"
	"$runner" look >"$here/own" || fail "$runner does not run here"
	program=$(of_command "$here/kernsmith-batch") condition=$(of_unit "$here/kernsmith-batch")
	cat >$place <<-END || fail "cannot write $place"
		[Unit]
		Description=kernsmith: the next boot of a batch
		After=multi-user.target
		ConditionPathExists=$condition
		[Service]
		Type=simple
		ExecStart=$program step
		ExecStopPost=$program leave
		[Install]
		WantedBy=multi-user.target
	END
	cat >$watch_place <<-END || fail "cannot write $watch_place"
		[Unit]
		Description=kernsmith: the way out of a kernel that takes too long
		DefaultDependencies=no
		IgnoreOnIsolate=yes
		ConditionKernelCommandLine=kernsmith.batch
		ConditionPathExists=$condition
		[Service]
		Type=simple
		ExecStart=$program late
		[Install]
		WantedBy=sysinit.target emergency.target rescue.target
	END
	systemctl daemon-reload && systemctl --quiet enable $unit $watch ||
		fail "systemd does not take $place"
	note "started" || fail "cannot write $here/state"
	sync
	echo "kernsmith-batch: $(boots | wc -l) boots; in $PAUSE s this computer leaves its kernel" \
		"(systemctl stop $unit; $here/kernsmith-batch stop)"
	systemctl --no-block start $unit
}

# ---- the way into a kernel

# All words of the machine's own kernel but the loader's.
words() {
	for word in $(cat /proc/cmdline); do
		case $word in
		BOOT_IMAGE=* | initrd=* | kexec_jump_back_entry=* | $mark*) ;;
		*) printf '%s ' "$word" ;;
		esac
	done
	printf '%s %s\n' "$KERNEL_WORDS" "$mark$BATCH/$1"
}

refuse() { note "refused $1 $2" || exit 1; leave_or_go_on; }

# Its modules, where a kernel looks for them, and the initramfs that it is given.
furnish() {
	initrd=$INITRAMFS
	[ -e "$kernel/modules.tar" ] || return 0
	release=$(cat "$kernel/release")
	[ "$release" != "$(uname -r)" ] || { echo "it calls itself $release, as the own kernel does"; return 1; }
	if [ -e "/lib/modules/$release" ] && [ ! -L "/lib/modules/$release" ]; then
		echo "/lib/modules/$release is of another kernel"; return 1
	fi
	if [ ! -d "$kernel/modules" ]; then
		mkdir "$kernel/modules.part" && tar -xf "$kernel/modules.tar" -C "$kernel/modules.part" &&
			mv "$kernel/modules.part" "$kernel/modules" || { echo "no room for modules"; return 1; }
	fi
	ln -sfn "$kernel/modules" "/lib/modules/$release" && depmod "$release" || return 1
	[ -z "$initrd" ] || return 0
	initrd=$kernel/initramfs
	[ -e "$initrd" ] || sh "$here/make-initramfs" "$release" "$initrd" 2>&1
}

enter() {
	kernel=$here/kernels/$(cat "$here/boots/$1/kernel")
	said=$(furnish) || { refuse "$1" "$said"; return; }
	furnish >/dev/null	# once more, out of the subshell: it says which initramfs
	if [ "$ENTER" = kexec ]; then
		said=$(kexec --load "$kernel/vmlinux" --args-linux ${initrd:+--initrd="$initrd"} \
			--command-line="$(words "$1")" 2>&1) || { refuse "$1" "kexec: $said"; return; }
	else
		said=$(entry "$1" 2>&1) || { refuse "$1" "grub: $said"; return; }
	fi
	sh "$here/last-words" seen "$here/words-seen"
	note "entering $1" || exit 1
	sync
	if [ "$ENTER" = kexec ]; then systemctl kexec --force; else systemctl reboot --force; fi
}

# A path as GRUB finds and reads it: as one word, of which it expands nothing.
of_grub() { printf "'%s'" "$(grub-mkrelpath "$1" | sed "s/'/'\\\\''/g")"; }

# A boot entry that GRUB takes once; the default one stays what it is.
entry() {
	rub
	{
		echo "# kernsmith begin"
		echo "menuentry kernsmith --id kernsmith {"
		echo "	search --no-floppy --fs-uuid --set=root $(grub-probe --target=fs_uuid "$kernel")"
		printf '\tlinux %s %s\n' "$(of_grub "$kernel/image")" "$(words "$1" | sed 's/[\\$]/\\&/g')"
		[ -z "$initrd" ] || printf '\tinitrd %s\n' "$(of_grub "$initrd")"
		echo "}"
		echo "# kernsmith end"
	} >>$custom && grub-reboot kernsmith
}

rub() {
	[ "$ENTER" != grub ] || grub-editenv - unset next_entry
	[ ! -e $custom ] || sed -i '/^# kernsmith begin$/,/^# kernsmith end$/d' $custom
	[ -s $custom ] || rm -f $custom
}

# ---- after each boot

step() {
	now=$(marked)
	case $now in
	"$BATCH"/*) measured "${now#*/}" ;;
	"") own ;;
	*) exit 0 ;;
	esac
}

measured() {
	trap leave EXIT
	trap 'exit 1' HUP INT TERM
	boot=$here/boots/$1 number=$1
	rub	# GRUB has forgotten it by now, or never will
	if told | grep -q "^up $1 "; then
		note "again $1"
		exit 1
	fi
	note "up $1 $(cat /proc/sys/kernel/random/boot_id) $(uname -r)" || exit 1
	settle
	[ "$TUNE" = 0 ] || sh "$here/tune"
	"$runner" look >"$boot/before"
	sync
	set --
	if systemd-inhibit --what=idle true 2>/dev/null; then
		set -- systemd-inhibit --what=sleep:idle:handle-lid-switch --who=kernsmith --why=measuring
	fi
	if "$@" "$runner" run "$boot" 2>"$boot/said"; then
		"$runner" look >"$boot/after"
		note "ended $number"
	fi
	sync
}

# Out of a measured kernel, through the firmware; somebody who switches the computer off may do so.
leave() {
	trap - EXIT
	ours || return 0
	[ "$(systemctl is-system-running 2>/dev/null)" = stopping ] || systemctl reboot --force
}

ours() { case $(marked) in "$BATCH"/*) ;; *) return 1 ;; esac; }

# A boot that is not over when all its runs could be, in whatever state: emergency mode too.
late() {
	ours || return 0
	now=$(marked)
	sleep $(($(awk '$2 == "trial" { s += $6 * ($7 + 60) } END { print s + 0 }' \
		"$here/boots/${now#*/}/plan") + slack))
	leave
	sleep $slack
	echo b >/proc/sysrq-trigger
}

# What a boot starts is over, or takes too long to wait for.
settle() { timeout 120 systemctl is-system-running --wait >/dev/null 2>&1; sleep 1; }

own() {
	last=$(told | grep '^\(entering\|ended\|died\|up\|again\) ' | tail -n 1)
	case $last in
	again\ *)
		number=${last#* }
		told | grep -q "^ended $number\$" || died "$number"
		finish "stopped: the boot loader takes its entry again and again"
		;;
	entering\ * | up\ *)
		died "$(echo "$last" | cut -d' ' -f2)"
		leave_or_go_on
		;;
	*) go_on ;;
	esac
}

died() {
	sh "$here/last-words" new "$here/words-seen" >"$here/boots/$1/last-words" 2>/dev/null
	note "died $1" || exit 1
}

leave_or_go_on() {
	if [ "$GO_ON" = 1 ]; then go_on; else finish "stopped at the first failure"; fi
}

go_on() {
	number=$(following)
	[ -n "$number" ] || { finish "finished"; return; }
	room || { finish "stopped: the disk is full"; return; }
	sleep "$PAUSE"
	enter "$number"
}

# The machine as it was, but for this folder.
finish() {
	rub
	for name in $(ls "$here/kernels"); do
		kernel=$here/kernels/$name
		release=$(cat "$kernel/release" 2>/dev/null) || continue
		[ ! -L "/lib/modules/$release" ] || rm "/lib/modules/$release"
		rm -rf "$kernel/modules" "$kernel/initramfs"
	done
	rm -f "$here/words-seen"
	note "$1"
	systemctl --quiet disable $unit $watch
	rm -f $place $watch_place
	systemctl daemon-reload
}

stop() {
	[ "$(id -u)" = 0 ] || fail "sudo $0 stop"
	[ -e $place ] || fail "nothing is at work"
	finish "stopped by hand"
	! ours || echo "kernsmith-batch: a measured kernel is running: this computer reboots out of it"
	systemctl --no-block stop $unit
}

status() { if [ -e "$here/state" ]; then cat "$here/state"; else echo "not started"; fi; }

case ${1:-} in
start | step | stop | status | late | leave) "$1" ;;
*) sed -n '6,11s/^#\t//p' "$0" >&2; exit 2 ;;
esac
