package serve

import "github.com/openmuse/muse/internal/msp"

// listTasks shows the calls that are in progress, also of a session that is not
// loaded. It stands in the published types and not among the stable methods
// (MSP.md 7.5).
func listTasks(k *call, p msp.TaskListParams) (msp.TaskListResult, error) {
	var out msp.TaskListResult
	err := k.seeing(p.SessionID, func(v *view, _ bool) error {
		out.Tasks = v.Fold().Tasks()
		return nil
	})
	return out, err
}
