import type { ReactNode } from "react"
import { useLingui } from "@lingui/react/macro"
import { ImageOff } from "lucide-react"
import { later } from "../ui/index.js"
import { usePicture, type MediaPlace } from "./media.js"
import s from "./Content.module.css"

const Colours = later(() => import("./Colours.js").then((m) => m.Colours))

export interface PictureProps {
  place: MediaPlace
  width: number
  height: number
  blurhash: string
  alt: string
  /** The small one will do. */
  thumbnail: boolean
  onClick?: (() => void) | undefined
  label?: string
  children?: ReactNode
}

/** A picture in a place that has its size before it is there: a few colours, the small one, the picture. Nothing moves. */
export function Picture({ place, width, height, blurhash, alt, thumbnail, onClick, label, children }: PictureProps) {
  const { t } = useLingui()
  const { url, error, retry } = usePicture(place, thumbnail)
  const inside = (
    <>
      {url === undefined && blurhash !== "" && <Colours hash={blurhash} />}
      {url !== undefined && <img className={s.photo} src={url} alt={alt} draggable={false} decoding="async" />}
      {error !== undefined && url === undefined && <span className={s.lost}><ImageOff aria-hidden="true" />{error.code === "not_found" ? t`No longer there` : t`Tap to try again`}</span>}
      {children}
    </>
  )
  const style = { inlineSize: width, aspectRatio: `${width} / ${height}` }
  const act = error !== undefined && error.code !== "not_found" && url === undefined ? retry : onClick
  if (act === undefined) return <span className={s.frame} style={style}>{inside}</span>
  return <button type="button" className={s.frame} style={style} onClick={act} aria-label={label ?? (alt === "" ? t`Open the picture` : alt)}>{inside}</button>
}
