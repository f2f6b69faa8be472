package msptest_test

import (
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// task/list is for clients that ask for the experimental interface. What it
// lists can be stopped by its id.
func TestTaskList(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.openAs(t, msp.InitializeParams{
		ClientInfo: msp.ClientInfo{Name: "flows", Version: "1"}, Capabilities: &msp.ClientCapabilities{ExperimentalAPI: true},
	})
	id := c.start().Session.SessionID
	list := func() []msp.TaskListEntry {
		return must[msp.TaskListResult](c, msp.MethodTaskList, msp.TaskListParams{SessionID: id}).Tasks
	}
	if tasks := list(); tasks == nil || len(tasks) != 0 {
		t.Errorf("listed %+v", tasks)
	}
	turn, mark := c.submit(id, "run a command")
	asked := await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	tasks := list()
	if len(tasks) != 1 || tasks[0].TaskID != asked.TaskID || tasks[0].Status != msp.TaskListStatusInProgress || tasks[0].Tool != "bash" || tasks[0].StartedAt == "" {
		t.Errorf("listed %+v, asked about %s", tasks, asked.TaskID)
	}
	must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(id, asked, "allow_once"))
	c.finished(mark, turn.TurnID)
	if tasks := list(); len(tasks) != 0 {
		t.Errorf("listed %+v", tasks)
	}
	refused(c, msp.ErrorKindInvalidParams, msp.MethodTaskList, map[string]any{"sessionId": 7})
	refused(c, msp.ErrorKindSessionNotFound, msp.MethodTaskList, msp.TaskListParams{SessionID: msptest.CommandID()})
	c.leave()
}
