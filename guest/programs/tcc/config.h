/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What TinyCC's configure would find out; nothing is looked for in this computer's folders. */
#define TCC_VERSION "0.9.27"
#define CONFIG_TCCDIR "/nowhere"
#define CONFIG_TCC_CROSSPREFIX ""
#define TCC_TARGET_X86_64 1
#define CONFIG_TCC_STATIC 1
