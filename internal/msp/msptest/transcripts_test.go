package msptest

import (
	"bufio"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
)

// spoken is one line of a recorded dialogue.
type spoken struct {
	Dir string `json:"dir"`
	Raw string `json:"raw"`
}

func transcripts(t *testing.T) map[string][]spoken {
	t.Helper()
	root := os.Getenv("OPENMUSE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(root, "fixtures", "msp", "transcripts", "*", "transcript.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no recorded dialogues under %s; set OPENMUSE_SHARED", root)
	}
	out := make(map[string][]spoken)
	for _, name := range files {
		out[filepath.Base(filepath.Dir(name))] = readTranscript(t, name)
	}
	return out
}

func readTranscript(t *testing.T, name string) []spoken {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []spoken
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, msp.FrameCap)
	for lines.Scan() {
		var s spoken
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// oldForm says that a frame was recorded before userInput/settled got a
// decidedAt that is always there (MSP.md 8).
func oldForm(raw string) bool {
	return strings.Contains(raw, `"method":"userInput/settled"`) && !strings.Contains(raw, `"decidedAt"`)
}

// The recorded dialogues of the published host satisfy the judge: its rules are
// those of the protocol and not only ours.
func TestJudgeAcceptsRecordedDialogues(t *testing.T) {
	for name, lines := range transcripts(t) {
		t.Run(name, func(t *testing.T) {
			j, err := NewJudge()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lines {
				if l.Dir == "client" {
					j.Client([]byte(l.Raw))
					continue
				}
				for _, err := range j.Host([]byte(l.Raw)) {
					if !oldForm(l.Raw) {
						t.Error(err)
					}
				}
			}
		})
	}
}

// Frames of the recorded dialogues mean the same after they went through our
// types: nothing is lost, nothing is added. An item that says truncated:false
// and one that does not say it are the same; both are recorded.
func TestRecordedFramesSurviveOurTypes(t *testing.T) {
	for name, lines := range transcripts(t) {
		t.Run(name, func(t *testing.T) {
			asked := map[msp.RequestId]string{}
			for _, l := range lines {
				var f frame
				if err := json.Unmarshal([]byte(l.Raw), &f); err != nil {
					t.Fatal(err)
				}
				if l.Dir == "client" && f.ID != nil && f.Method != "" {
					asked[*f.ID] = f.Method
				}
				raw, into := payload(f, l.Dir == "client", asked)
				if into == nil {
					continue
				}
				if err := json.Unmarshal(raw, into); err != nil {
					t.Fatalf("%s: %v", l.Raw, err)
				}
				if l.Dir == "client" && f.Method != "" {
					if err := msp.DecodeInto(raw, into); err != nil {
						t.Errorf("a recorded client is refused: %v in %s", err, l.Raw)
					}
				}
				again, err := json.Marshal(into)
				if err != nil {
					t.Fatal(err)
				}
				if want, got := value(t, raw), value(t, again); l.Dir == "server" && !oldForm(l.Raw) && !reflect.DeepEqual(want, got) {
					t.Errorf("recorded %s\nwritten  %s", raw, again)
				}
			}
		})
	}
}

// payload finds the typed part of a frame and where to read it into.
func payload(f frame, fromClient bool, asked map[msp.RequestId]string) (jsontext.Value, any) {
	switch {
	case f.Error != nil:
		return f.Error, new(msp.ErrorObject)
	case f.Method != "":
		if f.Params == nil {
			return nil, nil
		}
		if spec, ok := msp.LookupMethod(f.Method); ok {
			return f.Params, spec.Params()
		}
		if spec, ok := msp.LookupServerRequest(f.Method); ok {
			return f.Params, spec.Params()
		}
		if spec, ok := msp.LookupNotification(f.Method); ok {
			return f.Params, spec.Params()
		}
	case f.ID != nil && !fromClient:
		if spec, ok := msp.LookupMethod(asked[*f.ID]); ok {
			return f.Result, spec.Result()
		}
	}
	return nil, nil
}

func value(t *testing.T, raw jsontext.Value) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return dropTruncatedFalse(v)
}

func dropTruncatedFalse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v["truncated"] == false {
			delete(v, "truncated")
		}
		for name, member := range v {
			v[name] = dropTruncatedFalse(member)
		}
	case []any:
		for i, elem := range v {
			v[i] = dropTruncatedFalse(elem)
		}
	}
	return v
}
