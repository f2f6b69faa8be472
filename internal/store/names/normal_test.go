package names

import "testing"

func TestLengthIsSaid(t *testing.T) {
	_, err := Normalize("x")
	if err == nil || err.Error() != `"x" is no name for a session: its length is 1, not 3 to 32 characters` {
		t.Errorf("error %v", err)
	}
}
