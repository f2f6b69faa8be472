// Package timeline turns session logs into a table: one row for each thing a
// person, a model, a tool or a permission did. The rows are those of seed 000,
// Parser plan: its coverage table and its columns.
//
// A [Reader] takes lines to events, without state and so in parallel; a [Log]
// joins the events of one log in order and emits rows. Writers of rows are
// here too: JSONL, CSV, SQLite and, in package parquet, Parquet.
//
// Invariants: rows of a log come out in the order of its records; memory does
// not grow with the log; nothing in a log, however damaged, makes a row of a
// sound line disappear; types that are not known give nothing.
package timeline
