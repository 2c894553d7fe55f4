import { useState, type ReactElement, type ReactNode } from "react"
import type { Media, Message } from "@skein-im/client"
import { bodyOf, isUpload, onlyEmoji, safeHref, shownSize, type Picture as About } from "@skein-im/client/content"
import { Icon } from "./Icon.js"
import { openMedia, usePicture, type Place } from "./media.js"
import { Poll } from "./Poll.js"
import { useScene } from "./scene.js"
import { Text } from "./Text.js"

const box = { width: 260, height: 300 }

/** What a message says. Of what this has no form for, its fallback is shown. */
export function Content({ message: m }: { message: Message }): ReactNode {
  const { t } = useScene()
  const body = bodyOf(m)
  switch (body.t) {
    case "text":
      return <Text text={body.text} of={m} />
    case "image":
      return <><Pictures m={m} about={body.about} /><Caption m={m} about={body.about} /></>
    case "video":
    case "voice":
    case "file":
      return <><File m={m} about={body.about} named={body.t === "file"} /><Caption m={m} about={body.about} /></>
    case "poll":
      return <Poll of={m} body={body.poll} />
    case "sticker":
      return m.media[0] === undefined ? body.alt : <Picture place={placeOf(m, m.media[0].id)} {...shownSize(m.media[0].width ?? 0, m.media[0].height ?? 0, { width: 140, height: 140 })} alt={body.alt || t.picture} thumbnail={false} />
    default:
      return <p className="text" dir="auto">{m.fallback || m.type}</p>
  }
}

/** Pictures and large emoji stand without a bubble around them. */
export function isBare(m: Message): boolean {
  return m.type === "sticker" || (m.type === "text" && onlyEmoji(m.text) && m.replyTo === 0)
}

const placeOf = (m: Message, id: string): Place => ({ id, conversation: m.conversation, seq: m.seq })

function Caption({ m, about }: { m: Message; about: About }): ReactNode {
  return about.caption === "" ? null : <Text text={about.caption} of={m} />
}

/** Of an address elsewhere nothing is loaded by itself: it would tell that site who reads it. */
function Elsewhere({ address, children }: { address: string; children: ReactNode }): ReactElement {
  const href = safeHref(address)
  return href === undefined ? <span className="text">{children}</span> : <a className="text" href={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a>
}

function Pictures({ m, about }: { m: Message; about: About }): ReactElement {
  const { t } = useScene()
  if (!isUpload(about.media)) return <Elsewhere address={about.media}>{m.fallback || t.picture}</Elsewhere>
  if (m.media.length < 2) return <Picture place={placeOf(m, about.media)} {...shownSize(about.width, about.height, box)} alt={about.caption || t.picture} thumbnail={false} />
  return <div className="grid">{m.media.map((x: Media) => <Picture key={x.id} place={placeOf(m, x.id)} width={126} height={126} alt={t.picture} thumbnail />)}</div>
}

function Picture({ place, width, height, alt, thumbnail }: { place: Place; width: number; height: number; alt: string; thumbnail: boolean }): ReactElement {
  const { t } = useScene()
  const { url, failed } = usePicture(place, thumbnail)
  const open = useOpen(place)
  return (
    <button type="button" className="picture" style={{ width, aspectRatio: `${width} / ${height}` }} onClick={open} disabled={place.seq === 0} aria-label={`${t.open}: ${alt}`}>
      {failed ? <span className="gone">{t.pictureGone}</span> : url !== "" && <img src={url} alt="" />}
    </button>
  )
}

function File({ m, about, named }: { m: Message; about: About; named: boolean }): ReactElement {
  const { t } = useScene()
  const open = useOpen(placeOf(m, about.media))
  const name = (named ? about.name : m.fallback) || about.name || t.file
  if (!isUpload(about.media)) return <Elsewhere address={about.media}>{name}</Elsewhere>
  return (
    <button type="button" className="file" onClick={open} disabled={m.seq === 0}>
      <span className="sign"><Icon name="file" /></span>
      <span><bdi className="filename">{name}</bdi><span className="quiet">{sizeOf(about.bytes, t.locale)}</span></span>
    </button>
  )
}

function useOpen(place: Place): () => void {
  const { client, server, note, t } = useScene()
  const [busy, setBusy] = useState(false)
  return () => {
    if (busy) return
    setBusy(true)
    openMedia(client, server, place).catch(() => note(t.notOpened)).finally(() => setBusy(false))
  }
}

export function sizeOf(bytes: number, locale: string): string {
  const n = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3))
  const unit = (["byte", "kilobyte", "megabyte", "gigabyte"] as const)[n]!
  return new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: n < 2 ? 0 : 1 }).format(bytes / 1000 ** n)
}
