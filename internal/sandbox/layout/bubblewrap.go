package layout

// Bubblewrap is the plan as options of the bubblewrap program. Only options
// of its version 0.4 are used.
func (p *Plan) Bubblewrap() []string {
	args := []string{"--ro-bind", "/", "/"}
	for _, m := range p.Mounts {
		switch m.Kind {
		case ReadOnly:
			args = append(args, "--ro-bind", m.Source, m.Target)
		case Writable:
			args = append(args, "--bind", m.Source, m.Target)
		case Fresh:
			args = append(args, "--tmpfs", m.Target)
		case Devices:
			args = append(args, "--dev", m.Target)
		case Processes:
			// As root the files of the process list that change the machine
			// (sys, sysrq-trigger, irq) would be writable: the user with
			// number 0 inside is the one outside.
			args = append(args, "--proc", m.Target, "--remount-ro", m.Target)
		case Seal:
			args = append(args, "--remount-ro", m.Target)
		}
	}
	return args
}
