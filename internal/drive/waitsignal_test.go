package drive

import "testing"

func TestWaitSignal(t *testing.T) {
	waiting := []string{
		"I'll wait for the tests to finish.",
		"I’ll wait.",
		"The build is still running. I'll check back when it's done.",
		"Started the suite in the background.\n\nI will wait for it to complete.",
		"Tests are still running.",
		"The migration is still in progress; I'll report the result once it finishes.",
		"I'm waiting for the CI job.",
		"Waiting for the download to complete...",
		"**Status:** the full suite is still running",
		"Let me wait for the command to finish",
		"Once the tests pass, I'll commit the change.",
		"I'll let you know as soon as the build completes.",
		"Everything is set up.\n\n- I am now monitoring the deployment.",
		"I'll keep polling the job.",
		"The server build is now running in the background.",
		"Still waiting on the integration tests to finish.",
		"When the benchmark is done, I will summarize the numbers.",
		"I'll be right here: I am standing by.",
		"I've kicked off the tests. I'll continue once they finish.",
		"The linter passed.\nThe test run is still executing.\n",
		"The suite is now running; will report back when it completes.",
		"Checking back in a few minutes.",
		"The benchmark is currently running.",
		"Everything compiles. Awaiting the results of the integration run.",
		"Pausing here until the deployment settles.",
		"I will wait for the CI run to complete before merging.",
	}
	for _, reply := range waiting {
		if WaitSignal(reply) == "" {
			t.Errorf("missed: %q", reply)
		}
	}
	done := []string{
		"",
		"DONE",
		"All tests pass.",
		"Fixed the deadlock: the reader no longer waits for the writer to finish.",
		"The worker was still running when the pool closed; that is fixed now.",
		"I added a test that checks whether a job is still running.",
		"The function waits for the process to exit before it returns, as documented.",
		"I replaced polling with a condition variable. All 42 tests pass.",
		"Run it with:\n\n```\n# I'll wait for the tests to finish.\n```\n",
		"The log said `still running`, which was wrong. I removed the line.",
		"> I'll wait for the tests to finish.\n\nThat sentence is gone from the docs.",
		"Done. If the tests are still running on your side, stop them first.",
		"Should I wait for the review?",
		"I'll wait for the build.\n\nUpdate: the build finished and everything passes. The change is committed as abc123. Nothing else is open.",
		"The server no longer blocks while a client is still running a query.",
		"Instead of waiting for a timeout, the client now fails at once.",
		"You can wait for the job with `muse jobs wait`.",
		"The scheduler now wakes the task that was awaiting the result.",
		"The new test shows which jobs will be retried.",
		"The service will follow redirects and report errors as JSON.",
		"The timeout is not reached while the command is still running, so no kill happens.",
	}
	for _, reply := range done {
		if found := WaitSignal(reply); found != "" {
			t.Errorf("false alarm %q in %q", found, reply)
		}
	}
}
