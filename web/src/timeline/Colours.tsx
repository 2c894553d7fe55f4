import { useLayoutEffect, useRef } from "react"
import { decode } from "./blurhash.js"
import s from "./Content.module.css"

/** How many pixels the colours are computed for: the browser makes the rest of it soft. */
const grain = 32

/** A few colours of a picture, in its place until it is there. */
export function Colours({ hash }: { hash: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useLayoutEffect(() => {
    const pixels = hash === "" ? undefined : decode(hash, grain, grain)
    if (pixels !== undefined) canvas.current?.getContext("2d")?.putImageData(new ImageData(pixels, grain, grain), 0, 0)
  }, [hash])
  return <canvas ref={canvas} className={s.colours} width={grain} height={grain} aria-hidden="true" />
}
