package picture

import (
	"image"
	"math"

	"golang.org/x/image/draw"
)

// The components of a blurhash (blurha.sh), across and down.
const across, down = 4, 3

const digits83 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"

// blurhash is what a picture comes to as a few colours. It is taken of 32 × 32 pixels:
// more would say the same.
func blurhash(img image.Image) string {
	const n = 32
	tiny := image.NewRGBA(image.Rect(0, 0, n, n))
	draw.ApproxBiLinear.Scale(tiny, tiny.Bounds(), img, img.Bounds(), draw.Src, nil)
	var linear [n * n][3]float64
	for i := range linear {
		for c := range 3 {
			linear[i][c] = toLinear(tiny.Pix[4*i+c])
		}
	}
	var parts [across * down][3]float64
	largest := 0.0
	for k := range parts {
		i, j := k%across, k/across
		scale := 2.0 / (n * n)
		if k == 0 {
			scale = 1.0 / (n * n)
		}
		for p := range linear {
			basis := scale * math.Cos(math.Pi*float64(i)*float64(p%n)/n) * math.Cos(math.Pi*float64(j)*float64(p/n)/n)
			for c := range 3 {
				parts[k][c] += basis * linear[p][c]
			}
		}
		if k > 0 {
			for c := range 3 {
				largest = max(largest, math.Abs(parts[k][c]))
			}
		}
	}
	step := min(82, max(0, int(math.Floor(largest*166-0.5))))
	most := float64(step+1) / 166
	out := base83(nil, (across-1)+(down-1)*9, 1)
	out = base83(out, step, 1)
	out = base83(out, int(toSRGB(parts[0][0]))<<16|int(toSRGB(parts[0][1]))<<8|int(toSRGB(parts[0][2])), 4)
	for _, p := range parts[1:] {
		v := 0
		for c := range 3 {
			q := math.Floor(math.Copysign(math.Sqrt(math.Abs(p[c]/most)), p[c])*9 + 9.5)
			v = v*19 + int(min(18, max(0, q)))
		}
		out = base83(out, v, 2)
	}
	return string(out)
}

func base83(out []byte, v, digits int) []byte {
	for i := digits - 1; i >= 0; i-- {
		out = append(out, digits83[v/pow83(i)%83])
	}
	return out
}

func pow83(n int) int {
	p := 1
	for range n {
		p *= 83
	}
	return p
}

func toLinear(b uint8) float64 {
	v := float64(b) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func toSRGB(v float64) uint8 {
	v = min(1, max(0, v))
	if v <= 0.0031308 {
		return uint8(v*12.92*255 + 0.5)
	}
	return uint8((1.055*math.Pow(v, 1/2.4)-0.055)*255 + 0.5)
}
