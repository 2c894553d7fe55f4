import { useMemo } from "react"
import { encode } from "uqr"
import { useLingui } from "@lingui/react/macro"

/** The dark squares of a QR code as a path: one piece for each run in a row. */
export function pathOf(rows: readonly (readonly boolean[])[]): string {
  let path = ""
  rows.forEach((row, y) => {
    for (let x = 0; x < row.length; x++) {
      if (!row[x]) continue
      const from = x
      while (row[x + 1]) x++
      path += `M${from} ${y}h${x - from + 1}v1h${from - x - 1}z`
    }
  })
  return path
}

/** An address to be read by a phone's camera. Dark on light in every theme: not all readers take it otherwise. */
export function Qr({ text, label }: { text: string; label?: string }) {
  const { t } = useLingui()
  const { size, path } = useMemo(() => {
    const { size, data } = encode(text, { ecc: "M", border: 2 })
    return { size, path: pathOf(data) }
  }, [text])
  return <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label ?? t`QR code of ${text}`} shapeRendering="crispEdges"><path d={path} fill="currentColor" /></svg>
}
