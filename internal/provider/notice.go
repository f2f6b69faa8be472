package provider

// Notice is text of the harness as a wire without a developer role sends it: in
// a user message, in a block that says whose words they are.
func Notice(text string) string {
	return "<harness_notice>\n" + text + "\n</harness_notice>"
}
