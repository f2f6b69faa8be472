//go:build !unix

package main

import (
	"context"
	"errors"
)

func (b *bench) measureUI(context.Context) error {
	return errors.New("terminals are only measured where there are pseudo-terminals")
}
