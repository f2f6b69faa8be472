package main

import "errors"

// foreignTable has no second table to try here.
func foreignTable(facts) error { return errors.New("no second table on this processor") }
