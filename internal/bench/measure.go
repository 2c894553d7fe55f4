package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is what the kernel says of the server's processes, the server of its
// journal, and its database of itself.
type usage struct {
	cpu      time.Duration // user + system
	rss      int64         // bytes
	switches float64       // context switches of the threads that live
	counters
	database databaseUsage
	at       time.Time
}

// counters are figures the server tells of itself.
type counters struct {
	fsyncs, witness, commits, allocs, allocBytes, writes float64
}

// usage sums over the measured processes; all zero if there are none, or where
// the system does not tell.
func (s *Server) usage(ctx context.Context) (usage, error) {
	sum := usage{at: time.Now()}
	for _, pid := range s.pids {
		if !processesTell {
			break
		}
		u, err := processUsage(pid)
		if err != nil {
			return usage{}, err
		}
		sum.cpu += u.cpu
		sum.rss += u.rss
		sum.switches += u.switches
	}
	var err1, err2 error
	sum.counters, err1 = s.counters()
	sum.database, err2 = s.database.usage(ctx)
	return sum, errors.Join(err1, err2)
}

func processUsage(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	// Fields after the parenthesised name; utime and stime are 14 and 15, in ticks
	// of 10 ms, rss is 24, in pages.
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	utime, err1 := strconv.ParseInt(f[11], 10, 64)
	stime, err2 := strconv.ParseInt(f[12], 10, 64)
	pages, err3 := strconv.ParseInt(f[21], 10, 64)
	switches, err4 := switchesOf(pid)
	return usage{
		switches: switches,

		cpu: time.Duration(utime+stime) * 10 * time.Millisecond,
		rss: pages * int64(os.Getpagesize()),
	}, errors.Join(err1, err2, err3, err4)
}

// switchesOf sums over the threads: a process as a whole does not tell.
func switchesOf(pid int) (sum float64, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	for _, path := range threads {
		status, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			if name, value, _ := strings.Cut(line, ":"); strings.HasSuffix(name, "voluntary_ctxt_switches") {
				n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil {
					return 0, err
				}
				sum += n
			}
		}
	}
	return sum, nil
}

// counters reads /metrics; all zero without a private port.
func (s *Server) counters() (c counters, err error) {
	if s.admin == "" {
		return c, nil
	}
	resp, err := http.Get("http://" + s.admin + "/metrics")
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	to := map[string]*float64{
		"skein_journal_fsyncs_total":                  &c.fsyncs,
		"skein_journal_witness_fsyncs_total":          &c.witness,
		"skein_journal_commit_duration_seconds_count": &c.commits,
		"go_memstats_mallocs_total":                   &c.allocs,
		"go_memstats_alloc_bytes_total":               &c.allocBytes,
		"skein_gateway_writes_total":                  &c.writes,
	}
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		name, value, _ := strings.Cut(sc.Text(), " ")
		if field := to[name]; field != nil {
			if *field, err = strconv.ParseFloat(value, 64); err != nil {
				return c, fmt.Errorf("metric %s: %w", name, err)
			}
		}
	}
	return c, sc.Err()
}

var errUntold = errors.New("this scenario is about what the server's process uses, which is read on Linux only")

// kernelBytes is the machine's kernel memory: slabs (sockets, files) and
// buffers of TCP sockets.
func kernelBytes() (int64, error) {
	if !processesTell {
		return 0, nil
	}
	mem, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	var total int64
	for line := range strings.Lines(string(mem)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Slab:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0, err
			}
			total += kb << 10
		}
	}
	sock, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(sock)) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "TCP:" {
			pages, err := strconv.ParseInt(f[len(f)-1], 10, 64)
			if err != nil {
				return 0, err
			}
			total += pages * int64(os.Getpagesize())
		}
	}
	return total, nil
}

// fsyncMicros is the median time of a small write with fdatasync where the
// servers of scenarios keep their data: the machine's floor for a durable ack.
func fsyncMicros() (float64, error) { return fileFsyncMicros(os.TempDir()) }
