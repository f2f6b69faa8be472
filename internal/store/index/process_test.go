package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// childRoot makes the test binary a process that brings the index of a data
// root up to date and prints how many sessions it lists.
const childRoot = "OPENMUSE_TEST_INDEX_ROOT"

func child(root string) int {
	x := New(Options{Root: root})
	if err := x.Refresh(context.Background()); err != nil {
		fmt.Println("refresh:", err)
		return 1
	}
	n, q := 0, Query{Limit: MaxLimit}
	for {
		page, err := x.List(context.Background(), q)
		if err != nil {
			fmt.Println("list:", err)
			return 1
		}
		n += len(page.Rows)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if err := x.Close(); err != nil {
		fmt.Println("close:", err)
		return 1
	}
	fmt.Println(n)
	return 0
}

func childCommand(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childRoot+"="+root)
	return cmd
}

// TestProcessesAtOnce: processes that make one index at the same time, also
// in the place of a damaged one, all see all sessions.
func TestProcessesAtOnce(t *testing.T) {
	root := t.TempDir()
	const sessions = 300
	for i := range sessions {
		addSession(t, root, i, fmt.Sprint("session ", i))
	}
	for _, before := range []string{"missing", "damaged", "there"} {
		path := filepath.Join(root, fileName)
		switch before {
		case "missing":
			os.Remove(path)
		case "damaged":
			if err := os.WriteFile(path, make([]byte, 9000), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for range 3 {
			cmd := childCommand(t, root)
			wg.Go(func() {
				out, err := cmd.CombinedOutput()
				if err != nil || string(out) != fmt.Sprintln(sessions) {
					t.Errorf("%s: %q, %v", before, out, err)
				}
			})
		}
		wg.Wait()
		check(t, path, sessions)
	}
}

// TestKilledWhileMaking: a process killed at any instant of making the index
// leaves one that the next process completes.
func TestKilledWhileMaking(t *testing.T) {
	root := t.TempDir()
	sessions := 400
	for i := range sessions {
		addSession(t, root, i, fmt.Sprint("session ", i))
	}
	random := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(root, fileName)
	kills := 15
	if testing.Short() {
		kills = 4
	}
	for i := range kills {
		if i%3 == 0 {
			os.Remove(path)
			os.Remove(path + "-wal")
			os.Remove(path + "-shm")
		}
		cmd := childCommand(t, root)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(random.IntN(120))*time.Millisecond, func() {
			// It may have ended by itself.
			_ = cmd.Process.Kill()
		})
		_ = cmd.Wait()
		timer.Stop()
		addSession(t, root, 1000+i, "more")
		sessions++
		out, err := childCommand(t, root).CombinedOutput()
		if err != nil || string(out) != fmt.Sprintln(sessions) {
			t.Fatalf("after kill %d: %q, %v", i, out, err)
		}
	}
	check(t, path, sessions)
}
