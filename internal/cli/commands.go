package cli

import "github.com/spf13/cobra"

// commands lists every verb, in the order help shows them.
func commands(env *Env) []*cobra.Command {
	return []*cobra.Command{
		newResumeCmd(env),
		newExecCmd(env),
		newServeCmd(env),
		newDemoCmd(env),
		newExportCmd(env),
		newDriveCmd(env),
		newLoopCmd(env),
		newSessionsCmd(env),
		newAuditCmd(env),
		newPermissionCmd(env),
		newTrustCmd(env),
		newSandboxCmd(env),
		newConfigCmd(env, newConfigValidateCmd(env), newConfigStatusCmd(env)),
		newAuthCmd(env),
		newSchemaCmd(env),
		newVersionCmd(env),
	}
}
