package html_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/logtest"
	"github.com/openmuse/muse/internal/view/html"
	"github.com/openmuse/muse/internal/view/timeline"
)

const hostile = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\u2028 \x1b]0;owned\a <!-- {{x}}"

// page builds a page of two sessions, one of which is hostile.
func page(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, l *logtest.Log) {
		p := filepath.Join(dir, "sessions/2026/10/01", name, "session.jsonl")
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, l.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	a := logtest.New("session-a")
	a.Profile("on_request", "auto_review", ":auto-review", "start")
	a.Metadata("/srv/proj", "muse-spark-1.3", "")
	a.Record("session.name.changed", fmt.Sprintf(`{"new_name":%s}`, quoted))
	a.RunModel("r", "muse-spark-1.3")
	a.Run("r", fmt.Sprintf(`{"kind":"started","prompt":%s}`, quoted))
	args, err := json.Marshal(fmt.Sprintf(`{"command":%s,"description":"d"}`, quoted))
	if err != nil {
		t.Fatal(err)
	}
	a.Run("r", fmt.Sprintf(`{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":%s,"call_id":"call_1","name":"bash"}]}`, args))
	a.Approval("r", `{"kind":"requested","pending_action_id":"p","tool_call_id":"call_1","tool_name":"bash","raw_args":"x"}`)
	a.Approval("r", `{"kind":"decision_applied","pending_action_id":"p","decision":"denied","decision_source":{"kind":"user"}}`)
	a.Run("r", fmt.Sprintf(`{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"call_1","text":%s}]}`, quoted))
	a.Run("r", `{"kind":"model_completed","model":"muse-spark-1.3","usage":{"input_tokens":1000000,"output_tokens":10}}`)
	put("session-a", a)
	b := logtest.New("session-b")
	b.At += 3600e6
	b.Metadata("/srv/other", "muse-spark-1.3", "")
	b.Run("q", `{"kind":"started","prompt":"needle in a haystack"}`)
	for i := range 400 {
		b.Run("q", fmt.Sprintf(`{"kind":"assistant_message_committed","text":"answer %d"}`, i))
	}
	put("session-b", b)
	in, err := audit.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	p := html.New(&out)
	_, err = audit.Timeline(context.Background(), in, audit.TimelineOptions{
		Observe: func(f *audit.File, ev *timeline.Event) { p.Observe(f.Kind == audit.SubagentLog, ev) },
	}, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSelfContained looks at the bytes: nothing is loaded from anywhere, and no
// text of a log is markup.
func TestSelfContained(t *testing.T) {
	data := page(t)
	for _, bad := range []string{"http:", "https:", "src=", "@import", "url("} {
		text := string(data)
		// The one address is the name of a vocabulary, and hostile text is data.
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		text = strings.ReplaceAll(text, `\u003cimg src=x`, "")
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n := bytes.Count(data, []byte("<script")); n != 4 {
		t.Errorf("%d script elements", n)
	}
	if bytes.Contains(data, []byte("<img")) || bytes.ContainsAny(data, "\x1b\a\u2028") {
		t.Error("hostile text came through as it was")
	}
	for _, id := range []string{"rows", "calls", "meta"} {
		m := regexp.MustCompile(`(?s)id="` + id + `">(.*?)</script>`).FindSubmatch(data)
		if m == nil || !json.Valid(m[1]) {
			t.Errorf("the data of %s are no JSON", id)
		}
	}
}

// browser finds a headless Chromium, or skips.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Skip("no Chromium is installed")
	return ""
}

func run(t *testing.T, args ...string) []byte {
	t.Helper()
	name := browser(t)
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, append([]string{
		"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--allow-file-access-from-files",
		"--user-data-dir=" + t.TempDir(), "--window-size=1400,1000", "--virtual-time-budget=8000",
	}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Skipf("Chromium does not run here: %v %.300s", err, errs.String())
	}
	return out
}

// TestInBrowser drives the page: lanes are drawn, marks are there, the filters
// work, and hostile text stays text.
func TestInBrowser(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "page.html")
	if err := os.WriteFile(name, page(t), 0o600); err != nil {
		t.Fatal(err)
	}
	driver := filepath.Join(dir, "driver.html")
	if err := os.WriteFile(driver, []byte(driverPage), 0o600); err != nil {
		t.Fatal(err)
	}
	dom := string(run(t, "--dump-dom", "file://"+driver))
	for _, want := range []string{
		"lanes=2", "ticks=yes", "denied=1", "approval=1", "permission=1", "chart=3", "all=410 of 410 rows",
		"search=1 of 410 rows", "type=1 of 410 rows", "mark=2 of 410 rows", "session=8 of 410 rows", "zoomed=1]",
		"lane click=402 of 410 rows", "title=Timeline", "images=0", "detail=yes", "args=yes", "paged=300",
	} {
		if !strings.Contains(dom, "["+want) {
			t.Errorf("the browser does not say %q", want)
		}
	}
	if t.Failed() {
		t.Log(dom[strings.Index(dom, "<pre"):])
	}
}

// driverPage loads the page in a frame, works its controls and writes down what
// it sees.
const driverPage = `<!DOCTYPE html><pre id="out"></pre><iframe id="f" src="page.html" width="1300" height="900"></iframe><script>
const out = document.getElementById('out');
const say = (name, v) => { out.textContent += '[' + name + '=' + v + ']\n'; };
const wait = ms => new Promise(r => setTimeout(r, ms));
document.getElementById('f').addEventListener('load', async () => {
  const d = document.getElementById('f').contentDocument;
  const $ = id => d.getElementById(id);
  const pick = async (id, value) => {
    $(id).value = value;
    $(id).dispatchEvent(new Event(id === 'q' ? 'input' : 'change'));
    await wait(300);
    return $('count').textContent;
  };
  const clear = async () => { $('clear').click(); await wait(100); };
  await wait(300);
  say('lanes', d.querySelectorAll('.lane').length);
  say('ticks', d.querySelectorAll('.lane .tick').length > 3 ? 'yes' : 'no');
  for (const m of ['denied', 'approval', 'permission']) say(m, d.querySelectorAll('.lane .mark.' + m).length);
  say('chart', d.querySelectorAll('#chart path').length);
  say('all', $('count').textContent);
  say('paged', d.querySelectorAll('.row').length);
  say('search', await pick('q', 'NEEDLE'));
  await clear();
  say('type', await pick('type', 'tool_use'));
  d.querySelector('.row .text').click();
  await wait(50);
  const box = d.querySelector('.row .detail');
  say('detail', box ? 'yes' : 'no');
  say('args', box && box.textContent.includes('description') && box.textContent.includes('result') ? 'yes' : 'no');
  await clear();
  say('mark', await pick('mark', 'approval'));
  await clear();
  say('session', await pick('session', 'session-a'));
  say('zoomed', d.querySelectorAll('.lane').length);
  await clear();
  d.querySelectorAll('.lane > button')[1].click();
  await wait(100);
  say('lane click', $('count').textContent);
  say('title', d.title);
  say('images', d.images.length);
});
</script>`

// TestScreenshot: the lanes and the list are drawn, and a filter changes the
// picture.
func TestScreenshot(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "page.html")
	if err := os.WriteFile(name, page(t), 0o600); err != nil {
		t.Fatal(err)
	}
	shots := map[string][]byte{}
	for what, hash := range map[string]string{"all": "", "one": "#type=tool_use"} {
		file := filepath.Join(dir, what+".png")
		run(t, "--screenshot="+file, "file://"+name+hash)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Skipf("Chromium made no picture: %v", err)
		}
		shots[what] = data
	}
	img, err := png.Decode(bytes.NewReader(shots["all"]))
	if err != nil {
		t.Fatal(err)
	}
	// Below the filters the lanes draw in several colours.
	colours := map[string]bool{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += 2 {
		for x := b.Min.X + 280; x < b.Max.X; x += 2 {
			r, g, bl, _ := img.At(x, y).RGBA()
			colours[fmt.Sprint(r>>12, g>>12, bl>>12)] = true
		}
	}
	if len(colours) < 6 {
		t.Errorf("the picture has %d colours: nothing was drawn", len(colours))
	}
	if bytes.Equal(shots["all"], shots["one"]) {
		t.Error("the filter did not change the picture")
	}
}
