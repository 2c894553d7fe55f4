package token

// Tokens adds the tokens of a text to those of a set. They hold letters, digits, marks
// and signs only, no ASCII capital, no space, and nothing of the private use areas.
func Tokens(text string, into map[string]struct{}) {
	scan(text, func(p *piece) bool {
		p.tokens(func(t []rune) { into[string(t)] = struct{}{} })
		return true
	})
}

// tokens calls f with each token of a piece, some perhaps more than once.
func (p *piece) tokens(f func([]rune)) {
	if p.class != run {
		f(p.text[:min(len(p.text), MaxWord)])
		return
	}
	for i := range p.text {
		f(p.text[i:min(i+2, len(p.text))])
	}
}

// Term is a token to ask an index for.
type Term struct {
	Text string
	// Prefix: every token is meant that begins with Text.
	Prefix bool
}
