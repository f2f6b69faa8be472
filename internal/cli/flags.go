package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// strictFlags makes a flag that takes one value, given twice, a usage error
// for the command and its children: drivers rely on exit 2 for a doubled
// boolean. Flags that collect values stay repeatable.
func strictFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, repeatable := f.Value.(pflag.SliceValue); repeatable || f.Name == "help" {
			return
		}
		f.Value = &onceValue{Value: f.Value, name: f.Name}
	})
	for _, c := range cmd.Commands() {
		strictFlags(c)
	}
}

// onceValue refuses a second Set.
type onceValue struct {
	pflag.Value
	name string
	set  bool
}

func (v *onceValue) Set(s string) error {
	if v.set {
		return fmt.Errorf("option --%s was given twice", v.name)
	}
	v.set = true
	return v.Value.Set(s)
}

// IsBoolFlag keeps "--flag" without a value legal for wrapped booleans.
func (v *onceValue) IsBoolFlag() bool {
	b, ok := v.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
