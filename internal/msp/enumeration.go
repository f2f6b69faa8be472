package msp

// enumeration is what a type of fixed words may hold. An open one is a list of
// the words known today: readers must bear others (MSP.md 13).
type enumeration struct {
	words []string
	open  bool
}

// enumerated is a string type that lists its words.
type enumerated interface{ values() enumeration }

func openValues[T ~string](words ...T) enumeration {
	return enumeration{words: texts(words), open: true}
}

func closedValues[T ~string](words ...T) enumeration {
	return enumeration{words: texts(words)}
}

func texts[T ~string](words []T) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return out
}
