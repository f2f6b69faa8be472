package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Reasons to refuse an address.
var (
	errMetadata  = errors.New("it is the address of a cloud metadata service")
	errNoAddress = errors.New("it is no address of one host")
	errPrivate   = errors.New("it is not a public address")
)

// metadata are the addresses under which clouds hand credentials to whoever
// asks. They are never allowed.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.AddrFrom4([4]byte{169, 254, 169, 254}),                                    // AWS, Azure, Google, OpenStack, ...
		netip.AddrFrom4([4]byte{169, 254, 170, 2}),                                      // AWS ECS tasks
		netip.AddrFrom4([4]byte{169, 254, 170, 23}),                                     // AWS EKS pods
		netip.AddrFrom4([4]byte{169, 254, 0, 23}),                                       // Tencent
		netip.AddrFrom4([4]byte{100, 100, 100, 200}),                                    // Alibaba
		netip.AddrFrom4([4]byte{168, 63, 129, 16}),                                      // Azure wire server
		netip.AddrFrom4([4]byte{192, 0, 0, 192}),                                        // Oracle
		netip.AddrFrom16([16]byte{0: 0xfd, 1: 0, 2: 0x0e, 3: 0xc2, 14: 0x02, 15: 0x54}), // fd00:ec2::254
		netip.AddrFrom16([16]byte{0: 0xfd, 1: 0, 2: 0x0e, 3: 0xc2, 15: 0x23}),           // fd00:ec2::23
		netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x20, 3: 0xce, 15: 0x54, 14: 0x02}),       // fd20:ce::254, Google
	}
}

// checkLiteral refuses the addresses that cannot be allowed even by name.
func checkLiteral(a netip.Addr) error {
	for _, inner := range meanings(a) {
		switch {
		case slices.Contains(metadata(), inner):
			return fmt.Errorf("%s: %w", a, errMetadata)
		case inner.IsUnspecified(), inner.IsMulticast(), inner == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
			return fmt.Errorf("%s: %w", a, errNoAddress)
		}
	}
	return nil
}

// checkResolved refuses the addresses that a name must not lead to: a name is
// in the hands of whoever owns it.
func checkResolved(a netip.Addr) error {
	if err := checkLiteral(a); err != nil {
		return err
	}
	for _, inner := range meanings(a) {
		if !inner.IsGlobalUnicast() || inner.IsPrivate() || inAny(inner, special()) {
			return fmt.Errorf("%s: %w", a, errPrivate)
		}
	}
	return nil
}

// meanings are the address itself and the IPv4 address that it stands for in
// one of the ways of writing IPv4 in IPv6: a router may take it for that.
func meanings(a netip.Addr) []netip.Addr {
	a = a.Unmap()
	all := []netip.Addr{a}
	if !a.Is6() {
		return all
	}
	b := a.As16()
	v4 := func(i int) { all = append(all, netip.AddrFrom4([4]byte(b[i:i+4]))) }
	switch {
	case inAny(a, prefixes("64:ff9b::/96", "::/96")):
		v4(12)
	case inAny(a, prefixes("64:ff9b:1::/48")):
		v4(12)
	case inAny(a, prefixes("2002::/16")):
		v4(2)
	case inAny(a, prefixes("2001::/32")):
		// Teredo writes the client's address inverted.
		all = append(all, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
		v4(4)
	}
	return all
}

// special are the blocks that are not hosts of the public network (IANA
// special-purpose address registries), beside those that netip knows.
func special() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
		"fc00::/7", "fe80::/10", "fec0::/10",
	)
}

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

func inAny(a netip.Addr, blocks []netip.Prefix) bool {
	return slices.ContainsFunc(blocks, func(p netip.Prefix) bool { return p.Contains(a) })
}
