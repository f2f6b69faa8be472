//go:build unix && !linux

package console

import "errors"

// usage is not known here.
func usage(int) (Use, error) { return Use{}, errors.ErrUnsupported }

func tree(pid int) []int { return []int{pid} }
