package fault

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// details is what an error body says.
type details struct {
	message   string
	code      string // the service's code, never a bare number
	kind      string // its error type
	status    int    // a number given as code or status
	requestID string

	quotaScope, resetAt string
	retryAfter          time.Duration
}

type object map[string]jsontext.Value

// parse reads the error forms that are in use:
//
//	{"error":{"message","type","code"}}           Responses, Chat Completions
//	{"type":"error","error":{"type","message"}}   Messages
//	{"type":"error","code","message"}             the error event of Responses
//	{"type":"response.failed","response":{"error":{…}}}
//	{"error":"text"}, {"message":"text"}, {"detail":"text"}, [{"error":{…}}]
func parse(body []byte) (d details) {
	value := jsontext.Value(body)
	if value.Kind() == '[' {
		var list []jsontext.Value
		if json.Unmarshal(value, &list, lenient) != nil || len(list) == 0 {
			return d
		}
		value = list[0]
	}
	outer := decode(value)
	if outer == nil {
		return d
	}
	d.requestID = outer.text("request_id")
	if response := decode(outer["response"]); response != nil {
		d.quotaScope, d.resetAt = response.text("quota_scope"), response.reset()
		if response["error"].Kind() == '{' || response["error"].Kind() == '"' {
			outer = response
		}
	}
	inner := decode(outer["error"])
	if inner == nil {
		if text := outer.text("error"); text != "" {
			d.message = text
		}
		// The body is the error itself. Its type says "error" on the wire
		// that sends it as an event.
		inner = outer
	}
	d.read(inner)
	if d.kind == "error" || d.kind == "response.failed" {
		d.kind = ""
	}
	for _, o := range []object{inner, decode(inner["data"]), decode(inner["metadata"]), decode(inner["details"]), outer, decode(outer["data"])} {
		d.facts(o)
	}
	return d
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// read takes the error's own members.
func (d *details) read(o object) {
	for _, name := range []string{"message", "detail", "title", "error_description"} {
		if d.message == "" {
			d.message = o.text(name)
		}
	}
	d.kind = o.text("type")
	if d.code = o.text("code"); d.code == "" {
		d.code = o.text("status") // Google's form: code is the number
	}
	for _, name := range []string{"code", "status", "status_code", "http_status"} {
		if n, err := strconv.Atoi(o.number(name)); err == nil && n >= 400 && n < 600 {
			d.status = n
			break
		}
	}
	// A gateway wraps what the service behind it said.
	if raw := decode(o["metadata"]).text("raw"); raw != "" {
		if behind := parse([]byte(raw)); behind.message != "" {
			raw = behind.message
		}
		d.message += ": " + raw
	}
}

// facts takes what a 429 says about quotas, from wherever it says so.
func (d *details) facts(o object) {
	if d.quotaScope == "" {
		d.quotaScope = o.text("quota_scope")
	}
	if d.resetAt == "" {
		d.resetAt = o.reset()
	}
	if d.retryAfter == 0 {
		if ms, err := strconv.ParseFloat(o.either("retry_after_ms"), 64); err == nil {
			d.retryAfter = span(ms, time.Millisecond)
		}
	}
	for _, name := range []string{"retry_after", "retry_after_seconds", "resets_in_seconds"} {
		if d.retryAfter != 0 {
			return
		}
		if s, err := strconv.ParseFloat(o.either(name), 64); err == nil {
			d.retryAfter = span(s, time.Second)
		}
	}
}

// reset is when a quota starts anew, as the service writes it.
func (o object) reset() string {
	if at := o.either("reset_at"); at != "" {
		return at
	}
	return o.either("resets_at")
}

// decode is the members of an object; nil for anything else.
func decode(v jsontext.Value) object {
	if v.Kind() != '{' {
		return nil
	}
	var o object
	if json.Unmarshal(v, &o, lenient) != nil {
		return nil
	}
	return o
}

// text is a string member that says something; "" for every other kind.
func (o object) text(name string) string {
	v := o[name]
	if v.Kind() != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(v, &s, lenient) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// number is a number member as it is written, "" for every other kind.
func (o object) number(name string) string {
	if v := o[name]; v.Kind() == '0' {
		return string(v)
	}
	return ""
}

func (o object) either(name string) string {
	if s := o.text(name); s != "" {
		return s
	}
	return o.number(name)
}
