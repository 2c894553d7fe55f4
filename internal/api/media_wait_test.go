package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// lasting is an answer that counts only if it is written before its deadline.
type lasting struct {
	*httptest.ResponseRecorder
	until time.Time
	late  bool
}

func (l *lasting) SetWriteDeadline(t time.Time) error {
	l.until = t
	return nil
}

func (l *lasting) WriteHeader(status int) {
	l.late = l.late || !time.Now().Before(l.until)
	l.ResponseRecorder.WriteHeader(status)
}

// An upload whose picture waited for others for many minutes is answered all the same.
func TestAnswerAfterLongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lasting{ResponseRecorder: httptest.NewRecorder()}
		s := &slow{c: http.NewResponseController(l), start: time.Now(), wait: 30 * time.Second, w: l}
		s.answers()
		time.Sleep(10 * time.Minute)
		if time.Now().Before(l.until) {
			t.Fatal("the first deadline holds yet")
		}
		writeSlowly{l, s}.WriteHeader(http.StatusCreated)
		if l.late || l.Code != http.StatusCreated {
			t.Errorf("too late: %t, %d", l.late, l.Code)
		}
	})
}
