/** Decodes a blurhash (blurha.sh): a few colours of a picture, as pixels. undefined for what is none. */
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"

function value(text: string): number {
  let n = 0
  for (const c of text) n = n * 83 + digits.indexOf(c)
  return n
}

const linear = (v: number): number => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)
const display = (v: number): number => {
  const c = Math.max(0, Math.min(1, v))
  return Math.round((c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055) * 255)
}
const squared = (v: number): number => Math.sign(v) * v * v

type Colour = readonly [number, number, number]

export function decode(hash: string, width: number, height: number): Uint8ClampedArray<ArrayBuffer> | undefined {
  if (hash.length < 6 || [...hash].some((c) => !digits.includes(c))) return undefined
  const size = value(hash[0]!)
  const nx = (size % 9) + 1
  const ny = Math.floor(size / 9) + 1
  if (hash.length !== 4 + 2 * nx * ny) return undefined
  const most = (value(hash[1]!) + 1) / 166
  const colours: Colour[] = []
  for (let i = 0; i < nx * ny; i++) {
    if (i === 0) {
      const v = value(hash.slice(2, 6))
      colours.push([linear(v >> 16), linear((v >> 8) & 255), linear(v & 255)])
    } else {
      const v = value(hash.slice(4 + i * 2, 6 + i * 2))
      colours.push([squared((Math.floor(v / 361) - 9) / 9) * most, squared(((Math.floor(v / 19) % 19) - 9) / 9) * most, squared(((v % 19) - 9) / 9) * most])
    }
  }
  const pixels = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const sum: [number, number, number] = [0, 0, 0]
      colours.forEach((c, i) => {
        const weight = Math.cos((Math.PI * x * (i % nx)) / width) * Math.cos((Math.PI * y * Math.floor(i / nx)) / height)
        for (let n = 0; n < 3; n++) sum[n]! += c[n]! * weight
      })
      pixels.set([display(sum[0]), display(sum[1]), display(sum[2]), 255], (y * width + x) * 4)
    }
  }
  return pixels
}
