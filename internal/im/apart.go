package im

import "errors"

// Apart asks about the things from <= i < until in one question. Where that meets
// something damaged it asks about each half, down to single ones, of which broken is
// told: k damaged ones among n take about 2·k·log₂(n) questions. ask sets its results
// anew each time.
func Apart(from, until int, ask func(from, until int) error, broken func(i int, err error)) error {
	err := ask(from, until)
	switch {
	case !errors.Is(err, ErrJournalDamaged):
		return err
	case until-from == 1:
		broken(from, err)
		return nil
	}
	half := from + (until-from)/2
	if err := Apart(from, half, ask, broken); err != nil {
		return err
	}
	return Apart(half, until, ask, broken)
}
