package review

// Rules of programs that always need an answer (THREATS.md 3.6 and 3.8).
func stoppers() []group {
	stop := func(class Class, why, names string) group {
		return group{names, rule{class: class, why: why, version: true}}
	}
	starter := func(why, names string) group {
		return group{names, rule{class: External, why: why, version: true, starts: true}}
	}
	return []group{
		stop(Dangerous, "removes files", `rm unlink shred srm wipe trash trash-put rimraf`),
		stop(Dangerous, "changes who may use a file", `chown chgrp setfacl setcap chattr chcon chflags xattr`),
		stop(Dangerous, "changes disks or mounts", `mkfs fdisk gdisk sgdisk parted sfdisk cfdisk wipefs mkswap swapon swapoff umount losetup cryptsetup
			lvm pvcreate vgcreate lvcreate lvremove zfs zpool btrfs dmsetup mdadm blkdiscard hdparm e2fsck fsck resize2fs tune2fs diskutil hdiutil`),
		stop(Dangerous, "ends processes that it does not name by number", `pkill killall killall5 skill xkill taskkill fuser`),
		stop(Dangerous, "runs a command as another user", `sudo sudoedit doas run0 pkexec su runuser sg newgrp gosu su-exec setuidgid setpriv capsh`),
		stop(Dangerous, "changes the running machine", `reboot shutdown halt poweroff init telinit kexec systemctl service loginctl hostnamectl timedatectl localectl
			modprobe insmod rmmod depmod iptables ip6tables nft ufw firewall-cmd tc ipvsadm ldconfig update-alternatives hwclock chvt setterm
			useradd userdel usermod groupadd groupdel groupmod passwd chpasswd chsh chfn visudo vipw adduser deluser dscl launchctl spctl csrutil nvram
			scutil networksetup pfctl defaults reg sc schtasks netsh bcdedit vssadmin icacls takeown`),
		stop(Dangerous, "starts something later or outside the sandbox", `at batch crontab anacron systemd-run open xdg-open start explorer gio gnome-open kde-open wslview
			code code-insiders cursor windsurf subl atom idea xdotool ydotool wmctrl notify-send`),
		stop(Dangerous, "reaches another machine", `ssh slogin scp sftp rsync rclone mosh ansible ansible-playbook ansible-galaxy salt puppet chef fab rsh rlogin rcp ssh-copy-id ssh-keyscan
			nc ncat netcat socat telnet nmap masscan zmap ping ping6 fping hping3 traceroute tracepath traceroute6 mtr arping dig nslookup host whois delv drill kdig
			tcpdump tshark wireshark dumpcap ftp lftp tftp ncftp aria2c axel http https xh httpie lynx w3m links elinks youtube-dl yt-dlp wscat websocat grpcurl
			mail mailx sendmail mutt msmtp swaks curlie smbclient mount.cifs nfsstat ldapsearch snmpwalk snmpget openvpn wg wg-quick tailscale cloudflared ngrok localtunnel lt
			ab wrk hey siege vegeta k6 iperf iperf3 dog doggo nsupdate rndc nfs-ls gopher finger talk wall write`),
		stop(External, "a daemon outside the sandbox does what it says", `docker docker-compose podman podman-compose nerdctl buildah skopeo kubectl k3s k9s helm helmfile kustomize minikube kind k3d oc
			ctr crictl lxc lxd lxc-attach incus vagrant virsh virt-install qemu-img qemu-system-x86_64 multipass limactl lima colima machinectl systemd-nspawn toolbox distrobox
			VBoxManage vboxmanage vmrun prlctl packer nomad consul vault skaffold tilt devspace werf kompose argocd flux istioctl linkerd cilium`),
		stop(Dangerous, "acts on accounts in the cloud", `aws gcloud gsutil bq az pulumi terragrunt cdk cdktf sam eb copilot heroku vercel netlify now fly flyctl railway render firebase doctl linode-cli
			oci ibmcloud aliyun wrangler supabase serverless sls glab hub tea jira stripe twilio sentry-cli datadog-ci circleci travis eas twine vsce ovsx semantic-release
			np release-it goreleaser gcloud-crc32c s3cmd s4cmd b2 gdrive dropbox ansible-vault cf ecs-cli eksctl kops`),
		stop(Sensitive, "reads keys or passwords", `security secret-tool keyctl pass op bw lpass gopass age sops gpg gpg2 gpgconf gpg-agent gpg-connect-agent ssh-add ssh-keygen ssh-keysign
			keychain kinit klist certutil pbpaste pbcopy xclip xsel wl-copy wl-paste clip chamber aws-vault envchain`),
		stop(External, "runs every program of a directory", `run-parts`),
		starter("starts a command that is not taken apart", `busybox toybox watch parallel flock script scriptreplay tmux screen zellij byobu abduco dtach dvtm unshare nsenter chroot bwrap firejail flatpak-spawn
			gdb lldb rr valgrind perf entr watchexec nix-shell ssh-agent dbus-run-session dbus-launch dbus-send busctl expect autoexpect proxychains proxychains4
			torsocks tsocks faketime fakeroot fakechroot setarch linux32 linux64 i386 x86_64 numactl prlimit cgexec daemonize start-stop-daemon chronic ifne pee vidir vipe
			dotenv dotenvx direnv envdir chpst softlimit runsv tini dumb-init catchsegv rlwrap cross-env cross-env-shell env-cmd concurrently
			onchange chokidar forever pm2 supervisord reflex cargo-watch hyperfine multitime uftrace bpftrace
			dtruss dtrace schedtool logsave systemd-inhibit systemd-cat i3-msg swaymsg fakeroot-sysv act dlv cpulimit trickle eatmydata proot schroot
			vglrun optirun primusrun torify gamemoderun choom s6-setuidgid startx xinit`),
		stop(External, "an editor or pager that starts programs", `vim vi nvim view rview vimdiff gvim mvim ex ed red emacs emacsclient nano pico joe jed micro kak helix hx mcedit mc less more most pg info
			ranger nnn lf vifm fzf sk lnav tig lazygit gitui gitk git-gui`),
		stop(External, "a shell of a database, which starts programs", `psql mysql mariadb mongo mongosh sqlplus isql bcp sqlcmd clickhouse-client cqlsh duckdb dc`),
		stop(External, "a program of git that is started by git alone", `git-`),
	}
}
