package permission

import (
	"slices"

	"github.com/openmuse/muse/internal/config/jsondoc"
)

// ParsePolicy reads a policy file's text. Everything that is not understood is
// an error: a policy that is half understood protects nobody.
func ParsePolicy(file string, data []byte) (*Policy, error) {
	doc, err := jsondoc.Parse(file, data)
	if err != nil {
		return nil, err
	}
	p := &Policy{File: file}
	return p, members(doc.Root(), map[string]func(*jsondoc.Node) error{
		"schema_version": func(n *jsondoc.Node) error {
			v, err := n.Int()
			if err == nil && v != 1 {
				return n.Errorf("write 1", "schema version %d is not known", v)
			}
			return err
		},
		"execution":               p.execution,
		"model_egress":            p.egress,
		"extensions":              p.notActive,
		"privacy":                 p.privacy,
		"local_session_messaging": p.notActive,
		"openmuse":                p.own,
	})
}

// members reads an object by key.
func members(n *jsondoc.Node, read map[string]func(*jsondoc.Node) error) error {
	if n.Kind() != '{' {
		return n.Mismatch("an object")
	}
	for _, m := range n.Members() {
		f, ok := read[m.Key()]
		if !ok {
			return m.Errorf("remove it", "unknown key %q", m.Key())
		}
		if err := f(m); err != nil {
			return err
		}
	}
	return nil
}

func flag(dst *bool) func(*jsondoc.Node) error {
	return func(n *jsondoc.Node) (err error) { *dst, err = n.Bool(); return err }
}

func optionalFlag(dst **bool) func(*jsondoc.Node) error {
	return func(n *jsondoc.Node) error {
		b, err := n.Bool()
		*dst = &b
		return err
	}
}

func (p *Policy) execution(n *jsondoc.Node) error {
	return members(n, map[string]func(*jsondoc.Node) error{
		"forbid_approval_bypass":           flag(&p.ForbidApprovalBypass),
		"forbid_sandbox_bypass":            flag(&p.ForbidSandboxBypass),
		"force_agent_definition_safe_mode": flag(&p.ForceAgentDefinitionSafeMode),
		"permission_profiles":              limit(&p.PermissionProfiles, func(s string) (string, error) { return s, nil }),
		"approval_modes": limit(&p.ApprovalModes, func(s string) (string, error) {
			m, err := ParseMode(s)
			return string(m), err
		}),
		"approval_reviewers": limit(&p.ApprovalReviewers, func(s string) (string, error) {
			r, err := ParseReviewer(s)
			return string(r), err
		}),
		"network_sandbox_modes": limit(&p.NetworkModes, func(s string) (string, error) {
			m, err := ParseNetworkMode(s)
			return string(m), err
		}),
		"tool_rules":                  p.toolRules,
		"allow_project_configuration": optionalFlag(&p.AllowProjectConfiguration),
		"allow_foreign_configuration": optionalFlag(&p.AllowForeignConfiguration),
		"stop_hook_continuations": func(n *jsondoc.Node) error {
			v, err := n.Int()
			if err == nil && v < 0 {
				return n.Errorf("write 0 or more", "negative")
			}
			p.StopHookContinuations = &v
			return err
		},
	})
}

// limit reads a list of allowed values, or {"allowed": [...], "fallback": x}.
func limit(dst **Limit, parse func(string) (string, error)) func(*jsondoc.Node) error {
	return func(n *jsondoc.Node) error {
		l := &Limit{}
		list := func(n *jsondoc.Node) error {
			values, err := textOrList(n)
			for _, v := range values {
				if err != nil {
					break
				}
				if v, err = parse(v); err != nil {
					return n.Errorf("", "%s", err.Error())
				}
				l.Allowed = append(l.Allowed, v)
			}
			return err
		}
		*dst = l
		if n.Kind() == '[' {
			return list(n)
		}
		err := members(n, map[string]func(*jsondoc.Node) error{
			"allowed": list,
			"fallback": func(n *jsondoc.Node) error {
				v, err := n.Text()
				if err != nil {
					return err
				}
				if l.Fallback, err = parse(v); err != nil {
					return n.Errorf("", "%s", err.Error())
				}
				return nil
			},
		})
		if err == nil && l.Fallback != "" && !slices.Contains(l.Allowed, l.Fallback) {
			return n.Errorf("add it to allowed", "the fallback %q is not allowed itself", l.Fallback)
		}
		return err
	}
}

// toolRules reads {"bash": {"decision": "deny"}}.
func (p *Policy) toolRules(n *jsondoc.Node) error {
	if n.Kind() != '{' {
		return n.Mismatch("an object of tools")
	}
	for _, m := range n.Members() {
		rule := Rule{Tool: m.Key(), Scope: ScopeEnterprise, Source: place(m, p.File)}
		err := members(m, map[string]func(*jsondoc.Node) error{
			"decision": func(n *jsondoc.Node) error {
				s, err := n.Text()
				rule.Effect = Effect(s)
				return err
			},
		})
		if err != nil {
			return err
		}
		if err := rule.Validate(); err != nil {
			return m.Errorf("", "%s", err.Error())
		}
		p.ToolRules = append(p.ToolRules, rule)
	}
	return nil
}

func (p *Policy) egress(n *jsondoc.Node) error {
	texts := func(dst *[]string) func(*jsondoc.Node) error {
		return func(n *jsondoc.Node) (err error) { *dst, err = textOrList(n); return err }
	}
	off := func(dst *bool) func(*jsondoc.Node) error {
		return func(n *jsondoc.Node) error {
			s, err := n.Text()
			switch {
			case err != nil:
				return err
			case s == "off" || s == "deny" || s == "force_off":
				*dst = true
			case s != "on" && s != "allow":
				return n.Errorf("write allow or deny", "unknown value %q", s)
			}
			return nil
		}
	}
	return members(n, map[string]func(*jsondoc.Node) error{
		"allowed_providers": texts(&p.AllowedProviders),
		"allowed_models":    texts(&p.AllowedModels),
		"model_fallback":    func(n *jsondoc.Node) (err error) { p.ModelFallback, err = n.Text(); return err },
		"web_search":        off(&p.WebSearchOff),
		"web_fetch":         off(&p.WebFetchOff),
	})
}

// privacy reads switches whose one value is "force_off".
func (p *Policy) privacy(n *jsondoc.Node) error {
	read := map[string]func(*jsondoc.Node) error{}
	for _, name := range []string{"telemetry", "foreign_personal_rules", "foreign_personal_skills", "local_session_messaging", "feature_config"} {
		read[name] = func(n *jsondoc.Node) error {
			s, err := n.Text()
			if err == nil && s != "force_off" {
				return n.Errorf("write force_off or remove the key", "unknown value %q", s)
			}
			p.Forced = append(p.Forced, name)
			return err
		}
	}
	return members(n, read)
}

// own reads what this program adds to the plane.
func (p *Policy) own(n *jsondoc.Node) error {
	return members(n, map[string]func(*jsondoc.Node) error{
		"rules": func(n *jsondoc.Node) (err error) { p.Rules, err = parseRules(n, p.File, ScopeEnterprise); return err },
	})
}

// notActive keeps the name of a part that has no effect here.
func (p *Policy) notActive(n *jsondoc.Node) error {
	if n.Kind() != '{' {
		return n.Mismatch("an object")
	}
	for _, m := range n.Members() {
		p.NotActive = append(p.NotActive, n.Key()+"."+m.Key())
	}
	return nil
}
