"""Tables for the Dagster UI, with a schema so that numbers are aligned and sorted as numbers."""

from collections.abc import Mapping, Sequence

import dagster as dg

__all__ = ["table"]

_TYPES = {bool: "bool", int: "int", float: "float"}


def table(rows: Sequence[Mapping[str, str | int | float]]) -> dg.TableMetadataValue:
    """Rows that all have the same columns; the first one tells their types."""
    first = rows[0] if rows else {}
    columns = [dg.TableColumn(name, _TYPES.get(type(value), "string")) for name, value in first.items()]
    records = [dg.TableRecord({name: row[name] for name in first}) for row in rows]
    return dg.MetadataValue.table(records, dg.TableSchema(columns=columns))
