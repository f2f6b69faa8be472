package msp

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sampleOf makes a value of t in which every member is there.
func sampleOf(t reflect.Type) any {
	v := reflect.New(t)
	fillSample(v.Elem(), 0)
	return v.Interface()
}

func fillSample(v reflect.Value, depth int) {
	if e, ok := v.Interface().(enumerated); ok && v.Kind() == reflect.String {
		words := e.values().words
		v.SetString(words[depth%len(words)])
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *RequestId:
		*p = IntID(7)
		return
	case *ModelReasoningEffortVariants:
		p.Efforts = []ReasoningEffort{ReasoningEffortLow, ReasoningEffortHigh}
		return
	case *jsontext.Value:
		*p = jsontext.Value(`{"k":[1,null]}`)
		return
	case *ToolReceipt:
		*p = ToolReceipt{Family: ToolReceiptFamilyCron, Operation: ToolReceiptOperationCreate, Outcome: ToolReceiptOutcomeCreated, Details: jsontext.Value(`{"jobId":"j"}`)}
		return
	case *SessionMcpServerConfig:
		*p = SessionMcpServerConfig{Transport: SessionMcpTransportStdio, Command: "c", Args: []string{"a"}, Framing: SessionMcpStdioFramingAuto}
		return
	case *UnframedViewNotification:
		params := &SessionNameChangedParams{Name: "n"}
		fillSample(reflect.ValueOf(params).Elem(), depth+1)
		*p = UnframedViewNotification{Method: NoteSessionNameChanged, Params: params}
		return
	}
	if n, ok := v.Interface().(nullable); ok && n.element() == reflect.TypeFor[string]() {
		v.Set(reflect.ValueOf(Some("n")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillSample(v.Elem(), depth)
	case reflect.String:
		v.SetString("s")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(1.25)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillSample(v.Index(0), depth+1)
	case reflect.Map:
		elem := reflect.New(v.Type().Elem()).Elem()
		fillSample(elem, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("k"), elem)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if len(f.Index) == 1 {
				fillSample(v.Field(f.Index[0]), depth+1)
			}
		}
	}
}

// wireTypes are the types of all params and results.
func wireTypes() []reflect.Type {
	var out []reflect.Type
	for _, m := range append(Methods(), ExperimentalMethods()...) {
		out = append(out, m.params, m.result)
	}
	for _, n := range Notifications() {
		out = append(out, n.params)
	}
	for _, r := range ServerRequests() {
		out = append(out, r.params, r.result)
	}
	return out
}

// Every type can be written, fits its own shape strictly, and is read back the
// same.
func TestEveryTypeTravels(t *testing.T) {
	for _, typ := range wireTypes() {
		if typ == nil {
			continue
		}
		t.Run(typ.Name(), func(t *testing.T) {
			text, err := json.Marshal(sampleOf(typ), json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckType(text, typ); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			back := reflect.New(typ).Interface()
			if err := json.Unmarshal(text, back); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(back, json.Deterministic(true))
			if err != nil || string(again) != string(text) {
				t.Errorf("read back %v\n%s\n%s", err, text, again)
			}
		})
	}
}

// A value with only what Go makes by itself has every required member and no
// optional one.
func TestZeroValuesHaveExactlyWhatIsRequired(t *testing.T) {
	for _, typ := range wireTypes() {
		if typ == nil {
			continue
		}
		text, err := json.Marshal(reflect.New(typ).Interface())
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		for _, m := range shapeOf(typ).members {
			if _, ok := members[m.name]; ok != (m.required || m.mayLack) {
				t.Errorf("%s.%s: written %v, required %v", typ.Name(), m.name, ok, m.required)
			}
		}
	}
}

func TestStrictCheck(t *testing.T) {
	good := `{"sessionId":"s","viewCursor":"v:s:1","sourceRange":{"stream":{"kind":"run","id":"r"},"first":{"id":"a","sequence":1},"last":{"id":"a","sequence":1}},"name":"n"}`
	if err := Check[SessionNameChangedParams](jsontext.Value(good)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		strings.Replace(good, `"name"`, `"nom"`, 1):                "nom: must not be there",
		strings.Replace(good, `"sequence":1`, `"sequence":"1"`, 1): "sourceRange.first.sequence: must be an integer",
		strings.Replace(good, `,"name":"n"`, ``, 1):                "name: is missing",
		strings.Replace(good, `"kind":"run"`, `"kind":null`, 1):    "sourceRange.stream.kind: must be a string and not null",
		strings.TrimSuffix(good, `}`):                              "is not JSON",
	} {
		if err := Check[SessionNameChangedParams](jsontext.Value(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if err := Check[SkillSetActivationResult](jsontext.Value(`{"activation":"on","commandId":"c","previous":"on","scope":"user","selector":"x","status":"maybe"}`)); err == nil {
		t.Error("a word that is not on an open list was taken from ourselves")
	}
}

func TestUnions(t *testing.T) {
	tests := []struct {
		name, text string
		into       any
		want       string // in the mismatch, empty for none
	}{
		{"efforts", `["low"]`, new(ModelReasoningEffortVariants), ""},
		{"unknown efforts", `"unknown"`, new(ModelReasoningEffortVariants), ""},
		{"other word", `"none"`, new(ModelReasoningEffortVariants), "must be one of unknown"},
		{"no effort", `["huge"]`, new(ModelReasoningEffortVariants), "[0]: must be one of"},
		{"number", `1`, new(ModelReasoningEffortVariants), "must be a list or a word"},
		{"cron receipt", `{"details":{"jobId":"j"},"family":"cron","operation":"create","outcome":"created"}`, new(ToolReceipt), ""},
		{"cron receipt of another form", `{"details":{"language":"javascript"},"family":"cron","operation":"create","outcome":"created"}`, new(ToolReceipt), "details.language: must not be there"},
		{"receipt of another family", `{"details":{"x":1},"family":"moon","operation":"create","outcome":"created"}`, new(ToolReceipt), ""},
		{"receipt without family", `{"operation":"create","outcome":"created"}`, new(ToolReceipt), "family: is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckType(jsontext.Value(tt.text), reflect.TypeOf(tt.into).Elem())
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.text), tt.into); err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(tt.into)
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckType(out, reflect.TypeOf(tt.into).Elem()); err != nil {
				t.Errorf("written as %s: %v", out, err)
			}
		})
	}
}

func TestNullable(t *testing.T) {
	type box struct {
		N Nullable[string] `json:"n,omitzero"`
	}
	for text, want := range map[string]box{`{}`: {}, `{"n":null}`: {Null[string]()}, `{"n":"x"}`: {Some("x")}} {
		var got box
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
		if out, err := json.Marshal(want); err != nil || string(out) != text {
			t.Errorf("%+v is written %s, %v", want, out, err)
		}
	}
	if got := SomeOrNull[string](nil); !reflect.DeepEqual(got, Null[string]()) {
		t.Errorf("%+v", got)
	}
}

func TestPagedEventsHaveTheirTypes(t *testing.T) {
	text := `{"method":"session/nameChanged","params":{"sessionId":"s","viewCursor":"v:s:2","sourceRange":{"stream":{"kind":"session","id":"s"},"first":{"id":"a","sequence":4},"last":{"id":"a","sequence":4}},"name":"n"}}`
	var n UnframedViewNotification
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	params, ok := n.Params.(*SessionNameChangedParams)
	if !ok || params.Name != "n" || params.At().ViewCursor != "v:s:2" {
		t.Errorf("%T %+v", n.Params, n.Params)
	}
	var unknown UnframedViewNotification
	if err := json.Unmarshal([]byte(strings.Replace(text, "nameChanged", "moonChanged", 1)), &unknown); err != nil || unknown.Params.At().SessionID != "s" {
		t.Errorf("an unknown event: %+v, %v", unknown, err)
	}
}
