/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network namespaces, each of them a file descriptor. This process is in one of them at a time. */
#ifndef KERNSMITH_NAMESPACE_H
#define KERNSMITH_NAMESPACE_H

/* All return 0, or an errno. */
int namespace_current(int *fd);
int namespace_make(int *fd);		/* a new one, and enters it */
int namespace_enter(int fd);

#endif
