package sandbox

import "fmt"

// placeAllowed refuses places that the sandbox replaces by its own.
func (s *settled) placeAllowed(root string) error {
	for _, dir := range []string{"/proc", "/sys", "/dev", "/tmp", "/var/tmp", "/run", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var"} {
		if root == dir {
			return fmt.Errorf("the workspace is %s itself", dir)
		}
	}
	for _, dir := range []string{"/proc", "/sys"} {
		if inside(root, dir) {
			return fmt.Errorf("the workspace %s is in %s", root, dir)
		}
	}
	for _, dir := range []string{"/dev", "/tmp", "/var/tmp", "/run"} {
		if inside(dir, root) {
			return fmt.Errorf("the workspace %s contains %s", root, dir)
		}
	}
	return nil
}
