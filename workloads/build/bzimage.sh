# SPDX-License-Identifier: GPL-2.0-or-later
# bzimage.sh start: what a built kernel has before its boot image, and a first image. bzimage.sh JOBS: `make bzImage` with
# so many jobs, from nothing, on tmpfs; the image must be the first one byte for byte, and what is packed in it the kernel.
out=/tmp/out boot=arch/x86/boot source=/workload/source
make="make --silent --directory=$out --makefile=/workload/bzimage.mk"

configured() {
    mkdir -p $out/include/config $out/include/generated/uapi/linux $out/arch/x86/kernel/cpu \
        $out/arch/x86/include/generated/asm $out/arch/x86/include/generated/uapi/asm $out/scripts/basic && cd $out || exit
    grep ^CONFIG /workload/tiny.conf >include/config/auto.conf
    sed -n 's/^\(CONFIG_[A-Z0-9_]*\)=y$/#define \1 1/p; s/^\(CONFIG_[A-Z0-9_]*\)=\([^y].*\)$/#define \1 \2/p' \
        /workload/tiny.conf >include/generated/autoconf.h
}

# Headers that a whole build writes by compiling and running others: only names and numbers that are needed here.
generated() {
    cd include/generated || exit
    echo '#define UTS_RELEASE "7.3.0"' >utsrelease.h
    echo '#define UTS_VERSION "#1"' >utsversion.h
    printf '#define LINUX_COMPILE_%s "guest"\n' BY HOST >compile.h
    printf '#define %s\n' 'NR_PAGEFLAGS 21' 'MAX_NR_ZONES 2' 'SPINLOCK_SIZE 0' 'LRU_GEN_WIDTH 0' '__LRU_REFS_WIDTH 0' >bounds.h
    printf '#define %s\n' 'BP_scratch 484' 'BP_init_size 608' >asm-offsets.h
    echo '#define RQ_nr_pinned 0' >rq-offsets.h
    : >timeconst.h
    cd $out/arch/x86/include/generated || exit
    for name in 32 32_ia32 64_x32; do : >asm/unistd_$name.h; done
    for name in 32 64 x32; do : >uapi/asm/unistd_$name.h; done
    awk -f $source/arch/x86/tools/cpufeaturemasks.awk $source/arch/x86/include/asm/cpufeatures.h /workload/tiny.conf \
        >asm/cpufeaturemasks.h || exit
    cd $out || exit
    {
        printf '#%s\n' 'ifndef _ASM_X86_CPUFEATURES_H' 'include <asm/cpufeatures.h>' endif
        echo 'const char * const x86_cap_flags[NCAPINTS*32] = {'
        sed -n 's|^#define \(X86_FEATURE_[A-Z0-9_]*\)[^/]*/\* "\([a-z0-9_]*\)".*|[\1] = "\2",|p' \
            $source/arch/x86/include/asm/cpufeatures.h
        echo '};'
    } >arch/x86/kernel/cpu/capflags.c
}

# A kernel with the symbols that its boot code asks for, of as many bytes as a tiny one; they can be packed like code.
kernel() {
    awk 'BEGIN { for (x = 1; n < 300000; n += length(y) + 1) { x = (x * 16807) % 2147483647; print y = x % 65536 } }' \
        >/tmp/rodata
    cat >/tmp/kernel.S <<'END'
	.globl _text, __start_rodata, _sinittext, __inittext_end, __bss_start, _end
	.text
_text:	jmp	_text
_sinittext:
__inittext_end:
	.section .rodata, "a"
__start_rodata:
	.incbin	"/tmp/rodata"
	.bss
__bss_start:
	.skip	4096
_end:
END
    gcc -m32 -nostdlib -static -Wl,--build-id=none,-Ttext=0x1000000,-e,_text,-z,noexecstack -o vmlinux /tmp/kernel.S
}

image() {
    rm -rf $out/$boot && sync && $make --jobs="$1" bzImage >/dev/null
}

if [ "$1" = start ]; then
    configured && generated && kernel && echo 1 >.version && $make headers >/dev/null && image 1 && exec mv $boot/bzImage first
    exit 1
fi
image "$1" && cd $out && cmp first $boot/bzImage && echo 'the image is the first one' || exit
# Documentation/arch/x86/boot.rst: setup_sects, header, payload_offset, payload_length
field() { od -An -t "u$2" -j "$1" -N "$2" first | tr -d ' '; }
[ "$(dd if=first bs=1 skip=514 count=4 status=none)" = HdrS ] &&
    tail -c +$(((1 + $(field 497 1)) * 512 + $(field 584 4) + 1)) first | head -c "$(field 588 4)" |
    gzip --decompress --quiet | cmp - $boot/compressed/vmlinux.bin && echo 'the kernel is in it'
