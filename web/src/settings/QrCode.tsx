import { encode } from "uqr"
import { useMemo } from "react"
import s from "./Settings.module.css"

/** The modules of a code as one path: a run of dark ones in a row is one rectangle. */
export function pathOf(rows: readonly (readonly boolean[])[]): string {
  let d = ""
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      if (row[x] !== true) continue
      const from = x
      while (row[x + 1] === true) x++
      d += `M${from} ${y}h${x - from + 1}v1h-${x - from + 1}z`
    }
  })
  return d
}

/** A text as a QR code, for a camera. What it says stands beside it for who has none. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = useMemo(() => {
    const { data, size } = encode(text, { ecc: "M", border: 2 })
    return { d: pathOf(data), size }
  }, [text])
  return (
    <div className={s.qr}>
      <div className={s.qrPlate}>
        <svg viewBox={`0 0 ${code.size} ${code.size}`} shapeRendering="crispEdges" role="img" aria-label={label}><path d={code.d} fill="currentColor" /></svg>
      </div>
    </div>
  )
}
