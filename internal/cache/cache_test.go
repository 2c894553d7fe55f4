package cache

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// What is used stays, what is not goes, and there are never more than the bound.
func TestCache(t *testing.T) {
	for _, most := range []int{0, 1, 2, 3, 20, 21} {
		t.Run(strconv.Itoa(most), func(t *testing.T) {
			c := New[int, int](most)
			for i := range 100 {
				c.Put(i, i)
				if v, ok := c.Get(i); !ok || v != i {
					t.Fatalf("%d is gone", i)
				}
				if n := c.Len(); n > max(most, 2) {
					t.Fatalf("%d are kept", n)
				}
				for last := range min(most/2, i+1) { // these must be there: they were used last
					if _, ok := c.Peek(i - last); !ok {
						t.Fatalf("%d is gone after %d", i-last, i)
					}
				}
			}
			if _, ok := c.Get(1); ok {
				t.Error("1 was not used and is still there")
			}
		})
	}
}

// One value that is always asked for outlives all others; a look does not count.
func TestUse(t *testing.T) {
	c := New[int, int](20)
	c.Put(-1, 7)
	c.Put(-2, 7)
	for i := range 100 {
		if _, ok := c.Get(-1); !ok {
			t.Fatalf("what is used is gone after %d", i)
		}
		c.Peek(-2)
		c.Put(i, i)
	}
	if _, ok := c.Peek(-2); ok {
		t.Error("what was only looked at is still there")
	}
	c.Put(-1, 8)
	if v, _ := c.Get(-1); v != 8 {
		t.Errorf("-1 is %d", v)
	}
	c.Clear()
	if _, ok := c.Get(-1); ok || c.Len() != 0 || c.Used() != 0 {
		t.Errorf("%d are left, %v", c.Len(), ok)
	}
}

// One that takes more than all is kept until others come.
func TestSizedBig(t *testing.T) {
	c := Sized[string](100, func(_ string, v int) int { return v })
	c.Put("big", 1000)
	if _, ok := c.Get("big"); !ok {
		t.Error("it was not kept")
	}
	for i := range 100 {
		c.Put(strconv.Itoa(i), 10)
	}
	if _, ok := c.Get("big"); ok || c.Used() > 100 {
		t.Errorf("%v, %d of 100 used", ok, c.Used())
	}
}

// A cache never tells anything but what was put last, and never takes more than
// its bound; what was deleted does not come back.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const most = 40
		size := func(k, v int) int { return 1 + (k+v)%8 }
		c := Sized(most, size)
		last := map[int]int{}
		key := rapid.IntRange(0, 15)
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), rapid.IntRange(0, 9).Draw(t, "v")
				c.Put(k, v)
				last[k] = v
				if got, ok := c.Peek(k); !ok || got != v {
					t.Fatalf("%d was put, %d, %v is there", v, got, ok)
				}
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "k")
				before, there := c.Peek(k)
				v, ok := c.Get(k)
				if want, put := last[k]; ok && (!put || v != want) || ok != there || v != before {
					t.Fatalf("got %d %v, want %d %v", v, ok, want, put)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "k")
				c.Delete(k)
				delete(last, k)
			},
			"deleteFunc": func(t *rapid.T) {
				bit := rapid.IntRange(0, 1).Draw(t, "bit")
				c.DeleteFunc(func(k, _ int) bool { return k%2 == bit })
				for k := range last {
					if k%2 == bit {
						delete(last, k)
					}
				}
			},
			"clear": func(*rapid.T) {
				c.Clear()
				clear(last)
			},
			"": func(t *rapid.T) {
				young := 0
				for k, v := range c.young {
					young += size(k, v)
					if _, both := c.old[k]; both {
						t.Fatalf("%d is there twice", k)
					}
				}
				// What is replaced where it stands may have grown, by 7 at most.
				if young != c.used || c.Used() > most+16*7 || c.Len() > 16 {
					t.Fatalf("%d used, %d are; %d in all", c.used, young, c.Used())
				}
				for k := range 16 {
					if v, ok := c.Peek(k); ok {
						if want, put := last[k]; !put || v != want {
							t.Fatalf("%d is %d, want %d %v", k, v, want, put)
						}
					}
				}
			},
		})
	})
}

// BenchmarkGet is a look into a cache that is half full: of what is there, and of
// what is not.
func BenchmarkGet(b *testing.B) {
	const n = 1 << 17
	c := New[string, *int](2 * n)
	keys := make([]string, 2*n)
	for i := range keys {
		keys[i] = "dm:u" + strconv.Itoa(i*7919%len(keys)) + ":u" + strconv.Itoa(i)
		if i < n {
			c.Put(keys[i], new(int))
		}
	}
	for name, of := range map[string][]string{"there": keys[:n], "missing": keys[n:]} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				c.Get(of[i&(n-1)])
				i += 7
			}
		})
	}
}

// BenchmarkPut has one of two be new, as many as are dropped.
func BenchmarkPut(b *testing.B) {
	const n = 1 << 17
	c := New[string, *int](2 * n)
	keys := make([]string, 4*n)
	for i := range keys {
		keys[i] = "dm:u" + strconv.Itoa(i*7919%len(keys)) + ":u" + strconv.Itoa(i)
	}
	v, i := new(int), 0
	for b.Loop() {
		c.Put(keys[i&(4*n-1)], v)
		c.Put(keys[i&(4*n-1)], v)
		i++
	}
}
