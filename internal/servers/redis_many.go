package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// busDistance is how far above its port a cluster node's bus listens.
const busDistance = 10000

// A Cluster is three masters with one replica each.
type Cluster struct {
	Nodes []*Server // in the order of their start; roles may change
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, n := range c.Nodes {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// RedisCluster starts a cluster that notices a dead node within a second or two.
func RedisCluster(tb TB) *Cluster {
	tb.Helper()
	c := new(Cluster)
	for range 6 {
		addr := freeAddr(tb, busDistance)
		_, port, _ := net.SplitHostPort(addr)
		c.Nodes = append(c.Nodes, startRedis(tb, addr, "--cluster-enabled", "yes",
			"--cluster-config-file", "nodes-"+port+".conf", "--cluster-node-timeout", "15000",
			"--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
			"--cluster-require-full-coverage", "no"))
	}
	for _, n := range c.Nodes {
		n.WaitReady()
	}
	cli, err := exec.LookPath(redisCLI())
	if err != nil {
		tb.Fatalf("this test needs "+redisCLI()+", which is not installed: %s", installRedis)
	}
	args := append([]string{"--cluster", "create"}, c.Addrs()...)
	args = append(args, "--cluster-replicas", "1", "--cluster-yes")
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	if out, err := exec.CommandContext(ctx, cli, args...).CombinedOutput(); err != nil {
		tb.Fatalf("redis-cli --cluster create: %v\n%s", err, out)
	}
	c.WaitOK(tb)
	for _, n := range c.Nodes {
		// Not before: nodes that do not meet within this time on a busy machine
		// forget each other, and redis-cli would wait for ever.
		n.Do("CONFIG", "SET", "cluster-node-timeout", "2000")
	}
	return c
}

// WaitOK waits until every node that runs sees all slots served and three
// replicas that are connected to their masters.
func (c *Cluster) WaitOK(tb TB) {
	tb.Helper()
	for _, n := range c.Nodes {
		if n.cmd == nil {
			continue
		}
		until(tb, "cluster node "+n.addr, func() error {
			info, err := n.try("CLUSTER", "INFO")
			if err != nil {
				return err
			}
			if err := contains(info, "cluster_state:ok"); err != nil {
				return err
			}
			role, err := n.try("INFO", "replication")
			if err != nil {
				return err
			}
			if strings.Contains(role, "role:master") {
				return contains(role, "connected_slaves:1")
			}
			return contains(role, "master_link_status:up")
		})
	}
}

// A Sentinels is one master with one replica, watched by three sentinels.
type Sentinels struct {
	Name      string    // of the master, for the client
	Nodes     []*Server // the first one is the master at the start
	Sentinels []*Server
}

// Addrs are the addresses of the sentinels.
func (s *Sentinels) Addrs() []string {
	var addrs []string
	for _, n := range s.Sentinels {
		addrs = append(addrs, n.Addr())
	}
	return addrs
}

// Master is the address of the master as the first sentinel sees it.
func (s *Sentinels) Master() string {
	reply := s.Sentinels[0].Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name)
	host, port, _ := strings.Cut(reply, "\n")
	return net.JoinHostPort(host, port)
}

// RedisSentinels starts them, with a second of silence taken for death.
func RedisSentinels(tb TB) *Sentinels {
	tb.Helper()
	s := &Sentinels{Name: "main"}
	master := Redis(tb, "--repl-diskless-sync-delay", "0")
	replica := Redis(tb, "--replicaof", "127.0.0.1 "+master.Port(), "--repl-diskless-sync-delay", "0")
	s.Nodes = []*Server{master, replica}
	until(tb, "replica "+replica.addr, func() error {
		info, err := replica.try("INFO", "replication")
		if err != nil {
			return err
		}
		return contains(info, "master_link_status:up")
	})
	const quorum = 2
	for range 3 {
		addr, dir := freeAddr(tb, 0), tb.TempDir()
		_, port, _ := net.SplitHostPort(addr)
		conf := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor %s 127.0.0.1 %s %s\n"+
			"sentinel down-after-milliseconds %[3]s 1000\nsentinel failover-timeout %[3]s 5000\n",
			port, dir, s.Name, master.Port(), strconv.Itoa(quorum))
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			tb.Fatalf("servers: %v", err)
		}
		s.Sentinels = append(s.Sentinels, start(tb, redisServer(), installRedis, dir, addr, conf, "--sentinel"))
	}
	for _, n := range s.Sentinels {
		n.WaitReady()
		until(tb, "sentinel "+n.addr, func() error {
			reply, err := n.try("SENTINEL", "MASTER", s.Name)
			if err != nil {
				return err
			}
			if err := contains(reply, "num-other-sentinels\n2"); err != nil {
				return err
			}
			return contains(reply, "num-slaves\n1")
		})
	}
	return s
}
