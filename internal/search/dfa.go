package search

import (
	"regexp/syntax"
	"slices"
)

// dfa decides whether an expression matches somewhere in a line of plain
// ASCII, in one table look-up a byte. States are made when they are first come
// to. Lines with other characters are left to package regexp. It belongs to one
// goroutine.
type dfa struct {
	prog     *syntax.Prog
	anchored bool // every match begins at the beginning

	next   []int32  // by state and byte; 0 = not known yet
	states []states // by number
	index  map[string]int32
	resets int

	seen []uint32 // by instruction: the round in which it was come to
	now  uint32
	todo []uint32
}

// states is what one state of the automaton stands for: the instructions that
// wait at this point, and the kind of character before it.
type states struct {
	wait []uint32
	prev charKind
}

type charKind uint8

const (
	atBegin charKind = iota
	afterWord
	afterOther
)

// Numbers with a meaning of their own, and the limits of the table.
const (
	unknownState = 0
	matchState   = 1
	deadState    = 2
	firstState   = 3

	endOfLine = 128 // stands for the byte after the last
	rowShift  = 8   // a row has 256 entries, of which 129 are used
	maxStates = 1000
	maxResets = 8
	maxProg   = 5000
)

// newDFA returns nil for an expression that is too large for it.
func newDFA(source string) *dfa {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxProg {
		return nil
	}
	d := &dfa{prog: prog, seen: make([]uint32, len(prog.Inst))}
	d.anchored = prog.StartCond()&syntax.EmptyBeginText != 0
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.next = make([]int32, (firstState+1)<<rowShift)
	d.states = make([]states, firstState)
	d.index = map[string]int32{}
	d.state(states{wait: []uint32{uint32(d.prog.Start)}, prev: atBegin})
}

// match reports whether the expression matches in line. ok is false when it
// cannot tell.
func (d *dfa) match(line []byte) (matched, ok bool) {
	at := int32(firstState)
	for _, c := range line {
		if c >= endOfLine {
			return false, false
		}
		to := d.next[int(at)<<rowShift|int(c)]
		if to == unknownState {
			if to, ok = d.step(at, c); !ok {
				return false, false
			}
		}
		if to <= deadState {
			return to == matchState, true
		}
		at = to
	}
	to := d.next[int(at)<<rowShift|endOfLine]
	if to == unknownState {
		if to, ok = d.step(at, endOfLine); !ok {
			return false, false
		}
	}
	return to == matchState, true
}

// step finds where a state goes with a byte and notes it. ok is false when the
// table is full, which empties it, or was full too often.
func (d *dfa) step(at int32, c byte) (int32, bool) {
	if len(d.states) >= maxStates {
		if d.resets++; d.resets > maxResets {
			return 0, false
		}
		d.reset()
		return 0, false
	}
	from := d.states[at]
	kind := afterOther
	if c != endOfLine && syntax.IsWordChar(rune(c)) {
		kind = afterWord
	}
	to, matched := d.advance(from, c, kind)
	n := int32(matchState)
	if !matched {
		n = d.state(states{wait: to, prev: kind})
	}
	d.next[int(at)<<rowShift|int(c)] = n
	return n, true
}

// advance follows all that waits in a state over what matches nothing and then
// over one byte. It reports whether a match ends before that byte.
func (d *dfa) advance(from states, c byte, kind charKind) ([]uint32, bool) {
	holds := syntax.EmptyOp(0)
	if from.prev == atBegin {
		holds |= syntax.EmptyBeginText | syntax.EmptyBeginLine
	}
	if c == endOfLine {
		holds |= syntax.EmptyEndText | syntax.EmptyEndLine
	}
	if (from.prev == afterWord) != (kind == afterWord) {
		holds |= syntax.EmptyWordBoundary
	} else {
		holds |= syntax.EmptyNoWordBoundary
	}
	d.now++
	d.todo = append(d.todo[:0], from.wait...)
	var to []uint32
	for len(d.todo) > 0 {
		pc := d.todo[len(d.todo)-1]
		d.todo = d.todo[:len(d.todo)-1]
		if d.seen[pc] == d.now {
			continue
		}
		d.seen[pc] = d.now
		inst := &d.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstMatch:
			return nil, true
		case syntax.InstAlt, syntax.InstAltMatch:
			d.todo = append(d.todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.todo = append(d.todo, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^holds == 0 {
				d.todo = append(d.todo, inst.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if c != endOfLine && inst.MatchRune(rune(c)) {
				to = append(to, inst.Out)
			}
		case syntax.InstFail:
		}
	}
	if c == endOfLine {
		return nil, false
	}
	if !d.anchored {
		to = append(to, uint32(d.prog.Start)) // a match can begin at the next byte
	}
	slices.Sort(to)
	return slices.Compact(to), false
}

// state returns the number of a state, making it when it is new.
func (d *dfa) state(s states) int32 {
	if len(s.wait) == 0 {
		return deadState
	}
	key := make([]byte, 0, 1+4*len(s.wait))
	key = append(key, byte(s.prev))
	for _, pc := range s.wait {
		key = append(key, byte(pc), byte(pc>>8), byte(pc>>16))
	}
	if n, ok := d.index[string(key)]; ok {
		return n
	}
	n := int32(len(d.states))
	d.index[string(key)] = n
	d.states = append(d.states, s)
	if rows := (int(n) + 1) << rowShift; rows > len(d.next) {
		d.next = append(d.next, make([]int32, rows-len(d.next))...)
	}
	return n
}
