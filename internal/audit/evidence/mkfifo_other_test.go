//go:build !linux

package evidence

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
