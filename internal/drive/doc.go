// Package drive runs any muse binary headless: one supervised turn ([Turn]),
// the same turn again and again until a check holds ([Loop]), and the checks
// around them ([Doctor], [Smoke], [DeploySkills]).
//
// It follows seed 001 (the supervising provider) and seed 002 (the loop
// adapter) and stands on pkg/muse, so it assumes nothing of the binary but its
// documented contract.
//
// Invariants: the prompt is on no command line; an attempt is over before the
// next one starts; partial work is never replayed, a new attempt is told of it
// instead; everything a killed loop needs to go on is on disk before the act
// it describes.
package drive
