package egress

import (
	"net/netip"
	"testing"
)

func TestAddresses(t *testing.T) {
	const free, private, never = "free", "private", "never"
	tests := []struct{ addr, want string }{
		{"93.184.216.34", free},
		{"2606:2800:220:1::1", free},
		{"8.8.8.8", free},
		{"127.0.0.1", private},
		{"127.255.0.1", private},
		{"10.1.2.3", private},
		{"172.16.0.1", private},
		{"192.168.1.1", private},
		{"100.64.0.1", private},
		{"169.254.1.1", private},
		{"198.18.0.1", private},
		{"240.0.0.1", private},
		{"0.1.2.3", private},
		{"192.0.2.1", private},
		{"::1", private},
		{"fc00::1", private},
		{"fd12::1", private},
		{"fe80::1", private},
		{"fec0::1", private},
		{"2001:db8::1", private},
		{"::ffff:127.0.0.1", private},
		{"::ffff:10.0.0.1", private},
		{"::10.0.0.1", private},
		{"64:ff9b::7f00:1", private},
		{"64:ff9b:1::7f00:1", private},
		{"2002:7f00:1::1", private},
		{"2002:0a00:1::1", private},
		{"64:ff9b::808:808", free},
		{"0.0.0.0", never},
		{"::", never},
		{"224.0.0.1", never},
		{"ff02::1", never},
		{"255.255.255.255", never},
		{"169.254.169.254", never},
		{"::ffff:169.254.169.254", never},
		{"64:ff9b::a9fe:a9fe", never},
		{"2002:a9fe:a9fe::1", never},
		{"fd00:ec2::254", never},
		{"169.254.170.2", never},
		{"100.100.100.200", never},
		{"168.63.129.16", never},
		{"2001:0:a9fe:a9fe::1", never}, // Teredo through that server
	}
	for _, tt := range tests {
		t.Run(tt.addr, func(t *testing.T) {
			a := netip.MustParseAddr(tt.addr)
			got := free
			switch {
			case checkLiteral(a) != nil:
				got = never
			case checkResolved(a) != nil:
				got = private
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
