// Package collect copies what a coding agent left on a machine: from the
// running system, or from a mounted disk of Linux, macOS or Windows. What is
// taken and what is left out stands in catalogue.txt; the collector knows no
// path of its own.
//
// Invariants: the evidence is only read, and only through package evidence, so
// nothing leads out of its root; links are recorded, not followed, except where
// an entry of the catalogue is itself a link or lies behind one, and then inside
// the root; every file that was met is in the manifest with what became of it;
// a collection that was interrupted goes on where it stopped.
//
// The output is a directory or a zip file:
//
//	files/<path on the machine>   the copies, with their times and modes
//	manifest.jsonl                one [Entry] a line, by path
//	collection.json               the [Summary]
//	report.txt                    the same for people
package collect
