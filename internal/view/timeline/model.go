package timeline

// metadata fills the project and the session's model; it may repeat, and the
// latest holds (seed 000, Session-level records).
func (l *Log) metadata(ev *Event) {
	if len(ev.Name) > 0 {
		l.root = l.intern(ev.Name)
	}
	if len(ev.Model) == 0 {
		return
	}
	l.sessionModel = l.intern(ev.Model)
	l.modelRow(ev, l.sessionModel, string(ev.Second))
}

func (l *Log) runModelConfigured(ev *Event) {
	if len(ev.Name) == 0 {
		return
	}
	model := l.intern(ev.Name)
	l.runModel.put(ev.Run, model)
	l.settleModel(ev.Run, model)
	l.modelRow(ev, model, string(ev.Second))
}

// modelDone names the model of a run for which none was configured.
func (l *Log) modelDone(ev *Event) {
	if _, ok := l.runModel.get(ev.Run); ok {
		return
	}
	model, known := l.doneModel.get(ev.Run)
	if !known || model == "" && len(ev.Name) > 0 {
		model = l.intern(ev.Name)
		l.doneModel.put(ev.Run, model)
		l.settleModel(ev.Run, model)
	}
	if len(ev.Name) > 0 {
		l.modelRow(ev, l.intern(ev.Name), "")
	}
}

// modelRow shows the log's first model and each change.
func (l *Log) modelRow(ev *Event, model, provider string) {
	if model == l.lastModel {
		return
	}
	text := "model: " + model
	switch {
	case l.lastModel != "":
		text = "model: " + l.lastModel + " -> " + model
	case provider != "":
		text += " provider=" + provider
	}
	l.lastModel = model
	row := l.row(ev, System)
	row.Text, row.Model = PlainText(text), model
	l.place(row, held{})
}

// reconfigured is the user's /model, shown also when the model stays.
func (l *Log) reconfigured(ev *Event) {
	model, before := l.intern(ev.Name), l.intern(ev.Second)
	outcome := ev.Text
	if l.lastModel == "" && before != "" {
		l.modelRow(ev, before, "")
	}
	text := "model: " + model
	if l.lastModel != "" {
		text = "model: " + l.lastModel + " -> " + model
	}
	if s := outcome.String(); s != "" {
		text += " apply_outcome=" + s
	}
	if model != "" {
		l.sessionModel, l.lastModel = model, model
	}
	row := l.row(ev, System)
	row.Text, row.Model = PlainText(text), l.modelName()
	l.place(row, held{})
}
