package workspace

import "testing"

func makeFIFO(t *testing.T, _ string) { t.Skip("no FIFOs here") }
