package muse

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// PathVariable names the environment variable that points at the binary to
// drive.
const PathVariable = "MUSE_PATH"

// FindBinary resolves the binary to drive: the explicit path, else
// $MUSE_PATH, else fallback, else "muse" on PATH. how says which it was.
func FindBinary(explicit, fallback string, getenv func(string) string) (path, how string, err error) {
	name, how := "muse", "PATH"
	switch fromEnv := getenv(PathVariable); {
	case explicit != "":
		name, how = explicit, "option"
	case fromEnv != "":
		name, how = fromEnv, PathVariable
	case fallback != "":
		name, how = fallback, "own binary"
	}
	path, err = exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", how, fmt.Errorf("find the muse binary (%s): %w", how, err)
	}
	return path, how, nil
}

// Semver is a parsed release number.
type Semver struct {
	Major, Minor, Patch int
	Pre                 string // after "-"
	Build               string // after "+"
}

func (v Semver) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	if v.Build != "" {
		s += "+" + v.Build
	}
	return s
}

// AtLeast compares the three numbers only.
func (v Semver) AtLeast(major, minor, patch int) bool {
	for _, d := range []int{v.Major - major, v.Minor - minor, v.Patch - patch} {
		if d != 0 {
			return d > 0
		}
	}
	return true
}

// ParseSemver parses MAJOR.MINOR.PATCH with optional pre-release and build.
func ParseSemver(text string) (Semver, error) {
	var v Semver
	core, build, _ := strings.Cut(text, "+")
	core, pre, _ := strings.Cut(core, "-")
	v.Pre, v.Build = pre, build
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return Semver{}, fmt.Errorf("parse version %q: want MAJOR.MINOR.PATCH", clip(text, 60))
	}
	for i, dst := range []*int{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || !allDigits(parts[i]) {
			return Semver{}, fmt.Errorf("parse version %q: %q is no number", clip(text, 60), clip(parts[i], 20))
		}
		*dst = n
	}
	for _, r := range pre + build {
		if r != '.' && r != '-' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return Semver{}, fmt.Errorf("parse version %q: bad character %q", clip(text, 60), r)
		}
	}
	return v, nil
}

// Banner is the parsed output of --version: "Muse Code 1.4.4
// (1.4.4-R5419.1)". The raw text and the release are kept apart because a
// version range matches the latter only (seed 002, owner follow-up 4).
type Banner struct {
	Raw     string // trimmed stdout, verbatim
	Level   Semver // the number after the name: the contract level
	Release Semver // the number in parentheses; equal to Level when absent
	// Product is "openmuse" when the release says so, else "Muse Code".
	Product string
}

const bannerName = "Muse Code "

// ParseBanner parses the stdout of --version.
func ParseBanner(stdout string) (Banner, error) {
	b := Banner{Raw: strings.TrimSpace(stdout), Product: "Muse Code"}
	rest, ok := strings.CutPrefix(b.Raw, bannerName)
	if !ok || strings.ContainsAny(rest, "\r\n") {
		return b, fmt.Errorf("parse version banner %q: it does not begin with %q on one line", clip(b.Raw, 80), bannerName)
	}
	level, release, found := strings.Cut(rest, " ")
	var err error
	if b.Level, err = ParseSemver(level); err != nil {
		return b, fmt.Errorf("parse version banner: %w", err)
	}
	b.Release = b.Level
	if found {
		inner, ok := strings.CutPrefix(release, "(")
		if inner, ok2 := strings.CutSuffix(inner, ")"); ok && ok2 {
			if b.Release, err = ParseSemver(inner); err != nil {
				return b, fmt.Errorf("parse version banner: %w", err)
			}
		} else {
			return b, fmt.Errorf("parse version banner %q: what follows the number is not in parentheses", clip(b.Raw, 80))
		}
	}
	if strings.HasPrefix(b.Release.Pre, "openmuse.") {
		b.Product = "openmuse"
	}
	return b, nil
}

// Installation is evidence about one binary: what it is byte for byte and what
// it says of itself.
type Installation struct {
	Path      string
	Digest    string // SHA-256, hex; empty when not asked for
	RawBanner string
	Version   Semver // normalized from the banner
	// RuntimeFiles are further files whose bytes matter, for example the
	// output schema: path → SHA-256.
	RuntimeFiles map[string]string
}

// probeLimit bounds what is read of --version and --help.
const probeLimit = 1 << 20

// ProbeVersion runs `<bin> --version` with closed stdin and parses its banner.
// A parse error comes with the raw banner filled in.
func ProbeVersion(ctx context.Context, bin string, env []string) (Banner, error) {
	out, err := Output(ctx, bin, []string{"--version"}, env, "")
	if err != nil {
		return Banner{Raw: strings.TrimSpace(out)}, fmt.Errorf("probe version: %w", err)
	}
	return ParseBanner(out)
}

// Output runs a short command and returns its stdout, at most 1 MiB. stdin is
// closed, descendants cannot hold the call beyond the context, and the
// supervisor's own variables are not passed on.
func Output(ctx context.Context, bin string, args, env []string, dir string) (string, error) {
	p, err := Start(ctx, Launch{Path: bin, Args: args, Env: ScrubEnv(env), Dir: dir})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	_, copyErr := io.Copy(&out, io.LimitReader(p.Stdout(), probeLimit))
	if _, err := io.Copy(io.Discard, p.Stdout()); err != nil && copyErr == nil {
		copyErr = err
	}
	exit := p.Wait()
	switch {
	case ctx.Err() != nil:
		return out.String(), fmt.Errorf("%s %s: %w", bin, strings.Join(args, " "), ctx.Err())
	case copyErr != nil:
		return out.String(), fmt.Errorf("read output of %s: %w", bin, copyErr)
	case exit.Code != 0:
		return out.String(), fmt.Errorf("%s %s: %s: %s", bin, strings.Join(args, " "), exit, lastComplaint(p.StderrTail()))
	}
	return out.String(), nil
}

// Inspect gathers an installation's evidence, with digests.
func Inspect(ctx context.Context, bin string, env []string, runtimeFiles ...string) (Installation, error) {
	in := Installation{Path: bin, RuntimeFiles: map[string]string{}}
	var err error
	if in.Digest, err = fileDigest(bin); err != nil {
		return in, fmt.Errorf("inspect installation: %w", err)
	}
	for _, path := range runtimeFiles {
		if in.RuntimeFiles[path], err = fileDigest(path); err != nil {
			return in, fmt.Errorf("inspect installation: %w", err)
		}
	}
	banner, err := ProbeVersion(ctx, bin, env)
	in.RawBanner, in.Version = banner.Raw, banner.Release
	return in, err
}

// Recheck fails when the binary, its banner or a runtime file is no longer
// what the evidence says: any change invalidates it.
func (in Installation) Recheck(ctx context.Context, env []string) error {
	files := make([]string, 0, len(in.RuntimeFiles))
	for path := range in.RuntimeFiles {
		files = append(files, path)
	}
	now, err := Inspect(ctx, in.Path, env, files...)
	switch {
	case err != nil:
		return fmt.Errorf("recheck installation: %w", err)
	case now.Digest != in.Digest:
		return errors.New("recheck installation: the binary has changed")
	case now.RawBanner != in.RawBanner:
		return errors.New("recheck installation: the version banner has changed")
	}
	for path, digest := range in.RuntimeFiles {
		if now.RuntimeFiles[path] != digest {
			return fmt.Errorf("recheck installation: %s has changed", path)
		}
	}
	return nil
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
