package search

// Halves finds a bound in a table by looking at halves of it, as both engines do: the first
// key below high from which on all are enough, high if none is. next tells the first key from
// a number on, and whether that is enough; there is false where no key is.
func Halves(high int64, next func(from int64) (key int64, enough, there bool, err error)) (int64, error) {
	low := int64(0)
	for low < high {
		mid := low + (high-low)/2
		key, enough, there, err := next(mid)
		switch {
		case err != nil:
			return 0, err
		case enough || !there:
			high = mid
		default:
			low = key + 1
		}
	}
	return low, nil
}
