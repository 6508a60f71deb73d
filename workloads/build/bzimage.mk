# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel's own Makefiles hand to those below them, for `make bzImage` of one small fixed configuration when
# vmlinux is there already: arch/x86/Makefile then calls scripts/Makefile.build on arch/x86/boot, which is what is done
# here. For a whole kernel see docs/suites.md: it takes too long where every instruction is simulated.
MAKEFLAGS += -rR --no-print-directory
export srctree := /workload/source
export srcroot := $(srctree)
export VPATH := $(srctree)
export abs_srctree := $(srctree)
export abs_objtree := $(CURDIR)
export objtree := .
export building_out_of_srctree := 1
export ARCH := x86
export SRCARCH := x86
export UTS_MACHINE := i386
export BITS := 32
export KERNELVERSION := 7.3.0
export KERNELRELEASE := 7.3.0
export KBUILD_BUILTIN := y
export quiet := quiet_
export Q := @
export CC := gcc
export CPP := gcc -E
export STRIP := strip
export OBJDUMP := objdump
export READELF := readelf
export HOSTCC := gcc
export LD := ld
export AR := ar
export NM := nm
export OBJCOPY := objcopy
export AWK := awk
export KGZIP := gzip
export CONFIG_SHELL := sh
export KBUILD_HOSTCFLAGS := -O2 -fomit-frame-pointer -std=gnu11 -I$(srctree)/scripts/include
export CC_FLAGS_DIALECT := -std=gnu11 -fms-extensions
export NOSTDINC_FLAGS := -nostdinc
export LINUXINCLUDE := -I$(srctree)/arch/x86/include -I./arch/x86/include/generated -I$(srctree)/include -I./include \
	-I$(srctree)/arch/x86/include/uapi -I./arch/x86/include/generated/uapi -I$(srctree)/include/uapi \
	-I./include/generated/uapi -include $(srctree)/include/linux/compiler-version.h \
	-include $(srctree)/include/linux/kconfig.h
export KBUILD_CPPFLAGS := -D__KERNEL__ -fmacro-prefix-map=$(srctree)/=
export REALMODE_CFLAGS := $(CC_FLAGS_DIALECT) -m16 -g -Os -DDISABLE_BRANCH_PROFILING -D__DISABLE_EXPORTS -Wall \
	-Wstrict-prototypes -march=i386 -mregparm=3 -fno-strict-aliasing -fomit-frame-pointer -fno-pic -mno-mmx \
	-mno-sse -fcf-protection=none -ffreestanding -fno-stack-protector -Wno-address-of-packed-member \
	-mpreferred-stack-boundary=2

include $(srctree)/scripts/Kbuild.include

bzImage: FORCE
	@$(MAKE) $(build)=arch/x86/boot arch/x86/boot/bzImage

headers: FORCE
	@$(MAKE) -f $(srctree)/scripts/Makefile.asm-headers obj=arch/x86/include/generated/asm generic=include/asm-generic
	@$(MAKE) -f $(srctree)/scripts/Makefile.asm-headers obj=arch/x86/include/generated/uapi/asm \
		generic=include/uapi/asm-generic
	@$(MAKE) $(build)=scripts/basic

FORCE:
.PHONY: FORCE
