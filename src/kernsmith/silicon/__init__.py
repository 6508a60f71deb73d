# SPDX-License-Identifier: GPL-2.0-or-later
"""What a CPU model is held against: the same static programs on this processor and in `tcg`.

Programs (`programs`) are compiled in many ways (`builds`) and linked in many layouts (`binaries`);
each binary is timed here, in cycles of the time stamp counter (`timing`), and simulated
(`simulation`). `engine/silicon.py` puts it together, `stats/agreement.py` judges.
"""
