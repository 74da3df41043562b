package main

// identity: whom a request is counted for.
var identity = []mutant{
	{
		name: "forwarded-leftmost", from: "ulule, Gin", what: "the first entry of X-Forwarded-For, which the client writes",
		file: "core/clientip.go", old: "	if i := strings.LastIndexByte(line, ','); i >= 0 {\n		return line[:i], line[i+1:], true, true\n	}\n	return \"\", line, false, true\n", new: "	if i := strings.IndexByte(line, ','); i >= 0 {\n		return line[i+1:], line[:i], true, true\n	}\n	return \"\", line, false, true\n",
		pkg: "core", run: "^TestClientBehindProxies$|^TestForgedHops", short: true,
	}, {
		name: "anybody-is-a-proxy", from: "Gin, Echo and Fiber by default", what: "forwarded headers are believed from every peer",
		file: "core/clientip.go", old: "	if len(c.proxies) == 0 || !c.isProxy(peer) {\n", new: "	if len(c.proxies) == 0 {\n",
		pkg: "core", run: "^TestClient",
	}, {
		name: "headers-by-default", from: "Gin, Echo", what: "a forwarded header is believed although no proxy is named",
		file: "core/clientip.go", old: "	if len(c.proxies) == 0 || !c.isProxy(peer) {\n", new: "	if len(c.proxies) > 0 && !c.isProxy(peer) {\n",
		pkg: "internal/matrix", run: "^TestAttack_E1$/^memory",
	}, {
		name: "last-hop-is-the-client", from: "Echo, Gin", what: "where all hops are trusted, the one that the client wrote counts",
		file: "core/clientip.go", old: "			if !c.isProxy(addr) {\n", new: "			if !c.isProxy(addr) || i == 0 && !cutMore {\n",
		pkg: "core", run: "^TestClientBehindProxies$|^TestForgedHops",
	}, {
		name: "garbage-hops-skipped", from: "Echo", what: "an entry that is no address is passed over",
		file: "core/clientip.go", old: "			addr, ok := parse(hop)\n			if !ok {\n				return netip.Addr{}, false\n			}\n", new: "			addr, ok := parse(hop)\n			if !ok {\n				line, more = line[:outside+len(rest)], cutMore\n				continue\n			}\n",
		pkg: "core", run: "^TestClientBehindProxies$|^TestForgedHops",
	}, {
		name: "no-unmap", from: "express-rate-limit, django, httprate", what: "::ffff:1.2.3.4 and 1.2.3.4 are two clients",
		file: "core/clientip.go", old: "	return a.Unmap().WithZone(\"\")\n", new: "	return a.WithZone(\"\")\n",
		pkg: "core", run: "^TestClient|^TestIPPrefix$", short: true,
	}, {
		name: "zones-kept", from: "net/netip compared as it comes", what: "each zone of an address is a client",
		file: "core/clientip.go", old: "	return a.Unmap().WithZone(\"\")\n", new: "	return a.Unmap()\n",
		pkg: "core", run: "^TestClient|^TestIPPrefix$",
	}, {
		name: "every-ipv6-address", from: "ulule", what: "a subscriber has 2^64 budgets",
		file: "core/ipprefix.go", old: "	c := ipCut{v4: 32, v6: 64}\n", new: "	c := ipCut{v4: 32, v6: 128}\n",
		pkg: "internal/matrix", run: "^TestAttack_E4$/^memory",
	}, {
		name: "keys-joined-bare", from: "envoy, gubernator, limits, django", what: "parts of a key are joined without their lengths",
		file: "core/key.go", old: "	b = binary.AppendUvarint(b, uint64(len(k.name)))\n", new: "",
		pkg: "internal/matrix", run: "^TestAttack_E6_wire$",
	}, {
		name: "kinds-mixed-up", from: "keys of bare strings", what: "a header's value is an address",
		file: "core/key.go", old: "	b = append(b, byte(k.kind))\n", new: "	b = append(b, byte(KindHeader))\n",
		pkg: "internal/matrix", run: "^TestAttack_E6_wire$",
	}, {
		name: "secrets-in-the-store", from: "bearer tokens as Redis keys", what: "the name of a cell shows its key",
		file: "core/naming.go", old: "return c.Space.AppendName(dst, c.Digest())", new: "return append(c.Space.AppendName(dst, c.Digest()), c.Key.value...)",
		pkg: "internal/matrix", run: "^TestAttack_E8_wire$",
	}, {
		name: "keys-of-any-length", from: "Fiber's form values", what: "three megabytes are a key",
		file: "core/keyresolve.go", old: "	if len(value) > maxValue {\n", new: "	if false {\n",
		pkg: "internal/matrix", run: "^TestAttack_E8$/^memory",
	}, {
		name: "missing-is-free", from: "tollbooth", what: "who sends no key is not limited",
		file: "core/keyresolve.go", old: "	switch m {\n	case MissingIP:\n", new: "	switch m {\n	case MissingIP:\n		return Key{}, errSkip\n	case 99:\n",
		pkg: "internal/matrix", run: "^TestAttack_E11$/^memory",
	}, {
		name: "tokens-folded", from: "throttled", what: "values that differ in case are one",
		file: "core/keyresolve.go", old: "	if s.fold {\n", new: "	if s.kind == KindHeader || s.fold {\n",
		pkg: "internal/matrix", run: "^TestAttack_E10$/^memory",
	},
}
