import { Trans, useLingui } from "@lingui/react/macro"
import { SkeinError } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { ZoomIn, ZoomOut } from "lucide-react"
import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react"
import { Button, Dialog, ErrorNote } from "../ui/index.js"
import { centred, mostZoom, moved, resultSide, squareOf, within, type View } from "./crop.js"
import s from "./Picture.module.css"

/** How far the arrow keys move the picture, as a part of what is seen. */
const keyStep = 0.05

/** Cuts a picture to a square: dragged, zoomed, or moved by the arrow keys. It closes when what `onDone` does with the result is done. */
export function PictureDialog({ file, onClose, onDone }: { file: Blob | undefined; onClose: () => void; onDone: (square: Blob) => Promise<void> }) {
  const { t } = useLingui()
  return (
    <Dialog open={file !== undefined} onClose={onClose} title={t`Crop the picture`} size="s">
      {file !== undefined && <Crop file={file} onClose={onClose} onDone={onDone} />}
    </Dialog>
  )
}

function Crop({ file, onClose, onDone }: { file: Blob; onClose: () => void; onDone: (square: Blob) => Promise<void> }) {
  const { t } = useLingui()
  const { image, failed } = useImage(file)
  const [view, setView] = useState<View>(centred)
  const box = useRef<HTMLDivElement>(null)
  const grip = useRef<{ x: number; y: number } | undefined>(undefined)
  const save = useAction(async () => {
    if (image === undefined) return
    await onDone(await cut(image, view))
    onClose()
  })
  if (failed) return <ErrorNote error={new SkeinError({ code: "no_picture", message: t`Your browser can’t read this file as a picture.` })} />
  const size = { width: image?.naturalWidth ?? 1, height: image?.naturalHeight ?? 1 }
  const sq = squareOf(size, view)
  const move = (dx: number, dy: number): void => setView((v) => moved(size, v, dx, dy))
  const onPointerMove = (e: PointerEvent): void => {
    const side = box.current?.clientWidth ?? 0
    if (grip.current === undefined || side === 0) return
    move((e.clientX - grip.current.x) / side, (e.clientY - grip.current.y) / side)
    grip.current = { x: e.clientX, y: e.clientY }
  }
  const onKeyDown = (e: KeyboardEvent): void => {
    const to = { ArrowLeft: [keyStep, 0], ArrowRight: [-keyStep, 0], ArrowUp: [0, keyStep], ArrowDown: [0, -keyStep] }[e.key]
    if (to === undefined) return
    e.preventDefault()
    move(to[0]!, to[1]!)
  }
  return (
    <>
      <div
        ref={box} className={s.crop} tabIndex={0} role="group" aria-label={t`Visible area; move it with the arrow keys`} onKeyDown={onKeyDown}
        onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); grip.current = { x: e.clientX, y: e.clientY } }}
        onPointerMove={onPointerMove} onPointerUp={() => { grip.current = undefined }} onPointerCancel={() => { grip.current = undefined }}
        onWheel={(e) => setView((v) => within(size, { ...v, zoom: v.zoom * (e.deltaY < 0 ? 1.08 : 1 / 1.08) }))}
      >
        {image !== undefined && (
          <img src={image.src} alt="" draggable={false}
            style={{ inlineSize: `${(size.width / sq.side) * 100}%`, insetInlineStart: `${(-sq.left / sq.side) * 100}%`, insetBlockStart: `${(-sq.top / sq.side) * 100}%` }} />
        )}
        <span className={s.cropHole} aria-hidden="true" />
      </div>
      <div className={s.zoom}>
        <ZoomOut aria-hidden="true" />
        <input type="range" aria-label={t`Zoom`} min={1} max={mostZoom} step={0.01} value={view.zoom} onChange={(e) => setView(within(size, { ...view, zoom: Number(e.currentTarget.value) }))} />
        <ZoomIn aria-hidden="true" />
      </div>
      {save.error !== undefined && <ErrorNote error={save.error} />}
      <div className={s.actions}>
        <Button onClick={onClose}><Trans>Cancel</Trans></Button>
        <Button look="primary" busy={save.pending} disabled={image === undefined} onClick={() => void save.run()}><Trans>Use this picture</Trans></Button>
      </div>
    </>
  )
}

function useImage(file: Blob): { image: HTMLImageElement | undefined; failed: boolean } {
  const [state, setState] = useState<{ image: HTMLImageElement | undefined; failed: boolean }>({ image: undefined, failed: false })
  useEffect(() => {
    const url = URL.createObjectURL(file)
    const image = new Image()
    image.onload = () => setState({ image, failed: image.naturalWidth === 0 })
    image.onerror = () => setState({ image: undefined, failed: true })
    image.src = url
    return () => {
      image.onload = image.onerror = null
      URL.revokeObjectURL(url)
    }
  }, [file])
  return state
}

async function cut(image: HTMLImageElement, view: View): Promise<Blob> {
  const size = { width: image.naturalWidth, height: image.naturalHeight }
  const { left, top, side } = squareOf(size, view)
  const canvas = document.createElement("canvas")
  canvas.width = canvas.height = resultSide(size, view)
  const c = canvas.getContext("2d")
  if (c === null) throw new SkeinError({ code: "internal" })
  c.imageSmoothingQuality = "high"
  // What was transparent is white: a JPEG would have it black.
  c.fillStyle = "white"
  c.fillRect(0, 0, canvas.width, canvas.height)
  c.drawImage(image, left, top, side, side, 0, 0, canvas.width, canvas.height)
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/jpeg", 0.9))
  if (blob === null) throw new SkeinError({ code: "internal" })
  return blob
}
