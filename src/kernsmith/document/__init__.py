# SPDX-License-Identifier: GPL-2.0-or-later
"""What came out, as values: JSON, Markdown, pages and terminal tables are views of these.

Pure: no processes, no files but the ones that `read_document` is given. Described key by key in
docs/study-json.md, docs/compare.md, docs/blame.md and docs/layout.md. Figures are unrounded.
"""

from kernsmith.document.attribution import (
    AttributionView,
    CacheSetView,
    CollidingPairView,
    CollisionsView,
    FunctionCostView,
)
from kernsmith.document.bisect import BisectDocument, CommitView, StepView
from kernsmith.document.blame import (
    BlameDocument,
    BlamedView,
    MixedSideView,
    MixTestView,
    NarrowedView,
)
from kernsmith.document.checks import CheckedView, CheckView
from kernsmith.document.factors import FactorsView, LevelView, TermView
from kernsmith.document.flame import FlameNodeView, FlameView
from kernsmith.document.held import HeldView
from kernsmith.document.hottest import HotFunctionView, HottestView
from kernsmith.document.layouts import (
    LabView,
    LayoutDocument,
    OrdersDocument,
    SampleDocument,
)
from kernsmith.document.luck import LuckView, MixView, TextEndView
from kernsmith.document.noise import NoiseView
from kernsmith.document.pair import ComparedView, RanksView
from kernsmith.document.proved import FactView, ProvedView
from kernsmith.document.shares import (
    FunctionShareView,
    MixChangeView,
    SharesDocument,
    ShareView,
)
from kernsmith.document.stress import StressView
from kernsmith.document.study import (
    LookView,
    MachineView,
    MetricView,
    PairView,
    RunView,
    SourceView,
    StepTimeView,
    StudyDocument,
    StudyView,
    VariantView,
    VerdictView,
    WorkloadView,
)
from kernsmith.document.verified import FaultView, VerifiedView
from kernsmith.document.watch import (
    ChangePointView,
    HistoryView,
    PointView,
    RevisionView,
    WatchDocument,
)

__all__ = [
    "AttributionView",
    "BisectDocument",
    "BlameDocument",
    "BlamedView",
    "CacheSetView",
    "ChangePointView",
    "CheckView",
    "CheckedView",
    "CollidingPairView",
    "CollisionsView",
    "CommitView",
    "ComparedView",
    "FactView",
    "FactorsView",
    "FaultView",
    "FlameNodeView",
    "FlameView",
    "FunctionCostView",
    "FunctionShareView",
    "HeldView",
    "HistoryView",
    "HotFunctionView",
    "HottestView",
    "LabView",
    "LayoutDocument",
    "LevelView",
    "LookView",
    "LuckView",
    "MachineView",
    "MetricView",
    "MixChangeView",
    "MixTestView",
    "MixView",
    "MixedSideView",
    "NarrowedView",
    "NoiseView",
    "OrdersDocument",
    "PairView",
    "PointView",
    "ProvedView",
    "RanksView",
    "RevisionView",
    "RunView",
    "SampleDocument",
    "ShareView",
    "SharesDocument",
    "SourceView",
    "StepTimeView",
    "StepView",
    "StressView",
    "StudyDocument",
    "StudyView",
    "TermView",
    "TextEndView",
    "VariantView",
    "VerdictView",
    "VerifiedView",
    "WatchDocument",
    "WorkloadView",
]
