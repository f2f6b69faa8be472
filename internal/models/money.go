package models

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/provider"
)

// Money is an amount in picodollars, 1e-12 US dollars. A price of so many
// dollars a million tokens with at most six decimals is a whole number of
// picodollars a token, so sums of token counts times prices are exact; an
// int64 holds nine million dollars.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000_000

// Micros is the amount in millionths of a dollar, rounded half up.
func (m Money) Micros() int64 {
	q, r := int64(m)/1_000_000, int64(m)%1_000_000
	if r >= 500_000 {
		q++
	} else if r < -500_000 {
		q--
	}
	return q
}

// String is the exact amount, "$0.00125", without needless zeros but with at
// least two decimals.
func (m Money) String() string {
	sign, abs := "", uint64(m)
	if m < 0 {
		sign, abs = "-", -uint64(m)
	}
	decimals := strings.TrimRight(fmt.Sprintf("%012d", abs%uint64(Dollar)), "0")
	for len(decimals) < 2 {
		decimals += "0"
	}
	return fmt.Sprintf("%s$%d.%s", sign, abs/uint64(Dollar), decimals)
}

// add saturates: a sum that does not fit is as much as fits.
func (m Money) add(n Money) Money {
	if sum := m + n; sum >= m {
		return sum
	}
	return math.MaxInt64
}

// Rate is a price in picodollars a token, which is the same number as
// millionths of a dollar a million tokens. It is never negative.
type Rate int64

// maxRate is a million dollars for a million tokens.
const maxRate Rate = 1_000_000_000_000

// ParseRate reads US dollars for a million tokens: digits with at most six
// decimals, so that the rate is exact.
func ParseRate(text string) (Rate, error) {
	whole, fraction, dot := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	switch {
	case !digits(whole), fraction != "" && !digits(fraction), dot && strings.HasSuffix(text, "."):
		return 0, fmt.Errorf("%q is not an amount of dollars", text)
	case len(fraction) > 6:
		return 0, fmt.Errorf("%s has more than six decimals", text)
	case len(whole) > 7:
		return 0, fmt.Errorf("%s is more than a million dollars", text)
	}
	micros, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", 6-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an amount of dollars: %w", text, err)
	}
	if Rate(micros) > maxRate {
		return 0, fmt.Errorf("%s is more than a million dollars", text)
	}
	return Rate(micros), nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// String is dollars for a million tokens: "$1.25".
func (r Rate) String() string { return (Money(r) * 1_000_000).String() }

func (r Rate) times(tokens int64) Money {
	if tokens <= 0 || r <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(r), uint64(tokens))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return Money(lo)
}

// Price is what a model's tokens cost. CachedInput and CacheWrite are nil
// where no price is published; such tokens cost as much as plain input.
type Price struct {
	Input, Output           Rate
	CachedInput, CacheWrite *Rate
}

// Cost is the exact price of one call's tokens. Usage counts cached tokens
// within Input (provider.Usage); Reasoning is part of Output.
func (p Price) Cost(u provider.Usage) Money {
	read, write := max(u.CacheRead, 0), max(u.CacheWrite, 0)
	sum := p.Input.times(u.Input - read - write)
	sum = sum.add(p.orInput(p.CachedInput).times(read))
	sum = sum.add(p.orInput(p.CacheWrite).times(write))
	return sum.add(p.Output.times(u.Output))
}

func (p Price) orInput(r *Rate) Rate {
	if r == nil {
		return p.Input
	}
	return *r
}
