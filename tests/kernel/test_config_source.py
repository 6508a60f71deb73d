# SPDX-License-Identifier: GPL-2.0-or-later
"""Configs of Debian and of the host: where they come from, and what is set besides."""

import gzip
import json
import lzma
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kernsmith import paths
from kernsmith.engine import Silent, prepare
from kernsmith.engine.needed import with_needs
from kernsmith.errors import UserError
from kernsmith.guest.workloads import load_catalogue
from kernsmith.kernel import config_source
from kernsmith.kernel.build import build_kernel
from kernsmith.kernel.built_in import built_in
from kernsmith.kernel.config_source import check_config_word, loaded_modules, read_config
from kernsmith.kernel.debian_config import debian_config, unpack_configs
from kernsmith.kernel.recipe import make_recipe
from kernsmith.kernel.running_config import running_config
from kernsmith.kernel.source import Source
from kernsmith.study import Design, Study, Variant
from kernsmith.study.factors.modules import INSTALLED

CLOUD = """\
# Automatically generated file; DO NOT EDIT.
CONFIG_64BIT=y
CONFIG_X86_64=y
CONFIG_ACPI=y
CONFIG_HYPERVISOR_GUEST=y
CONFIG_PRINTK=y
CONFIG_TTY=y
CONFIG_SERIAL_8250=y
# CONFIG_SERIAL_8250_CONSOLE is not set
CONFIG_BLK_DEV_INITRD=y
CONFIG_BINFMT_ELF=y
CONFIG_PROC_FS=y
CONFIG_SYSFS=y
CONFIG_TMPFS=m
CONFIG_MODULES=y
CONFIG_MODULE_SIG=y
CONFIG_SYSTEM_TRUSTED_KEYS="debian/certs/x.pem"
CONFIG_RUST=y
CONFIG_CRYPTO=y
CONFIG_CRYPTO_USER_API_SKCIPHER=m
"""
KCONFIG = """\
menuconfig MTD
	tristate "Memory"
if MTD
config MTD_BLOCK_RO
	tristate "Read-only"
	depends on MTD_BLOCK!=y && BLOCK
	help
		if this text were read, it would depend on HELP
endif
config CRYPTO_USER_API_SKCIPHER
	tristate "Ciphers"
	depends on NET && \\
		(CRYPTO_ENGINE || !EMBEDDED)
config AFTER
	bool "behind the block"
"""


@pytest.fixture
def tree(tmp_path: Path) -> Source:
    """Of a kernel source no more than is looked at here."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/Kconfig").write_text(KCONFIG)
    return Source("linux-7.3.4", tmp_path / "tree", "7.3.4", "files:1", "here")


@pytest.fixture
def debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which Debian's configs lie already."""
    monkeypatch.setenv("KERNSMITH_CACHE", str(tmp_path / "cache"))
    entry = paths.configs() / "debian-7.3"
    entry.mkdir(parents=True)
    (entry / "package.json").write_text(json.dumps({"package": "Debian linux-config-7.3 7.3.4-1"}))
    (entry / "cloud-amd64").write_text(CLOUD)
    (entry / "amd64").write_text(CLOUD)
    return entry


def added(fragment: config_source.Fragment) -> dict[str, str]:
    return {each.symbol: each.value for each in fragment.added}


def test_a_package_of_configs_has_a_file_for_each_flavour(tmp_path: Path) -> None:
    for name in ("amd64_none_cloud-amd64", "amd64_rt_amd64", "arm64_none_arm64"):
        packed = lzma.compress(f"CONFIG_NAME={name}\n".encode())
        (tmp_path / f"config.{name}.xz").write_bytes(packed)
    (tmp_path / "README").write_text("no config\n")
    target = tmp_path / "configs"
    target.mkdir()
    unpack_configs(tmp_path, target)
    assert sorted(path.name for path in target.iterdir()) == ["cloud-amd64", "rt-amd64"]
    assert (target / "rt-amd64").read_text() == "CONFIG_NAME=amd64_rt_amd64\n"


def test_a_flavour_that_debian_has_not_is_told_with_those_that_it_has(debian: Path) -> None:
    assert debian_config("cloud-amd64", "7.3")[1] == "Debian linux-config-7.3 7.3.4-1"
    with pytest.raises(UserError) as caught:
        debian_config("server", "7.3")
    assert str(caught.value) == (
        "Debian has no kernel flavour 'server' of Linux 7.3 for amd64: allowed are debian:amd64, "
        "debian:cloud-amd64"
    )


def test_a_config_of_another_architecture_is_refused_wherever_it_lies(
    debian: Path, tree: Source, tmp_path: Path
) -> None:
    text = CLOUD.replace("CONFIG_X86_64=y", "CONFIG_ARM64=y")
    own = tmp_path / "arm64.config"
    own.write_text(text)
    (debian / "cloud-amd64").write_text(text)
    for word in (str(own), "debian:cloud-amd64"):
        with pytest.raises(UserError, match=f"the config {word} is not one of a 64-bit x86 kern"):
            read_config(word, tree)
    with pytest.raises(UserError, match="is not one of a 64-bit x86 kernel"):
        check_config_word(str(own))
    own.write_text("CONFIG_PRINTK=y\n")
    assert not read_config(str(own), tree).complete, "a fragment names no architecture"


def test_the_running_kernel_has_its_config_in_boot_or_in_proc(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        running_config(tmp_path, "6.1.0-9")
    assert str(caught.value).startswith(
        "no config of the running kernel 6.1.0-9: there is no /boot/config-6.1.0-9, and no "
        "/proc/config.gz (a kernel with CONFIG_IKCONFIG_PROC has that"
    )
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/config.gz").write_bytes(b"no gzip")
    with pytest.raises(UserError, match="no config of the running kernel"):
        running_config(tmp_path, "6.1.0-9")
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(CLOUD.encode()))
    assert running_config(tmp_path, "6.1.0-9") == (CLOUD, "6.1.0-9 (/proc/config.gz)")
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/config-6.1.0-9").write_text("CONFIG_X=y\n")
    assert running_config(tmp_path, "6.1.0-9")[0] == "CONFIG_X=y\n"


def test_what_a_kernel_needs_to_be_measured_is_set_and_told(debian: Path, tree: Source) -> None:
    config = read_config("debian:cloud-amd64", tree)
    assert config.complete
    assert config.origin == "the config cloud-amd64 of Debian linux-config-7.3 7.3.4-1"
    assert added(config) == {
        "PVH": "y",
        "SERIAL_8250_CONSOLE": "y",
        "TMPFS": "y",
        "MODULE_SIG_ALL": "n",
        "MODULE_SIG_KEY": '""',
        "SYSTEM_TRUSTED_KEYS": '""',
        "RUST": "n",
    }
    assert all(config.symbols[symbol] == value for symbol, value in added(config).items())
    assert config.symbols["CRYPTO_USER_API_SKCIPHER"] == "m"


def test_a_version_that_is_not_the_sources_can_be_named(debian: Path, tree: Source) -> None:
    older = Source("linux-6.6", tree.path, "6.6", "files:2", "here")
    assert read_config("debian:amd64@7.3", older).origin.endswith("linux-config-7.3 7.3.4-1")


def test_a_config_of_another_architecture_is_refused(debian: Path, tree: Source) -> None:
    (debian / "amd64").write_text("CONFIG_ARM64=y\n")
    with pytest.raises(UserError, match="debian:amd64 is not one of a 64-bit x86 kernel"):
        read_config("debian:amd64", tree)


def test_a_kernel_without_bpf_types_is_told_where_pahole_is_missing(
    debian: Path, tree: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    (debian / "amd64").write_text(CLOUD + "CONFIG_DEBUG_INFO_BTF=y\n")
    monkeypatch.setattr(config_source.shutil, "which", lambda name: None)
    assert added(read_config("debian:amd64", tree))["DEBUG_INFO_BTF"] == "n"
    monkeypatch.setattr(config_source.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert "DEBUG_INFO_BTF" not in added(read_config("debian:amd64", tree))


def test_a_warning_of_objtool_does_not_end_a_build(debian: Path, tree: Source) -> None:
    assert "OBJTOOL_WERROR" not in added(read_config("debian:cloud-amd64", tree))
    (debian / "amd64").write_text(CLOUD + "CONFIG_OBJTOOL_WERROR=y\n")
    assert added(read_config("debian:amd64", tree))["OBJTOOL_WERROR"] == "n"


def test_modules_are_those_of_proc_modules_or_of_lsmod(tmp_path: Path) -> None:
    path = tmp_path / "modules"
    path.write_text("virtio_net 98304 0 - Live 0x0\nsnd-pcm 1 1 x, Live 0x0\n\n")
    assert loaded_modules(path) == ("snd_pcm", "virtio_net")
    path.write_text("Module                  Size  Used by\next4  1  0\n")
    assert loaded_modules(path) == ("ext4",)
    for text in ("", "Module Size Used\n", "../x 1\n"):
        path.write_text(text)
        with pytest.raises(UserError, match="is no list of modules"):
            loaded_modules(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is no list of modules"):
        loaded_modules(path)
    with pytest.raises(UserError, match=r"cannot read the list of modules .*: No such file"):
        check_config_word(f"running+lsmod:{tmp_path}/nothing")


def test_only_the_modules_on_the_list_make_another_kernel(
    debian: Path, tree: Source, tmp_path: Path
) -> None:
    listed = tmp_path / "modules"
    listed.write_text("ext4 1 0 - Live 0x0\n")
    whole = make_recipe(Variant("s", "debian:amd64"), tree)
    few = make_recipe(Variant("s", f"debian:amd64+lsmod:{listed}"), tree)
    assert (whole.only_modules, few.only_modules) == (None, ("ext4",))
    assert whole.key != few.key
    assert few.required["PVH"] == "y"


def test_what_a_symbol_depends_on_is_built_in_with_it(tree: Source) -> None:
    symbols = {"MTD": "m", "MTD_BLOCK": "m", "BLOCK": "y", "NET": "m", "HELP": "m", "EMBEDDED": "m"}
    wanted = ("MTD_BLOCK_RO", "CRYPTO_USER_API_SKCIPHER", "BLOCK")
    assert built_in(symbols, wanted, tree.path) == {
        "CRYPTO_USER_API_SKCIPHER": "y",
        "MTD": "y",
        "MTD_BLOCK_RO": "y",
        "NET": "y",
    }
    assert built_in(symbols, ("AFTER",), tree.path) == {"AFTER": "y"}


def test_workloads_find_built_in_what_the_guest_would_not_load(debian: Path, tree: Source) -> None:
    ciphers = load_catalogue().select(["afalg-cipher"])
    variant = Variant("s", "debian:cloud-amd64", options=(("RUST", "y"),))
    (found,), remarks = with_needs([variant], {"s": tree}, ciphers)
    assert dict(found.options)["CRYPTO_USER_API_SKCIPHER"] == "y"
    first, *others = remarks
    assert first == (
        "debian:cloud-amd64 is the config cloud-amd64 of Debian linux-config-7.3 7.3.4-1"
    )
    boots = "(to boot in QEMU, by itself, from its ELF file)"
    assert f"debian:cloud-amd64: set besides, CONFIG_PVH=y {boots}" in others
    told = next(each for each in others if each.endswith("(for the workloads of the study)"))
    assert "CONFIG_CRYPTO_USER_API_SKCIPHER=y" in told
    assert not any("CONFIG_RUST=" in each for each in remarks)
    modules = Variant("s", "debian:cloud-amd64", modules=("algif_skcipher",))
    (loads,), _ = with_needs([modules], {"s": tree}, ciphers)
    assert "CRYPTO_USER_API_SKCIPHER" not in dict(loads.options)
    installed = replace(modules, modules=(INSTALLED,))
    rooted = [replace(each, first=("CONFIG_CRYPTO_USER_API_SKCIPHER",)) for each in ciphers]
    for of, built in ((ciphers, False), (rooted, True)):
        (demands,), _ = with_needs([installed], {"s": tree}, of)
        assert ("CRYPTO_USER_API_SKCIPHER" in dict(demands.options)) == built
    shipped = Variant("s", "micro")
    assert with_needs([shipped], {"s": tree}, ciphers) == ((shipped,), ())


class _Seen(Exception):
    """Ends a build before anything is compiled."""


def configured(variant: Variant, source: Source, store: Path) -> dict[str, str]:
    """The config that kbuild makes of a variant's, with nothing compiled."""
    seen: dict[str, str] = {}

    def look(symbols: Mapping[str, str]) -> None:
        seen.update(symbols)
        raise _Seen

    with pytest.raises(_Seen):
        build_kernel(make_recipe(variant, source), store=store, check=look)
    return seen


@pytest.mark.kernel
def test_debians_own_config_keeps_what_is_set_and_leaves_modules_out(
    source: Source, tmp_path: Path
) -> None:
    """Debian's package is fetched, and kbuild configures its kernel; some seconds each."""
    listed = tmp_path / "modules"
    listed.write_text("virtio_net 1 0 - Live 0x0\nvirtio_blk 1 0 - Live 0x0\n")
    study = Study(
        source="debian:7.3",
        config=f"debian:cloud-amd64+lsmod:{listed}",
        factors=(("label", ("a", "b")),),
        workloads=("afalg-cipher", "tar"),
        design=Design(layouts=0),
    )
    prepared = prepare(study, Silent(), look_only=True)
    assert re.match(
        r"debian:cloud-amd64\+lsmod:modules is the config cloud-amd64 of Debian linux-config-7\.3 ",
        prepared.remarks[0],
    )
    symbols = configured(prepared.variants[0], source, tmp_path / "kernels")
    for needed in ("PVH", "SERIAL_8250_CONSOLE", "CRYPTO_USER_API_SKCIPHER", "CRYPTO_TWOFISH"):
        assert symbols[needed] == "y"
    assert symbols["VIRTIO_NET"] == "m"
    built_as_modules = [name for name, value in symbols.items() if value == "m"]
    assert len(built_as_modules) < 60
