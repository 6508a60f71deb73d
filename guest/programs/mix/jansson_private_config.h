/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Jansson's configure would find out of this kind. */
#define HAVE_STDINT_H 1
#define INITIALIZE_HASHTABLE_SEED 0	/* the time would decide */
