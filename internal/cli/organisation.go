package cli

import (
	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/permission"
)

// loadConfig reads what configures a run: the files of the config root, and
// over and under them those of an organisation. A file of the organisation that
// cannot be understood is an error: nothing starts until it is mended.
func loadConfig(env *Env) (config.Inputs, error) {
	in, err := config.Load(env.Getenv)
	if err != nil {
		return in, err
	}
	if in.Defaults, err = config.ReadDefaults(env.Planes.Defaults); err != nil {
		return in, err
	}
	policy, err := permission.ReadPolicy(env.Planes.Policy)
	in.Policy = policy.Models()
	return in, err
}
