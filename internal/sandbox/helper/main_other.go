//go:build !linux && !darwin

package helper

import (
	"errors"
	"runtime"
)

func run() int { return fails(errors.New("no sandbox for " + runtime.GOOS)) }
