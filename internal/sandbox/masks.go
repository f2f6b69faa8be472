package sandbox

import "path/filepath"

// DefaultMasks are the paths that show nothing inside unless a setting opens
// them: credentials, histories, browser profiles and the state of other
// agents (THREATS.md 4.6). Most do not exist on a given machine.
func DefaultMasks(home string) []string {
	masks := append(systemMasks(), credentialDirs(home)...)
	masks = append(masks, credentialFiles(home)...)
	masks = append(masks, histories(home)...)
	return append(masks, profiles(home)...)
}

// systemMasks matter to root, who could read them.
func systemMasks() []string {
	return []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/krb5.keytab", "/etc/ssl/private", "/etc/pki/private",
		"/etc/ssh/ssh_host_rsa_key", "/etc/ssh/ssh_host_ecdsa_key", "/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_dsa_key",
		"/etc/kubernetes", "/etc/rancher", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/openvpn",
		"/var/lib/kubelet", "/var/lib/docker", "/var/lib/containerd", "/var/run/secrets", "/var/lib/cloud", "/var/spool/cron",
	}
}

func below(home string, names ...string) []string {
	if home == "" {
		return nil
	}
	paths := make([]string, len(names))
	for i, n := range names {
		paths[i] = filepath.Join(home, filepath.FromSlash(n))
	}
	return paths
}

func credentialDirs(home string) []string {
	return below(home,
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".oci", ".fly", ".vercel", ".netlify", ".minikube",
		".password-store", ".databricks", ".snowflake", ".bluemix", ".supabase", ".step", ".sops",
		".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud", ".config/op", ".config/doctl", ".config/rclone",
		".config/sops", ".config/age", ".config/containers", ".config/helm", ".config/configstore", ".config/stripe",
		".config/heroku", ".config/netlify", ".config/hcloud", ".config/scw", ".config/exercism", ".config/keybase",
		".local/share/keyrings", ".local/share/keybase", ".local/share/containers", ".local/share/com.vercel.cli",
		".local/share/kwalletd", ".terraform.d",
	)
}

func credentialFiles(home string) []string {
	return below(home,
		".netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".mylogin.cnf",
		".vault-token", ".boto", ".s3cfg", ".dockercfg", ".terraformrc", ".gem/credentials", ".cargo/credentials",
		".cargo/credentials.toml", ".composer/auth.json", ".config/composer/auth.json", ".m2/settings.xml",
		".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config",
		".huggingface/token", ".cache/huggingface/token", ".kaggle/kaggle.json", ".config/pip/pip.conf", ".pip/pip.conf",
		".Xauthority", ".ICEauthority", ".envrc", ".env",
	)
}

func histories(home string) []string {
	return below(home,
		".bash_history", ".zsh_history", ".zhistory", ".histfile", ".sh_history", ".python_history", ".node_repl_history",
		".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".mongo", ".lesshst", ".viminfo",
		".local/share/fish/fish_history", ".local/state/bash", ".local/state/zsh", ".local/share/atuin",
	)
}

// profiles are browsers, mail and other agents.
func profiles(home string) []string {
	return below(home,
		".mozilla", ".thunderbird", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium",
		".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera", ".config/Slack",
		".config/Signal", ".config/discord", ".config/Bitwarden", ".config/1Password", ".local/share/TelegramDesktop",
		"snap/firefox", "snap/chromium", ".var/app",
		".claude", ".claude.json", ".codex", ".gemini", ".cursor", ".aider", ".aider.conf.yml", ".qwen", ".continue",
		".config/github-copilot", ".copilot", ".config/opencode", ".local/share/opencode", ".config/crush", ".config/goose",
		// The same on macOS.
		"Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
		"Library/Application Support/BraveSoftware", "Library/Application Support/Microsoft Edge", "Library/Messages", "Library/Mail",
		"Library/Safari", "Library/Application Support/com.apple.TCC", "Library/Application Support/Slack",
	)
}
