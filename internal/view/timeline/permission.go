package timeline

// approval gives the rows of approval records their tool and call (seed 000,
// coverage table): a decision is joined on its pending action, a review, which
// names none, belongs to the latest request.
func (l *Log) approval(ev *Event) {
	a := l.lastAsked
	switch ev.Kind {
	case Asked:
		a = asked{tool: l.intern(ev.Name), call: string(ev.ID)}
		l.lastAsked = a
		l.approvals.put(ev.Action, a)
	case Decided:
		a, _ = l.approvals.get(ev.Action) // a decision without its request names no tool
	}
	row := l.row(ev, System)
	row.Tool, row.CallID = a.tool, a.call
	l.send(ev, row)
}

// permissionProfile shows the log's first profile and each change.
func (l *Log) permissionProfile(ev *Event) {
	mode := string(ev.Name)
	if mode == l.profile {
		return
	}
	text := "permission mode: " + mode
	if l.profile != "" {
		text = "permission mode: " + l.profile + " -> " + mode
	}
	l.profile = mode
	if len(ev.Second) > 0 {
		text += " cause=" + string(ev.Second)
	}
	if l.format != "" {
		text += " format=" + l.format
	}
	ev.Text = PlainText(text)
	l.send(ev, l.row(ev, System))
}

// securityMode is tracked apart from the profile.
func (l *Log) securityMode(ev *Event) {
	mode := "security_mode=" + string(ev.Name)
	if mode == l.security {
		return
	}
	text := "permission mode: " + mode
	if l.security != "" {
		text = "permission mode: " + l.security + " -> " + mode
	}
	l.security = mode
	ev.Text = PlainText(text)
	l.send(ev, l.row(ev, System))
}
