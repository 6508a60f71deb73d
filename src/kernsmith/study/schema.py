# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON schema of study files, for editors: docs/study.schema.json is what this module prints.

python -m kernsmith.study.schema > docs/study.schema.json
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

from kernsmith.study.factors import Factor, factor_names, find_factor
from kernsmith.study.factors.flags import PREFIX
from kernsmith.study.file import StudyFile

_ANY_SYMBOL = replace(find_factor("CONFIG_X"), description="any config symbol: y, n, m, a value")


def study_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a study file: its tables, and all factors with levels."""
    schema = StudyFile.model_json_schema()
    properties = schema["properties"]
    level = properties["factors"]["additionalProperties"]["items"]
    properties["factors"] = {
        "type": "object",
        "description": "What is varied; the first level of each factor is the baseline.",
        "properties": {name: _levels(find_factor(name), level) for name in factor_names()},
        "patternProperties": {
            "^CONFIG_[A-Za-z0-9_]+$": _levels(_ANY_SYMBOL, level),
            f"^{PREFIX}(_[A-Za-z0-9_-]+)?$": _levels(find_factor(PREFIX), level),
        },
        "additionalProperties": False,
    }
    machines = properties["machine"]  # a table, or two
    properties["machine"] = {"anyOf": [machines["items"], machines]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "kernsmith study",
    }


def _levels(factor: Factor, level: dict[str, Any]) -> dict[str, Any]:
    """The schema of a factor's list of levels."""
    items = level
    if factor.levels:
        numbers = [int(name) for name in factor.levels if name.isdigit()]
        items = {"enum": [*factor.levels, *numbers]}
    return {
        "type": "array",
        "description": factor.description,
        "items": items,
        "minItems": 1,
        "uniqueItems": True,
    }


def schema_text() -> str:
    """The schema as it is in docs/study.schema.json."""
    return json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
