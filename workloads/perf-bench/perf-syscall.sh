# SPDX-License-Identifier: GPL-2.0-or-later
# perf's benchmarks of system calls, each with a fixed number of calls.
sh perf.sh syscall basic --loop 20000 && sh perf.sh syscall getpgid --loop 20000 &&
    sh perf.sh syscall fork --loop 50 && sh perf.sh syscall execve --loop 50
