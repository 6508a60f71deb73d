# SPDX-License-Identifier: GPL-2.0-or-later
"""From a source to a kernel: source, config, toolchain, build, and linking in another layout."""
