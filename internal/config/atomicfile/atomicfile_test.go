package atomicfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestWriteKeepsModeAndLeavesNoTemporaries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := Write(path, []byte("1"), Private); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("new file has mode %v", info.Mode())
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("2"), Private); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o644 {
		t.Errorf("mode became %v", info.Mode())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("directory holds %v %v", entries, err)
	}
}

func TestWriteThroughLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real.json")
	link := filepath.Join(dir, "link.json")
	if err := os.Symlink("real.json", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, text := range []string{"new", "again"} {
		if err := Write(link, []byte(text), Private); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(real); err != nil || string(got) != text {
			t.Errorf("target holds %q %v", got, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v %v", info, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := Write(loop, nil, Private); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestWriteRefusesDirectory(t *testing.T) {
	if err := Write(t.TempDir(), []byte("x"), Private); err == nil {
		t.Error("replaced a directory")
	}
}

func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "dir", "a.json")
	ctx := context.Background()
	err := Update(ctx, path, Private, func(old []byte) ([]byte, error) {
		if old != nil {
			t.Errorf("old content %q", old)
		}
		return []byte("x"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := Update(ctx, path, Private, func([]byte) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "x" {
		t.Errorf("a failed change wrote %q", got)
	}
	if _, err := os.Stat(LockPath(path)); err != nil || filepath.Base(LockPath(path)) != ".a.json.lock" {
		t.Errorf("lock file %s: %v", LockPath(path), err)
	}
}

// TestConcurrentUpdates counts up in one file from many writers at once: the
// sum shows that none was lost, and a reader beside them never sees a torn
// file.
func TestConcurrentUpdates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	const writers, each = 8, 12
	if err := Write(path, []byte("0 "+strings.Repeat("x", 1000)), Private); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := Update(context.Background(), path, Private, func(old []byte) ([]byte, error) {
					n, rest, _ := strings.Cut(string(old), " ")
					v, err := strconv.Atoi(n)
					return []byte(fmt.Sprintf("%d %s", v+1, rest)), err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			got, err := os.ReadFile(path)
			if err == nil && !strings.HasSuffix(string(got), strings.Repeat("x", 1000)) {
				t.Errorf("torn: %.20q", got)
			}
		}
	})
	wg.Wait()
	close(done)
	reader.Wait()
	got, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(got), fmt.Sprint(writers*each)+" ") {
		t.Errorf("ended with %.20q %v", got, err)
	}
}

func TestUpdateStopsWaitingWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	ctx, cancel := context.WithCancel(context.Background())
	err := Update(context.Background(), path, Private, func([]byte) ([]byte, error) {
		cancel()
		err := Update(ctx, path, Private, func([]byte) ([]byte, error) {
			t.Error("two writers at once")
			return nil, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
