package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// Verdicts of a doctor's check.
const (
	VerdictOK   = "ok"
	VerdictWarn = "warn" // a run may work, something is missing or weak
	VerdictFail = "fail" // a run cannot work
)

// DoctorOptions are what a doctor looks at.
type DoctorOptions struct {
	Binary   string // explicit; see muse.FindBinary
	Self     string // this program
	Env      []string
	Provider string // whose key is looked for; empty: any
}

// DoctorCheck is one finding.
type DoctorCheck struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	Cure    string `json:"cure,omitempty"`
}

// DoctorReport is the body of `muse drive doctor --json`.
type DoctorReport struct {
	Type    string        `json:"type"` // "muse.drive.doctor"
	Version int           `json:"schema_version"`
	OK      bool          `json:"ok"` // nothing failed
	Binary  BinaryInfo    `json:"binary"`
	Digest  string        `json:"sha256"`
	Checks  []DoctorCheck `json:"checks"`
}

func (r *DoctorReport) add(name, verdict, cure, format string, args ...any) {
	r.Checks = append(r.Checks, DoctorCheck{Name: name, Verdict: verdict, Detail: fmt.Sprintf(format, args...), Cure: cure})
	r.OK = r.OK && verdict != VerdictFail
}

// doctorProbe bounds the questions to the binary.
const doctorProbe = 20 * time.Second

// Doctor says which binary would be driven, which contract it keeps, and what
// a run would miss. It starts the binary only for --version and exec --help,
// and never reads a key.
func Doctor(ctx context.Context, o DoctorOptions) *DoctorReport {
	r := &DoctorReport{Type: "muse.drive.doctor", Version: 1, OK: true}
	getenv := func(name string) string { return muse.Lookup(o.Env, name) }
	path, how, err := muse.FindBinary(o.Binary, o.Self, getenv)
	if err != nil {
		r.Binary.Found = how
		r.add("binary", VerdictFail, "install muse, or point --bin or MUSE_PATH at it", "%v", err)
	} else {
		r.add("binary", VerdictOK, "", "%s (by %s)", path, how)
		r.binary(ctx, o, path, how)
	}
	r.sandbox(ctx)
	r.keys(o, getenv)
	r.surroundings(getenv)
	return r
}

func (r *DoctorReport) binary(ctx context.Context, o DoctorOptions, path, how string) {
	ctx, cancel := context.WithTimeout(ctx, doctorProbe)
	defer cancel()
	in, err := muse.Inspect(ctx, path, o.Env)
	r.Digest = in.Digest
	var diags []muse.Diagnostic
	r.Binary = BinaryInfo{Path: path, Found: how, Banner: in.RawBanner}
	if err != nil {
		r.add("version", VerdictFail, "drive a muse whose --version prints `Muse Code X.Y.Z (X.Y.Z-…)`", "%v", err)
	} else {
		r.Binary = ProbeBinary(ctx, path, how, o.Env, &diags)
		verdict, cure := VerdictOK, ""
		if banner, err := muse.ParseBanner(r.Binary.Banner); err == nil && !banner.Level.AtLeast(1, 3, 0) {
			verdict, cure = VerdictWarn, "builds before 1.3.0 may lack the synchronous shell tool"
		}
		r.add("version", verdict, cure, "raw %q, level %s, release %s, product %s", r.Binary.Banner, r.Binary.Level, r.Binary.Release, r.Binary.Product)
	}
	help, err := muse.Output(ctx, path, []string{"exec", "--help"}, o.Env, "")
	if err != nil {
		r.add("contract", VerdictWarn, "", "exec --help does not work, so the flags cannot be compared: %v", err)
		return
	}
	if missing := missingFlags(help); len(missing) > 0 {
		r.add("contract", VerdictFail, "use a build that has these flags, or another --profile", "exec lacks %s", strings.Join(missing, " "))
		return
	}
	r.add("contract", VerdictOK, "", "exec has every flag that the supervised profile uses")
}

// missingFlags compares a help text with what the supervised profile emits.
func missingFlags(help string) []string {
	words := strings.FieldsFunc(help, func(c rune) bool { return c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') })
	var missing []string
	for _, posture := range []muse.SandboxPosture{muse.SandboxOff, muse.SandboxOn} {
		inv, err := muse.Supervised{Model: "m", Effort: "high", Sandbox: posture}.Build(muse.Job{Workspace: "w", SessionID: "s", PromptFile: "p"})
		if err != nil {
			return []string{err.Error()} // cannot happen: the job is complete
		}
		for _, arg := range inv.Args {
			if strings.HasPrefix(arg, "--") && !slices.Contains(words, arg) && !slices.Contains(missing, arg) {
				missing = append(missing, arg)
			}
		}
	}
	return missing
}

func (r *DoctorReport) sandbox(ctx context.Context) {
	switch runtime.GOOS {
	case "linux":
		bwrap, err := exec.LookPath("bwrap")
		switch {
		case err == nil:
			r.add("bubblewrap", VerdictOK, "", "%s", bwrap)
		case r.Binary.Product == "openmuse":
			r.add("bubblewrap", VerdictOK, "", "not installed; this build makes its sandbox without it where namespaces are allowed")
		default:
			r.add("bubblewrap", VerdictWarn, "install the bubblewrap package, or keep the sandbox off", "not installed: a run that keeps its sandbox fails at its first command")
		}
		if err := probeNamespaces(ctx); err != nil {
			r.add("namespaces", VerdictWarn, namespaceCure(), "unprivileged user namespaces cannot be made: %v", err)
		} else {
			r.add("namespaces", VerdictOK, "", "user, mount, process and network namespaces can be made")
		}
	case "darwin":
		if _, err := os.Stat("/usr/bin/sandbox-exec"); err != nil {
			r.add("seatbelt", VerdictWarn, "", "%v", err)
		} else {
			r.add("seatbelt", VerdictOK, "", "/usr/bin/sandbox-exec")
		}
	default:
		r.add("sandbox", VerdictWarn, "", "not checked on %s", runtime.GOOS)
	}
}

// keyVariables name the key of each provider.
func keyVariables(provider string) []string {
	all := map[string]string{"meta": "META_API_KEY", "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "openrouter": "OPENROUTER_API_KEY"}
	if v, ok := all[provider]; ok {
		return []string{v}
	}
	return []string{"META_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY"}
}

func (r *DoctorReport) keys(o DoctorOptions, getenv func(string) string) {
	if model := getenv("MUSE_MODEL"); muse.IsContributor(model) {
		r.add("model", VerdictWarn, "name another model with --model", "MUSE_MODEL: %s", muse.ContributorAdvisory(model))
	}
	var found []string
	for _, name := range keyVariables(o.Provider) {
		if getenv(name) != "" {
			found = append(found, name)
		}
	}
	auth := filepath.Join(muse.ConfigHome(getenv), "auth.json")
	switch info, err := os.Stat(auth); {
	case err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		r.add("auth file", VerdictWarn, "chmod 600 "+auth, "%s can be read by others (mode %#o)", auth, info.Mode().Perm())
		found = append(found, auth)
	case err == nil:
		found = append(found, auth)
	case !errors.Is(err, os.ErrNotExist):
		r.add("auth file", VerdictWarn, "", "%v", err)
	}
	if len(found) == 0 {
		r.add("key", VerdictWarn, "sign in, set META_API_KEY, or use a provider that needs no key", "no key in the environment and no %s", auth)
		return
	}
	r.add("key", VerdictOK, "", "from %s (not read)", strings.Join(found, ", "))
}

func (r *DoctorReport) surroundings(getenv func(string) string) {
	tmp := muse.DefaultTempRoot(getenv)
	if _, err := muse.OpenTempRoot(tmp); err != nil {
		r.add("temporary root", VerdictFail, "set "+muse.TempVariable+" to a directory of your own, mode 0700", "%v", err)
	} else {
		r.add("temporary root", VerdictOK, "", "%s", tmp)
	}
	if data := muse.DataHome(getenv); data == "" {
		r.add("data root", VerdictWarn, "set HOME or XDG_DATA_HOME", "unknown, so token usage cannot be read")
	} else {
		r.add("data root", VerdictOK, "", "%s", data)
	}
	if git, err := exec.LookPath("git"); err != nil {
		r.add("git", VerdictWarn, "install git", "not found: muse loop compares whole directories and has no worktrees")
	} else {
		r.add("git", VerdictOK, "", "%s", git)
	}
}
