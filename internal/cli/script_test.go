package cli_test

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/openmuse/muse/internal/cli"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
	}
	testscript.Main(m, map[string]func(){
		"muse": func() { os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System())) },
	})
}

// TestScript runs the command line as a person meets it, each script in a home
// of its own.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "META_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MUSE_MODEL"} {
				e.Setenv(name, "")
			}
			return os.MkdirAll(e.WorkDir+"/home", 0o700)
		},
	})
}
