//go:build !linux

package process

import "errors"

func readUse() (reading, error) {
	return reading{}, errors.New("the work of other processes is not known on this system")
}

// LoadAverage is not known here.
func LoadAverage() string { return "" }
