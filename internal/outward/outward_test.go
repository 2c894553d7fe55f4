package outward

import (
	"net"
	"net/netip"
	"testing"
)

// Of every network that is not the public internet an address is refused, however it is
// written; public ones are not.
func TestAddresses(t *testing.T) {
	j := &Judge{Ports: []uint16{80, 443}, Own: func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.IPv4(8, 8, 4, 4), Mask: net.CIDRMask(24, 32)}}, nil
	}}
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.9", "169.254.169.254", "169.254.0.1",
		"172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7",
		"224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16", "8.8.4.4",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
		"100::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "2001::1", "2001:0:7f00:1::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1", "4000::1",
	} {
		for _, port := range []uint16{80, 443} {
			if err := j.May(netip.AddrPortFrom(netip.MustParseAddr(s), port)); err == nil {
				t.Errorf("%s may be connected to", s)
			}
		}
	}
	for _, s := range []string{"8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.32.0.1", "192.0.1.1", "198.20.0.1", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8"} {
		if err := j.May(netip.AddrPortFrom(netip.MustParseAddr(s), 443)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, port := range []uint16{0, 22, 25, 81, 6379, 8080, 65535} {
		if j.May(netip.AddrPortFrom(netip.MustParseAddr("8.8.8.8"), port)) == nil {
			t.Errorf("port %d may be connected to", port)
		}
	}
	if j.May(netip.MustParseAddrPort("[fe80::1%eth0]:80")) == nil || j.Control("tcp4", "localhost:80", nil) == nil || j.Control("udp4", "8.8.8.8:80", nil) == nil {
		t.Error("a zone, a name or another network is taken")
	}
	j.Allow, j.Deny = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []netip.Prefix{netip.MustParsePrefix("127.9.0.0/16"), netip.MustParsePrefix("9.9.9.0/24")}
	for s, want := range map[string]bool{"127.0.0.1:8080": true, "[::ffff:127.0.0.1]:8080": true, "[::1]:8080": false, "127.9.0.1:80": false, "[::ffff:127.9.0.1]:80": false, "9.9.9.9:443": false} {
		if got := j.May(netip.MustParseAddrPort(s)) == nil; got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}
